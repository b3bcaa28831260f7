"""Test the one definition of invisible characters, and that every place which shows or stores foreign text uses it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.repl.render.formatting import escape_invisible
from swecli.store.journal.values import clean_text
from swecli.text import (
    LONGEST_ERROR,
    complaint,
    count_hidden,
    decode_text,
    escape_hidden,
    fence,
    join_surrogates,
    sanitize,
    shorten,
    truncate,
)
from tests.support.shown_places import ESCAPING, EVERY, JOINERS, REMOVING, VISIBLE_FORMATS


def test_an_instructing_text_has_plain_line_ends_and_nothing_that_cannot_be_seen() -> None:
    assert decode_text(b"\xef\xbb\xbfa\r\nb\xff\rc\n") == "a\nb\ufffd\nc\n"
    assert decode_text("a\U000e0041\u202eb\u200bc".encode()) == "abc"


def test_characters_that_shape_a_visible_one_are_not_counted_as_hidden() -> None:
    assert count_hidden("\ufeffna\xadive \u26a0\ufe0f\r\n\u2028") == 0
    assert count_hidden("a\U000e0041\U000e0042 \u202e") == 3
    assert count_hidden("a\ufe00\ufe01\ufe02") == 3, "a run of selectors may be a text"


@pytest.mark.parametrize(
    "emoji",
    [
        "👩\u200d💻",
        "👩🏽\u200d💻",
        "❤\ufe0f",
        "👨\u200d👩\u200d👧",
        "1\ufe0f\u20e3",
        "🏳\ufe0f\u200d🌈",
        "می\u200cخواهم",
    ],
)
def test_pictographs_that_are_put_together_stay_together(emoji: str) -> None:
    assert sanitize(f"a {emoji} b") == f"a {emoji} b"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1\u200d2", "12"),
        ("a\ufe0fb", "ab"),
        ("👩\u200da", "👩a"),
        ("👩\ufe0f\ufe0f\ufe0f", "👩\ufe0f"),
        ("👩\u200d\u200d💻", "👩💻"),
        ("1\ufe0f2", "12"),
    ],
)
def test_a_joiner_or_selector_that_shapes_nothing_is_removed(text: str, shown: str) -> None:
    assert sanitize(text) == shown


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


def test_a_very_long_error_is_truncated() -> None:
    assert len(complaint("x" * 10**6, "")) == len("swecli: ") + LONGEST_ERROR


def test_a_complaint_is_one_line_with_message_and_hint() -> None:
    assert complaint("It is\nbroken.", "Mend it.") == "swecli: It is broken.  Mend it."
    assert complaint("It is broken.", "") == "swecli: It is broken."
