"""Test that the cursor and deletions take whole what a reader sees as one character."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from swecli.repl.input.buffer import LineBuffer, LineHistory

FAMILY, FLAG, ACCENTED, SYLLABLE = "👩‍👩‍👧", "🇩🇪", "e\u0301", "न्"


@pytest.fixture
def buffer(tmp_path: Path) -> LineBuffer:
    return LineBuffer(LineHistory(tmp_path / "history"))


@pytest.mark.parametrize("one", [FAMILY, FLAG, ACCENTED, SYLLABLE, "x", "界"])
def test_an_arrow_passes_over_a_character_and_a_deletion_takes_it_whole(
    buffer: LineBuffer, one: str
) -> None:
    buffer.insert_text(f"a{one}b")
    buffer.cursor_position = 1
    buffer.cursor_right()
    assert buffer.document.text_before_cursor == f"a{one}"
    buffer.cursor_left()
    assert buffer.document.text_before_cursor == "a"
    assert buffer.delete() == one
    buffer.insert_text(one)
    assert buffer.delete_before_cursor() == one
    assert buffer.text == "ab"


MOVES: list[Callable[[LineBuffer], object]] = [
    LineBuffer.cursor_left,
    LineBuffer.cursor_right,
    LineBuffer.cursor_up,
    LineBuffer.cursor_down,
    LineBuffer.delete,
    LineBuffer.delete_before_cursor,
    lambda buffer: buffer.insert_text("z"),
]


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from([FAMILY, FLAG, ACCENTED, "a", "\n"]), max_size=8).map("".join),
    st.lists(st.sampled_from(MOVES), max_size=12),
)
def test_no_key_leaves_the_cursor_inside_a_character(
    tmp_path_factory: pytest.TempPathFactory, text: str, moves: list[Callable[[LineBuffer], object]]
) -> None:
    buffer = LineBuffer(LineHistory(tmp_path_factory.getbasetemp() / "history"))
    buffer.insert_text(text)
    for move in moves:
        move(buffer)
        ends = {0}
        for one in iter_graphemes(buffer.text):
            ends.add(max(ends) + len(one))
        assert buffer.cursor_position in ends
