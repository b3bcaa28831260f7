"""Test parsing a typed line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.typed_line import parse_line


@pytest.mark.parametrize(
    ("typed", "name", "args"),
    [
        ("/help", "help", ""),
        ("/", "help", ""),
        (" ? ", "help", ""),
        ("/?", "?", ""),
        ("  /window 5+3 ", "window", "5+3"),
        ("/playbook edit P-7 say\nit twice", "playbook", "edit P-7 say\nit twice"),
        ("/nosuch!", "nosuch!", ""),
    ],
)
def test_a_word_after_a_slash_is_a_command(typed: str, name: str, args: str) -> None:
    line = parse_line(typed)
    assert (line.kind, line.name, line.text) == ("command", name, args)


@pytest.mark.parametrize(
    "typed", ["/usr/bin is full", "/usr/bin", "/* a note */", "what does /help do", "a\n/help"]
)
def test_a_path_or_a_slash_elsewhere_in_the_line_is_plain_text(typed: str) -> None:
    line = parse_line(typed)
    assert (line.kind, line.text) == ("text", typed)


@pytest.mark.parametrize("typed", ["exit", "quit", ":q", " exit \n"])
def test_exit_quit_and_colon_q_leave(typed: str) -> None:
    assert parse_line(typed).kind == "leave"


def test_one_exclamation_mark_shares_the_output_and_two_keep_it_private() -> None:
    assert (parse_line("! git status").text, parse_line("!git status").shared) == (
        "git status",
        True,
    )
    assert (parse_line("!! git status").text, parse_line("!!git status").shared) == (
        "git status",
        False,
    )


@pytest.mark.parametrize("typed", ["", "  ", "\n\t"])
def test_a_blank_line_is_empty(typed: str) -> None:
    assert parse_line(typed).kind == "empty"


@given(st.text())
def test_any_line_is_parsed_without_losing_text(typed: str) -> None:
    line = parse_line(typed)
    assert (line.kind == "empty") == (not typed.strip())
    if line.kind == "text":
        assert line.text == typed.strip()
    if line.kind == "command":
        assert "/" not in line.name
