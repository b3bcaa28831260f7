"""`swecli context replay`: from a stored session to a table, a drawing and a file."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.sessions.mixed_work import exported
from swecli.cli.admin import run_subcommand
from swecli.models.errors import BadInput, UsageError
from swecli.store.database import open_database
from swecli.store.session_import import import_session

DATABASE = "long.db"


@pytest.fixture
def ref() -> str:
    """A session of twelve turns, by its id."""
    database = open_database(DATABASE)
    try:
        return import_session(database, exported(12, 1, "anthropic/claude-sonnet-4-5")).session_id
    finally:
        database.close()


def replayed(*words: str) -> int:
    return run_subcommand("context", ["replay", *words, "--db", DATABASE])


def test_the_table_has_a_row_for_each_policy_and_says_that_it_is_a_simulation(
    ref: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replayed(ref) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[1:6]] == ["full", "exact", "slack", "compact90", "ours"]
    assert "A simulation over the 12 stored turns" in out
    assert "than exact" in out


def test_json_holds_every_turn_and_the_same_twice(ref: str, capsys: pytest.CaptureFixture[str]) -> None:
    replayed(ref, "--json", "--turns", "--policy", "exact")
    first = capsys.readouterr().out
    replayed(ref, "--json", "--turns", "--policy", "exact")
    assert capsys.readouterr().out == first
    found = json.loads(first)
    assert found["simulation"] is True
    (exact,) = found["policies"]
    assert len(exact["by_turn"]) == 12
    assert exact["input"] == sum(turn["input"] for turn in exact["by_turn"])


def test_the_drawing_is_plain_text_and_the_file_is_svg(ref: str, capsys: pytest.CaptureFixture[str]) -> None:
    replayed(ref, "--plot", "--svg", "out.svg")
    assert "input tokens a turn" in capsys.readouterr().out
    assert ElementTree.parse("out.svg").getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policy", "best"], "best"),
        (["--window", "many"], "not a number"),
        (["--window", "full"], "no size"),
        (["--ttl", "soon"], "no time"),
        (["--context-window", "-4"], "-4"),
    ],
)
def test_wrong_words_are_a_usage_error_that_names_them(ref: str, words: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        replayed(ref, *words)


def test_a_session_that_is_not_there_and_a_file_that_cannot_be_written_are_said(ref: str) -> None:
    with pytest.raises(BadInput, match="nothing-like-it"):
        replayed("nothing-like-it")
    with pytest.raises(BadInput, match="cannot be written"):
        replayed(ref, "--svg", str(Path("no") / "such" / "folder.svg"))
