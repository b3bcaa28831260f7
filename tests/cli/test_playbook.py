"""`swecli playbook`: strategies are taught, reworded, taken out and back, with their evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shell import Run, script


def test_an_empty_playbook_says_how_to_fill_it(run: Run) -> None:
    assert "swecli playbook add" in run("playbook", "list").out
    assert run("playbook", "list", "--json").json == []
    assert run("playbook", "log").out == "Nothing was changed yet.\n"
    assert run("playbook", "log", "--json").json == []


def test_what_is_taught_stands_in_the_list_with_its_evidence(run: Run) -> None:
    assert run("playbook", "add", "run", "the tests", "with pytest -q").out == "Added as P-1.\n"
    row = run("playbook", "list", "--json").json[0]
    assert (row["id"], row["content"], row["scope"]) == ("P-1", "run the tests with pytest -q", "project")
    assert run("playbook", "list").out.splitlines()[1].split()[:6] == ["P-1", "0", "0", "0", "active", "project"]
    shown = run("playbook", "show", "p1").out.splitlines()
    assert shown[0] == "P-1  run the tests with pytest -q"
    assert shown[2] == "  user: run the tests with pytest -q"
    assert run("playbook", "show", "1", "--json").json["evidence"][0]["trust"] == "user"


def test_it_reaches_the_next_request_of_this_project_only(run: Run, tmp_path: Path) -> None:
    run("playbook", "add", "answer in rhymes")
    run("-p", "hello", "-m", script("s.json", "Hello."))
    assert [row["id"] for row in run("playbook", "list", "--json").json] == ["P-1"]
    (tmp_path / "there").mkdir()
    assert run("playbook", "list", "--json", "-C", str(tmp_path / "there")).json == []


def test_reworded_removed_and_undone(run: Run) -> None:
    run("playbook", "add", "one")
    assert run("playbook", "edit", "P-1", "two", "words", "--json").json == {"edited": "P-1"}
    assert run("playbook", "show", "P-1", "--json").json["content"] == "two words"
    assert run("playbook", "remove", "P-1").out == "P-1 removed; `swecli playbook undo` brings it back.\n"
    assert run("playbook", "list", "--json").json == []
    assert run("playbook", "undo").out == "undone: remove P-1\n"
    assert [row["what"] for row in run("playbook", "undo", "2", "--json").json] == ["update P-1", "add P-1"]
    log = run("playbook", "log", "--json").json
    assert [(row["what"], row["author"], row["undone"]) for row in log] == [
        ("remove P-1", "user", True),
        ("update P-1", "user", True),
        ("add P-1", "user", True),
    ]
    assert len(run("playbook", "log", "--limit", "1").out.splitlines()) == 1
    assert run("playbook", "undo").code == 42


def test_a_named_session_is_meant(run: Run, tmp_path: Path) -> None:
    session = run("-p", "hello", "-m", script("s.json", "Hello."), "--output-format", "json").json["session_id"]
    run("playbook", "add", "one")
    (tmp_path / "there").mkdir()
    there = ("-C", str(tmp_path / "there"))
    assert [row["id"] for row in run("playbook", "list", "--json", "--session", session[:-2], *there).json] == ["P-1"]
    assert run("playbook", "list", "--session", "none").code == 42


@pytest.mark.parametrize(
    "argv",
    [
        ["show", "P-9"],
        ["show", "walrus"],
        ["edit", "P-9", "x"],
        ["remove", "P-9"],
        ["add", " "],
        ["add", "word " * 61],
    ],
)
def test_what_cannot_be_done_is_refused(run: Run, argv: list[str]) -> None:
    done = run("playbook", *argv)
    assert done.code == 42
    assert done.complaint


def test_a_removed_strategy_cannot_be_reworded(run: Run) -> None:
    run("playbook", "add", "one")
    run("playbook", "remove", "P-1")
    assert run("playbook", "edit", "P-1", "two").code == 42


def test_secrets_are_not_kept(run: Run) -> None:
    run("playbook", "add", "log in with password: hunter2222x")
    assert "hunter2222x" not in run("playbook", "show", "P-1", "--json").out
