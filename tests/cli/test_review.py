"""`swecli review` from the shell: targets, formats, exit codes, and one line for what is wrong."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.github import FakeGitHub
from tests.support.project import make_project
from tests.support.reviews import reported
from tests.support.shell import HELLO, Run, script

CALL = {"text": reported(("shop/prices.py", 3, "MAGIC_NUMBERS"), severity="high"), "calls": [
    {"name": "read_file", "arguments": {"path": "shop/prices.py"}}]}  # fmt: skip


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(Path("shop")))


def test_every_format_holds_the_findings(run: Run) -> None:
    model = script("../s.json", CALL, "Done.")
    done = run("review", "shop/prices.py", "-m", model)
    assert done.out.startswith("F-1 shop/prices.py:3 MAGIC_NUMBERS (high)")
    assert "loop 1/20: 1 of 1 files, 1 finding," in done.err
    result = run("review", "shop/prices.py", "-m", model, "--json").json
    assert (result["type"], result["unique"], result["by_type"]) == (
        "final_code_smells_summary",
        1,
        {"MAGIC_NUMBERS": 1},
    )
    kinds = [line["type"] for line in run("review", "shop/prices.py", "-m", model, "--format", "stream-json").lines]
    assert kinds[0] == "review_started"
    assert kinds[-1] == "final_code_smells_summary"
    assert "code_smells_accumulated" in kinds
    assert "## High (1)" in run("review", "shop/prices.py", "-m", model, "--format", "markdown").out
    run("review", "shop/prices.py", "-m", model, "--format", "sarif", "--output", "out.sarif")
    assert json.loads(Path("out.sarif").read_text())["version"] == "2.1.0"


def test_a_review_in_a_subfolder_finds_what_one_from_the_top_has_found(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = script(str(Path("../s.json").resolve()), CALL, "Done.")
    run("review", "shop/prices.py", "-m", model)
    monkeypatch.chdir("shop")
    below = run("review", "prices.py", "-m", model)
    assert below.out.startswith("F-1 shop/prices.py:3 MAGIC_NUMBERS (high)")
    assert "1 of 1 files" in below.err
    assert [row["id"] for row in run("findings", "list", "--path", "prices.py", "--json").json] == ["F-1"]
    assert run("findings", "recheck").out == "Nothing has changed.\n"


@pytest.mark.parametrize(("level", "code"), [("critical", 0), ("high", 1), ("low", 1)])
def test_it_fails_on_the_severity_that_is_asked_for(run: Run, level: str, code: int) -> None:
    assert run("review", "shop/prices.py", "-m", script("../s.json", CALL, "Done."), "--fail-on", level).code == code


def test_a_dismissed_finding_fails_nothing(run: Run) -> None:
    model = script("../s.json", CALL, "Done.")
    run("review", "shop/prices.py", "-m", model)
    run("findings", "dismiss", "F-1", "it", "is", "the", "law")
    assert run("review", "shop/prices.py", "-m", model, "--fail-on", "low").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 42, "nothing to review"),
        (("--base", "nope"), 42, "no branch or commit"),
        (("--staged", "README.md"), 2, "one target"),
        (("--continue",), 42, "no review to go on with"),
        (("--loops", "0"), 2, "--loops"),
        (("--fail-on", "odd"), 2, "fail-on"),
        (("-C", "nowhere"), 42, "nowhere"),
    ],
)
def test_what_is_wrong_is_one_line(run: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = run("review", "-m", HELLO, *arguments)
    assert done.code == code
    assert said in done.complaint


def test_a_failing_service_keeps_the_findings(run: Run) -> None:
    done = run("review", "shop/prices.py", "-m", script("../s.json", CALL))
    assert done.code == 1
    assert "script is over" in done.complaint
    assert run("findings", "list", "--json").json[0]["id"] == "F-1"


def test_uncommitted_changes_are_shown_to_the_model(run: Run) -> None:
    Path("shop/prices.py").write_text("TAX = 21\n")
    done = run("review", "-m", script("../s.json", reported(("shop/prices.py", 1, "MAGIC_NUMBERS")), "Done."))
    assert "1 of 1 files" in done.err
    subprocess.run(["git", "checkout", "-q", "."], check=True)


def test_a_pull_request_is_reviewed_and_posted_after_a_dry_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    model = script("../s.json", CALL, "Done.")
    with FakeGitHub({"shop/prices.py": "@@ -1,3 +1,3 @@\n one\n two\n+TAX = 0.19\n"}) as hub:
        for name, value in hub.environ().items():
            monkeypatch.setenv(name, value)
        dry = run("review", "--pr", "7", "--post", "-m", model)
        assert "1 inline, 0 in the summary, 0 there already" in dry.err
        assert "nothing was posted: add --yes" in dry.err
        assert hub.posted == []
        assert "1 posted, 0 failed" in run("review", "--pr", "7", "--post", "--yes", "-m", model).err
        assert "0 posted, 0 failed, 1 there already" in run("review", "--pr", "7", "--post", "--yes", "-m", model).err
        assert "no pull request 9" in run("review", "--pr", "9", "-m", model).complaint
        hub.refuse["POST reviews"] = [(403, {})]
        hub.comments.clear()
        hub.reviews.clear()
        done = run("review", "--pr", "7", "--post", "--yes", "-m", model)
        assert "forbids it" in done.complaint
        assert run("findings", "list", "--json").json[0]["id"] == "F-1"
