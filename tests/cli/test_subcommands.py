"""Test the code that subcommands share: flags, opening the database, tables and JSON."""

from __future__ import annotations

import argparse
import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from swecli.cli.flags import SUBCOMMANDS, Parser
from swecli.cli.subcommands import _format_table, open_sessions, positive_int, print_line, run_subcommand
from swecli.models.errors import BadInput, UsageError


def parse_arguments(*argv: str) -> argparse.Namespace:
    parser = Parser()
    parser.add_common_flags()
    return parser.parse_args(argv)


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_each_subcommand_has_help(name: str) -> None:
    with redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit) as left:
        run_subcommand(name, ["--help"])
    assert left.value.code == 0
    assert out.getvalue().startswith(f"usage: swecli {name}")


@pytest.mark.parametrize("name", ["sessions", "config", "db"])
def test_without_an_action_all_of_them_are_named(name: str) -> None:
    with pytest.raises(UsageError, match=r"required: \w+\|\w+\|"):
        run_subcommand(name, [])


def test_columns_stand_under_one_another_whatever_is_in_them() -> None:
    rows = [("a", "漢字", "x\n y"), ("long", "b", ""), ("\x1b[31mred", 5, "z")]
    assert _format_table(("id", "name", "text"), rows) == [
        "id    name  text",
        "a     漢字  x y",
        "long  b",
        "red   5     z",
    ]


def test_stored_text_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_line("a\x1b]0;title\x07b\u202ec")
    assert capsys.readouterr().out == "abc\n"


def test_a_database_that_was_named_is_not_made_by_looking(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        pytest.raises(BadInput, match=r"There is no database .*none\.db"),
        open_sessions(parse_arguments("--db", "none.db")),
    ):
        pass
    assert not Path("none.db").exists()
    with open_sessions(parse_arguments("--db", "made.db"), create=True):
        assert Path("made.db").exists()
    with open_sessions(parse_arguments()) as sessions:
        assert sessions.database.path is None  # Nor is the default database created.


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "", "9" * 10, "²"])
def test_a_count_begins_at_one(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        positive_int(text)


def test_a_count_is_a_number() -> None:
    assert positive_int("12") == 12
