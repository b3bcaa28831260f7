"""Test reviewing a commit that is not checked out: its lines and files, nothing of the work tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from swecli.models.events import ToolFinished
from swecli.review.target.targets import resolve_target
from tests.support.project import make_project
from tests.support.reviews import begin_review, collect, report_call, review_store
from tests.support.runtime import calls, make_runtime

SLOW = "def slow(x):\n    return x * 37\n"


def git(*words: str) -> str:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a repository whose `shop/slow.py` was added in the second commit, moved down in the third and changed
    in the work tree."""
    monkeypatch.chdir(make_project(Path("shop")))
    for text, message in ((SLOW, "second"), ("# one\n# two\n" + SLOW, "third")):
        Path("shop/slow.py").write_text(text)
        git("add", "-A")
        git("commit", "-qm", message)
    Path("shop/slow.py").write_text("# gone\n")


def test_files_are_read_from_the_commit_unless_the_work_tree_equals_it() -> None:
    root, second = Path.cwd(), git("rev-parse", "HEAD~1")
    assert resolve_target(root, ("HEAD~1",)).commit == second
    assert resolve_target(root, ("HEAD~2..HEAD~1",)).commit == second
    assert resolve_target(root, ("HEAD",)).commit == git("rev-parse", "HEAD"), "a file is changed"
    git("checkout", "-q", "--", ".")
    assert resolve_target(root, ("HEAD",)).commit == ""
    assert resolve_target(root, ("HEAD~1..",)).commit == ""


async def test_a_review_of_a_commit_reads_the_files_of_the_commit_and_runs_no_git_filter(
    tmp_path: Path,
) -> None:
    program = tmp_path / "run.sh"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    program.chmod(0o755)
    git("config", "filter.own.smudge", str(program))
    Path(".git/info/attributes").write_text("*.py filter=own\n")
    row = ("shop/slow.py", 2, "MAGIC_NUMBERS")
    runtime = make_runtime(
        [
            calls(("read_file", {"path": "shop/slow.py"})),
            calls(report_call(row, quote="return x * 37")),
        ]
    )
    review = await begin_review(runtime, "HEAD~1")
    root = review.job.verifier.sources.root
    events = await collect(review)
    [read] = [
        event
        for event in events
        if isinstance(event, ToolFinished) and event.call.name == "read_file"
    ]
    result = read.call.result or ""
    assert "return x * 37" in result
    assert "gone" not in result
    [finding] = review_store(runtime).findings()
    assert (finding.path, finding.line, finding.state) == ("shop/slow.py", 2, "open")
    assert not root.exists(), "the snapshot is deleted with the review"
    assert not (tmp_path / "ran").exists(), "no program of the repository ran"
    assert git("status", "--porcelain").strip() == "M shop/slow.py"


async def test_a_review_of_a_commit_keeps_findings_in_the_work_tree_open() -> None:
    Path("new.py").write_text("limit = 37\n")
    runtime = make_runtime(
        [
            calls(report_call(("new.py", 1, "MAGIC_NUMBERS"))),
            calls(report_call(("shop/slow.py", 2, "NAMES"))),
        ]
    )
    await collect(await begin_review(runtime, "new.py"))
    await collect(await begin_review(runtime, "HEAD~1"))
    assert [(f.place, f.state) for f in review_store(runtime).findings()] == [
        ("new.py:1", "open"),
        ("shop/slow.py:2", "open"),
    ]
    job = (await begin_review(runtime, "HEAD~1")).job
    assert review_store(runtime).get("F-2").state == "open", (
        "findings are compared with the commit, not the work tree"
    )
    job.verifier.sources.close()
