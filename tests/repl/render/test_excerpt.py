"""Test cutting texts of any length to what may be printed at once."""

from __future__ import annotations

import pytest

from swecli.repl.render.excerpt import Excerpt, Limit, end_of, lines_of, start_of

NUMBERS = "".join(f"{number}\n" for number in range(1, 1001))
FEW = Limit(lines=3, characters=100)


def test_of_many_lines_the_last_or_the_first_are_left_and_the_others_are_counted() -> None:
    assert end_of(NUMBERS, FEW) == Excerpt("998\n999\n1000", hidden_lines=997)
    assert end_of(NUMBERS, FEW).hidden_above == "997 lines above"
    assert start_of(NUMBERS, FEW) == Excerpt("1\n2\n3", hidden_lines=997)
    assert start_of(NUMBERS, FEW).hidden_below == "997 more lines"


def test_a_short_text_is_left_whole() -> None:
    for text in ("", "\n", "a", "a\n", "a\nb\nc\n"):
        assert end_of(text, FEW) == start_of(text, FEW) == Excerpt(text.removesuffix("\n"))


def test_long_lines_count_by_their_characters_and_are_not_cut_in_two() -> None:
    lines = [letter * 60 for letter in "abc"]
    assert end_of("\n".join(lines), FEW) == Excerpt("c" * 60, hidden_lines=2)
    assert start_of("\n".join(lines), FEW) == Excerpt("a" * 60, hidden_lines=2)


def test_of_one_line_that_is_too_long_an_end_is_left() -> None:
    line = "a" * 30_000 + "b" * 30_000
    assert end_of(line, FEW) == Excerpt("b" * 20_000, hidden_characters=40_000)
    assert end_of(line, FEW).hidden_above == "40,000 characters before"
    assert start_of(line, FEW) == Excerpt("a" * 20_000, hidden_characters=40_000)
    assert start_of(line, FEW).hidden_below == "40,000 more characters"


@pytest.mark.parametrize(
    "text", ["\x1b[31mred\x1b[0m\n" * 9, "one\rtwo\rthree\rfour\rfive", "\u202e" * 99]
)
def test_what_is_left_is_sanitized_and_no_longer_than_allowed(text: str) -> None:
    for part in (end_of(text, FEW), start_of(text, FEW)):
        assert "\x1b" not in part.text
        assert "\u202e" not in part.text
        assert part.text.count("\n") < FEW.lines


def test_the_whole_text_is_sanitized_only_as_far_as_it_is_read() -> None:
    lines = lines_of("\x1b[31mfirst\x1b[0m\n" * 100_000)
    assert next(lines) == "first"
    assert sum(1 for _ in lines) == 99_999


def test_texts_that_are_printed_together_share_the_limit() -> None:
    assert Limit(500, 50_000).share(5) == Limit(100, 10_000)
    assert Limit(500, 50_000).share(1_000).lines == 6, "as many as were folded"
