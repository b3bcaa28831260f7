"""Test the filter for terminal output: it removes every control sequence, and nothing else."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.repl.render.formatting import escape_invisible
from swecli.text import one_line, sanitize
from tests.screen.hostile import HOSTILE

text = st.text(st.characters(exclude_categories=[]), max_size=60) | st.lists(
    st.sampled_from(HOSTILE)
).map("".join)


def drawable(letter: str) -> bool:
    visible_format = (
        "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd"
    )
    shaping = "\u200c\u200d"
    return (
        letter in "\t\n"
        or letter in visible_format
        or letter in shaping
        or unicodedata.category(letter) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}
    )


@given(text)
def test_control_and_invisible_characters_are_removed(foreign: str) -> None:
    assert [letter for letter in sanitize(foreign) if not drawable(letter)] == []


@given(text)
def test_sanitizing_twice_changes_nothing(foreign: str) -> None:
    assert sanitize(sanitize(foreign)) == sanitize(foreign)


@given(text)
def test_without_newlines_the_result_is_one_line(foreign: str) -> None:
    assert len(sanitize(foreign, keep_newlines=False).splitlines()) <= 1
    assert "\n" not in one_line(foreign)


@given(st.text(st.sampled_from("abc äé日本語 🎉 [/]{}\n\t"), max_size=80))
def test_ordinary_text_is_not_changed(ordinary: str) -> None:
    assert sanitize(ordinary) == ordinary
    assert escape_invisible(ordinary) == ordinary


@given(text)
def test_invisible_characters_are_escaped_and_the_others_kept(foreign: str) -> None:
    shown = escape_invisible(foreign)
    assert [letter for letter in shown if not drawable(letter) or letter in "\u200c\u200d"] == []
    for letter in foreign.replace("\r\n", "\n"):
        assert letter in shown or f"<U+{ord(letter):04X}>" in shown


@pytest.mark.parametrize(
    ("foreign", "left"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("a\x1b[2Jb\x9b1mc", "abc"),
        ("tab\tstays, ümläut, 漢字, \xa0", "tab\tstays, ümläut, 漢字, \xa0"),
        ("half \ud800, a\u2028b", "half \ufffd, a\nb"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("unclosed \x1b]0;and the rest\nstays", "unclosed ]0;and the rest\nstays"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("pass\u200dword", "password"),
    ],
)
def test_escape_sequences_are_removed_whole_and_joiners_are_kept_between_letters_that_need_them(
    foreign: str, left: str
) -> None:
    assert sanitize(foreign) == left


def test_a_line_that_is_too_long_ends_in_an_ellipsis() -> None:
    assert one_line("x" * 10_000, 10) == "xxxxxxxxx…"
