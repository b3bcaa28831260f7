"""Test `swecli findings`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.project import make_project
from tests.support.reviews import script_report, script_verdict
from tests.support.shell import Run, script

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def review_project(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_project(Path("shop")))
    rows = [
        ("shop/prices.py", 3, "MAGIC_NUMBERS"),
        ("README.md", 3, "DEAD_CODE"),
        ("gone.py", 1, "LONG_METHOD"),
    ]
    assert (
        run("review", ".", "-m", script("../s.json", script_report(*rows)), "--no-verify").code == 0
    )


def finding_states(run: Run) -> list[str]:
    rows = run("findings", "list", "all", "--json").json
    return [row["state"] for row in sorted(rows, key=lambda row: str(row["id"]))]


def test_findings_are_listed_and_shown(run: Run) -> None:
    lines = run("findings", "list").out.splitlines()
    assert lines[0].split() == ["id", "place", "state", "problem"]
    assert len(lines) == 3, "a finding whose code is in no file is refuted"
    assert run("findings", "list", "path:README.md", "--json").json[0]["id"] == "F-2"
    assert "there is no such file" in run("findings", "show", "f3").out


def test_states_are_changed_by_command_and_a_dismissal_keeps_its_reason(run: Run) -> None:
    run("findings", "dismiss", "F-1", "it is", "the law")
    run("findings", "fixed", "F-2")
    assert finding_states(run) == ["dismissed", "fixed", "refuted"]
    assert "reason: it is the law" in run("findings", "show", "F-1").out
    assert run("findings", "reopen", "F-2").out == "F-2 is open.\n"
    assert finding_states(run) == ["dismissed", "open", "refuted"]


def test_an_empty_list_says_how_to_list_the_closed_ones(run: Run) -> None:
    run("findings", "dismiss", "F-1", "it is the law")
    run("findings", "fixed", "F-2")
    assert run("findings", "list").out == "None is open. All: swecli findings list all\n"
    assert len(run("findings", "list", "all").out.splitlines()) == 4
    assert run("findings", "list", "path:nowhere").out == "No finding matches.\n"


def test_a_dismissal_without_a_reason_names_the_command_that_has_one(run: Run) -> None:
    assert "Use: swecli findings dismiss F-1 WHY" in run("findings", "dismiss", "F-1").err


def test_secrets_are_redacted_wherever_findings_are_printed(run: Run) -> None:
    run("findings", "dismiss", "F-1", "its key is sk-proj-abcdefghijklmnop1234")
    printed = [
        ("list", "all", "--json"),
        ("show", "F-1"),
        ("show", "F-1", "--json"),
        ("export", "all"),
    ]
    for words in printed:
        assert "abcdefghijklmnop" not in run("findings", *words).out


def test_recheck_updates_lines_and_marks_findings_of_deleted_files_fixed(run: Run) -> None:
    path = Path("shop/prices.py")
    path.write_text("# one more line\n" + path.read_text())
    Path("README.md").unlink()
    assert run("findings", "recheck").out.splitlines() == [
        "F-2 README.md:3: open → fixed (the file was deleted, and its code is in no other file)",
        "F-1 shop/prices.py:3 → shop/prices.py:4",
    ]
    assert run("findings", "recheck").out == "Nothing has changed.\n"


def test_check_estimates_its_cost_and_sends_requests_only_with_yes(run: Run) -> None:
    model = script("../check.json", script_verdict(("F-1", "confirmed", "TAX = 0.19")))
    priced = run("findings", "check", "F-1", "-m", model)
    assert (priced.code, priced.out) == (0, "Nothing was checked: add --yes.\n")
    assert priced.err.startswith("1 finding to check: 1 request, about")
    assert (
        run("findings", "check", "F-1", "-m", model, "--yes").out
        == "F-1 shop/prices.py:3: open, confirmed, w\n"
    )
    again = run("findings", "check", "F-1", "-m", model)
    assert "0 requests" in again.err, "a verdict is reused"


@pytest.mark.parametrize("style", ["markdown", "json", "sarif"])
def test_findings_are_exported(run: Run, style: str) -> None:
    assert "MAGIC_NUMBERS" in run("findings", "export", "--format", style).out


@pytest.mark.parametrize(
    "words", [("show", "F-9"), ("dismiss", "x", "y"), ("dismiss", "F-1"), ("recheck", "F-9"), ()]
)
def test_an_invalid_argument_is_an_error_in_one_line(run: Run, words: tuple[str, ...]) -> None:
    assert run("findings", *words).complaint
