"""Test the code that subcommands share: flags, opening the database, tables and JSON."""

from __future__ import annotations

import argparse
import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from swecli.cli.flags import SUBCOMMANDS, Parser
from swecli.cli.subcommands import (
    _format_table,
    format_result,
    open_sessions,
    positive_int,
    run_subcommand,
)
from swecli.models.action import ActionResult
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
def test_a_missing_action_is_refused_with_the_known_actions(name: str) -> None:
    with pytest.raises(UsageError, match=r"required: \w+\|\w+\|"):
        run_subcommand(name, [])


def test_table_columns_are_aligned_for_any_text() -> None:
    rows = [("a", "漢字", "x\n y"), ("long", "b", ""), ("\x1b[31mred", "5", "z")]
    assert _format_table(("id", "name", "text"), rows) == [
        "id    name  text",
        "a     漢字  x y",
        "long  b",
        "red   5     z",
    ]


def test_control_characters_are_removed_from_printed_text() -> None:
    result = ActionResult(None, ("a\x1b]0;title\x07b\u202ec",))
    assert format_result(result, as_json=False) == "abc\n"


def test_opening_a_missing_database_for_reading_does_not_create_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
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
def test_an_invalid_count_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        positive_int(text)


def test_a_count_is_parsed_as_an_integer() -> None:
    assert positive_int("12") == 12
