"""Test the one definition of invisible characters, and that every place which shows or stores foreign text uses it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.repl.render.formatting import escape_invisible
from swecli.store.journal.values import clean_text
from swecli.text import (
    escape_hidden,
    fence,
    join_surrogates,
    sanitize,
    shorten,
    truncate,
)
from tests.support.shown_places import ESCAPING, EVERY, JOINERS, REMOVING, VISIBLE_FORMATS


def test_every_control_and_format_character_is_invisible() -> None:
    kept = [char for char in EVERY if char in sanitize(f"a{char}b")]
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    odd = [char for char in kept if unicodedata.category(char) in hidden]
    assert "".join(odd) == "\t\n" + VISIBLE_FORMATS


def test_every_letter_digit_and_symbol_is_kept() -> None:
    fillers = "\u115f\u1160\u3164\uffa0"
    for char in EVERY:
        if unicodedata.category(char)[0] in "LNPS" and char not in fillers:
            assert sanitize(f"a{char}b") == f"a{char}b"


def test_every_place_that_removes_removes_the_same_characters() -> None:
    removed = {char for char in EVERY if sanitize(f"a{char}b") == "ab"}
    for place, show in REMOVING.items():
        found = {char for char in EVERY if show(f"a{char}b") == "ab"}
        assert found == removed, place


def test_every_place_that_escapes_escapes_all_of_these_and_unusual_spaces() -> None:
    removed = {char for char in EVERY if sanitize(f"a{char}b") == "ab"}
    spaces = {char for char in EVERY if unicodedata.category(char) == "Zs" and char != " "}
    for place, show in ESCAPING.items():
        found = {char for char in EVERY if char not in show(f"a{char}b")} - {"\n", "\t"}
        assert found >= removed | spaces | set(JOINERS), place
    unescaped = {char for char in EVERY if escape_hidden(char) == char}
    assert unescaped == {char for char in EVERY if escape_invisible(char) == char}


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_becomes_safe(text: str) -> None:
    shown = sanitize(text)
    assert sanitize(shown) == shown
    shown.encode("utf-8")
    assert len(sanitize(text, keep_newlines=False).splitlines()) <= 1
    assert join_surrogates(clean_text(text)) == clean_text(text)


def test_split_surrogates_are_joined_and_lone_ones_replaced() -> None:
    assert join_surrogates("\ud83d\ude00 \ud800 ä") == "😀 \ufffd ä"


@pytest.mark.parametrize(
    ("text", "limit", "cut"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("a  b\nc", 9, "a  b\nc")]
)
def test_a_text_is_truncated_with_an_ellipsis(text: str, limit: int, cut: str) -> None:
    assert truncate(text, limit) == cut


def test_a_shortened_text_is_one_line_without_a_space_before_the_ellipsis() -> None:
    assert shorten("a  b\nc", 9) == "a b c"
    assert shorten("abc defg", 5) == "abc…"


@given(st.text("`a\n"))
def test_a_fence_is_longer_than_any_in_the_text(text: str) -> None:
    ticks, *_, last = fence(text).split("\n")
    assert ticks == last
    assert ticks not in text
