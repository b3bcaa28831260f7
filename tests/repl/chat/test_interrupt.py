"""The keyboard while work goes on."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from swecli.repl.chat.interrupt import TurnKeys, Work

LONG = 30.0


@pytest.fixture
def pipe() -> Iterator[PipeInput]:
    with create_pipe_input() as made:
        yield made


def typed(pipe: PipeInput) -> list[str]:
    """The keys that wait for the next prompt."""
    return [press.key.value if isinstance(press.key, Keys) else press.key for press in get_typeahead(pipe)]


async def presses(pipe: PipeInput, keys: str) -> int:
    """How often these keys interrupt."""
    counted: list[None] = []
    with TurnKeys(pipe, DummyOutput(), lambda: counted.append(None)):
        pipe.send_text(keys)
        await asyncio.sleep(0.15)
    return len(counted)


@pytest.mark.parametrize("keys", ["\x03", "\x1b"])
async def test_escape_and_ctrl_c_interrupt(pipe: PipeInput, keys: str) -> None:
    assert await presses(pipe, keys) == 1
    assert typed(pipe) == []


async def test_other_keys_wait_for_the_prompt(pipe: PipeInput) -> None:
    assert await presses(pipe, "hé\r\x1b[A") == 0
    assert typed(pipe) == ["h", "é", "c-m", "up"]


async def test_alt_and_a_key_is_no_interruption(pipe: PipeInput) -> None:
    assert await presses(pipe, "\x1b\rx") == 0
    assert typed(pipe) == ["escape", "c-m", "x"]


async def test_a_paste_stays_one_thing(pipe: PipeInput) -> None:
    assert await presses(pipe, "\x1b[200~a\rb\x1b[201~") == 0
    assert typed(pipe) == ["<bracketed-paste>"]


async def test_answers_of_the_terminal_are_not_typed(pipe: PipeInput) -> None:
    assert await presses(pipe, "\x1b[12;1Ra") == 0
    assert typed(pipe) == ["a"]


async def test_a_signal_interrupts_and_the_old_handler_comes_back(pipe: PipeInput) -> None:
    before = signal.getsignal(signal.SIGINT)
    counted: list[None] = []
    with TurnKeys(pipe, DummyOutput(), lambda: counted.append(None)):
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0.05)
    assert len(counted) == 1
    assert signal.getsignal(signal.SIGINT) is before


async def test_a_dialog_gets_only_what_is_typed_after_it_was_drawn(pipe: PipeInput) -> None:
    with TurnKeys(pipe, DummyOutput(), lambda: None) as keys:
        pipe.send_text("before")
        await asyncio.sleep(0.05)
        pipe.send_text("!")
        with keys.lent():
            assert typed(pipe) == []
            pipe.send_text("y")
            assert [press.key for press in pipe.read_keys()] == ["y"]
        pipe.send_text("after")
        await asyncio.sleep(0.05)
    assert "".join(typed(pipe)) == "before!after"


async def test_work_is_done_and_says_so(pipe: PipeInput) -> None:
    work = Work(pipe, DummyOutput())
    seen: list[bool] = []

    async def do() -> None:
        seen.append(work.busy)

    assert await work.run(do())
    assert (seen, work.busy) == ([True], False)


async def test_interrupted_work_says_so(pipe: PipeInput) -> None:
    work = Work(pipe, DummyOutput())
    pipe.send_text("\x03")
    assert not await work.run(asyncio.sleep(LONG))
    assert not work.busy


async def test_tidying_up_is_not_cut_short_by_pressing_again(pipe: PipeInput) -> None:
    work = Work(pipe, DummyOutput())
    tidy: list[str] = []

    async def do() -> None:
        try:
            await asyncio.sleep(LONG)
        finally:
            pipe.send_text("\x03\x03")
            await asyncio.sleep(0.1)
            tidy.append("done")

    pipe.send_text("\x03")
    assert not await work.run(do())
    assert tidy == ["done"]


async def test_what_work_raises_comes_out(pipe: PipeInput) -> None:
    async def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await Work(pipe, DummyOutput()).run(fail())


async def test_the_keyboard_can_be_lent_when_nobody_holds_it(pipe: PipeInput) -> None:
    with Work(pipe, DummyOutput()).lent():
        pass
