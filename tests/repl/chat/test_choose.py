"""The small questions at the end of the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from swecli.repl.chat.choose import ask_line, choose

OPTIONS = ["one", "two", "three", "four"]
MANY = [f"session {n}" for n in range(40)]


@contextmanager
def keyboard(keys: str) -> Iterator[PipeInput]:
    with create_pipe_input() as pipe:
        asyncio.get_running_loop().call_later(0.05, pipe.send_text, keys)
        yield pipe


async def picked(typed: str, options: list[str] = OPTIONS, **more: Any) -> int | None:
    with keyboard(typed) as pipe:
        return await choose("Which?", options, keyboard=pipe, output=DummyOutput(), **more)


@pytest.mark.parametrize(
    ("keys", "index"),
    [
        ("\r", 0),
        ("\x1b[B\r", 1),
        ("\x1bOB\x1b[B\r", 2),
        ("\x1b[A\r", 3),
        ("\x1b[B\x1b[A\r", 0),
        ("\x1b[F\r", 3),
        ("3", 2),
        ("9\r", 0),
        ("x\x0e\r", 1),
        ("\x1b", None),
        ("\x04", None),
    ],
)
async def test_keys_pick(keys: str, index: int | None) -> None:
    assert await picked(keys) == index


async def test_a_default_and_keys_of_its_own() -> None:
    assert await picked("\r", default=2) == 2
    assert await picked("n", keys={"y": 0, "n": 2}) == 2
    assert await picked("4", ["yes", "no", "tell"], marks=["1", "3", "4"]) == 2


async def test_more_options_than_rows_are_scrolled_to() -> None:
    assert await picked("\x1b[B" * 25 + "\r", MANY) == 25
    assert await picked("\x1b[6~\x1b[6~\r", MANY) == 20
    assert await picked("\x1b[F\r", MANY) == 39
    assert await picked("1\r", MANY) == 0


async def test_ctrl_c_interrupts_instead_of_answering() -> None:
    with pytest.raises(asyncio.CancelledError):
        await picked("\x03")
    with keyboard("half\x03") as pipe, pytest.raises(asyncio.CancelledError):
        await ask_line("Why?", keyboard=pipe, output=DummyOutput())


async def test_a_terminal_that_is_gone_is_no_answer() -> None:
    with create_pipe_input() as pipe:
        asyncio.get_running_loop().call_later(0.05, pipe.close)
        assert await choose("Which?", OPTIONS, keyboard=pipe, output=DummyOutput()) is None


async def test_a_long_question_is_folded_between_words() -> None:
    drawn: list[str] = []

    class Paper(DummyOutput):
        def get_size(self) -> Size:
            return Size(rows=20, columns=30)

        def write(self, data: str) -> None:
            drawn.append(data)

    with keyboard("1") as pipe:
        await choose("Shall the whole suite be run before each commit?", ["yes"], keyboard=pipe, output=Paper())
    assert "".join("".join(drawn).split()).count("Shallthewholesuiteberunbefore") == 1
    rows = "".join(drawn).split("\r\n")
    assert any(row.rstrip().endswith("run") for row in rows), rows


async def test_nothing_to_choose_from_is_no_answer() -> None:
    assert await choose("Which?", []) is None


async def test_a_line_can_be_typed_or_left() -> None:
    with keyboard("use trash instead \r") as pipe:
        assert await ask_line("Why?", keyboard=pipe, output=DummyOutput()) == "use trash instead"
    with keyboard("half\x1b") as pipe:
        assert await ask_line("Why?", keyboard=pipe, output=DummyOutput()) is None


async def test_a_terminal_that_cannot_move_its_cursor_is_asked_by_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with keyboard("9\r3\r") as pipe:
        assert await choose("Which?", OPTIONS, keyboard=pipe) == 2
    assert "3 three" in capsys.readouterr().out
