"""Test the how-to's step for GitHub Actions, run verbatim on shallow and full clones like a runner's."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.github import FakeGitHub
from tests.support.project import make_project
from tests.support.reviews import script_report, script_verdict
from tests.support.sarif import check_sarif
from tests.support.shell import COMMAND, ROOT, environment, script

pytestmark = pytest.mark.slow

STEP = re.search(
    r"- run: (swecli review --pr .*)",
    (ROOT / "docs/how-to/review-code.md").read_text(encoding="utf-8"),
)
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.org")


def git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout


def runner(depth: str) -> tuple[Path, str]:
    """Return a clone of a pull request's newest commit, as actions/checkout makes it, and the patch that GitHub
    lists."""
    origin = make_project(Path("origin").resolve())
    git(origin, "checkout", "-q", "-b", "topic")
    path = origin / "shop/prices.py"
    path.write_text(path.read_text().replace("0.19", "0.2"))
    git(origin, *AUTHOR, "commit", "-qam", "raise the tax")
    clone = Path("runner").resolve()
    git(
        Path.cwd(),
        "clone",
        "-q",
        *([f"--depth={depth}"] if depth else []),
        "-b",
        "topic",
        f"file://{origin}",
        str(clone),
    )
    patch = git(origin, "diff", "HEAD~1", "--", "shop/prices.py")
    return clone, patch[patch.index("@@") :]


def test_the_ci_step_fails_with_a_report_and_comments(tmp_path: Path) -> None:
    assert STEP is not None
    clone, patch = runner("")
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "swecli").write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    (bin_folder / "swecli").chmod(0o755)
    model = script(
        str(tmp_path / "s.json"),
        script_report(("shop/prices.py", 3, "MAGIC_NUMBERS"), severity="high"),
        script_verdict(("F-1", "introduced", "TAX = 0.2")),
    )
    with FakeGitHub({"shop/prices.py": patch}) as hub:
        hub.head = git(clone, "rev-parse", "HEAD").strip()
        hub.base = git(clone, "rev-parse", "HEAD~1").strip()
        own = hub.environ() | {
            "SWECLI_MODEL": model,
            "OPENAI_API_KEY": "",
            "SWECLI_HOME": str(tmp_path / "home"),
        }
        env = environment(own)
        env["PATH"] = f"{bin_folder}:{env['PATH']}"
        line = STEP[1].replace("${{ github.event.number }}", "7")
        done = subprocess.run(
            ["bash", "-ec", line], cwd=clone, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, done.stderr
        assert [kind for kind, _ in hub.posted] == ["reviews", "summary"]
        log = json.loads((clone / "review.sarif").read_text())
        check_sarif(log)
        assert log["runs"][0]["invocations"][0]["exitCode"] == 1
        again = subprocess.run(
            ["bash", "-ec", line], cwd=clone, env=env, capture_output=True, text=True, check=False
        )
        assert (again.returncode, len(hub.posted)) == (1, 2), (
            "a finding of an earlier push fails it too"
        )


def test_a_review_in_a_shallow_clone_is_refused_with_the_required_fetch_depth() -> None:
    clone, _ = runner("1")
    command = [*COMMAND, "review", "--base", "main", "-m", "demo"]
    done = subprocess.run(
        command, cwd=clone, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 42
    assert "fetch-depth: 0" in done.stderr
