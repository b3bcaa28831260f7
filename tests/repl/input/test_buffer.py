"""Test the text of the input line: drafts that are put back into it, and characters that stay whole."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from wcwidth import iter_graphemes

from swecli.repl.input.buffer import LineBuffer
from swecli.repl.input.history import LineHistory
from tests.support.typist import ENTER, Typist, run_prompt


@pytest.fixture
def line(tmp_path: Path) -> LineBuffer:
    return LineBuffer(LineHistory(tmp_path / "history"), multiline=True)


def edit(buffer: LineBuffer, change: Callable[[], object]) -> str:
    """Make the change inside a running application, which the buffer needs, and return the text."""

    async def run() -> str:
        with create_pipe_input() as pipe, create_app_session(pipe, DummyOutput()):
            change()
            return buffer.text

    return asyncio.run(run())


@pytest.mark.parametrize("typed", ["/", "/undo", "/undo\n/undo", "/rewind T1 files"])
def test_a_command_replaces_a_restored_draft_and_the_history_keeps_it(
    line: LineBuffer, typed: str
) -> None:
    def change() -> None:
        line.restore("two")
        line.insert_text(typed)

    assert edit(line, change) == typed
    assert line.history.get_strings() == ["two"]


def test_other_text_continues_a_restored_draft_which_is_the_users_from_then_on(
    line: LineBuffer,
) -> None:
    def change() -> None:
        line.restore("two")
        line.insert_text(" in src")
        line.insert_text("/app.py")

    assert edit(line, change) == "two in src/app.py"


def test_any_text_replaces_a_line_that_is_only_offered_and_moving_in_it_makes_it_the_users(
    line: LineBuffer,
) -> None:
    def type_anew() -> None:
        line.restore("two", offered=True)
        line.insert_text("three")

    def edit_it() -> None:
        line.restore("two", offered=True)
        line.cursor_position = 0
        line.insert_text("not ")

    assert edit(line, type_anew) == "three"
    assert line.history.get_strings() == ["two"]
    line.reset()
    assert edit(line, edit_it) == "not two"


def test_a_slash_before_a_restored_draft_is_inserted(line: LineBuffer) -> None:
    def change() -> None:
        line.restore("help")
        line.cursor_position = 0
        line.insert_text("/")

    assert edit(line, change) == "/help"


def test_a_restored_draft_replaces_the_one_before_it(line: LineBuffer) -> None:
    line.restore("two")
    line.restore("one")
    assert line.text == "one"
    assert line.is_restored


def test_a_line_that_is_being_typed_is_kept_and_the_history_has_the_restored_one(
    line: LineBuffer,
) -> None:
    edit(line, lambda: line.insert_text("/un"))
    line.restore("two")
    assert line.text == "/un"
    assert not line.is_restored
    assert line.history.get_strings() == ["two"]


def test_enter_pressed_before_a_restored_draft_could_be_read_does_not_send_it() -> None:
    async def play(typist: Typist) -> None:
        typist.prompt.set_draft("two")
        await typist.type(ENTER, ENTER)
        assert typist.sent == []
        time.sleep(0.8)  # the draft is as old as the clock on the wall says
        await typist.type(ENTER)

    assert run_prompt(play).sent == ["two"]


def test_a_line_cleared_by_ctrl_c_can_be_recalled() -> None:
    async def play(typist: Typist) -> None:
        await typist.type(*"a thought", "\x03")
        assert typist.prompt.buffer.text == ""
        await typist.type("\x1b[A")
        assert typist.prompt.buffer.text == "a thought"

    run_prompt(play)


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
