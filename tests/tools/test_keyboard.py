"""Test the keyboard of the user's command lines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from swecli.agent.calls import Toolkit
from swecli.tools.keyboard import Keyboard
from tests.support.runtime import make_runtime


def toolkit() -> Toolkit:
    return make_runtime().agent.toolkit


@asynccontextmanager
async def running(command: str, keyboard: Keyboard) -> AsyncIterator[asyncio.Task[object]]:
    task = asyncio.create_task(toolkit().shell(command, None, keyboard))
    yield task
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize(
    "command",
    [
        "stty raw; sleep 60",
        "python3 -c 'import getpass; getpass.getpass()'",
        "python3 -c 'import time, tty; tty.setcbreak(0); time.sleep(60)'",
    ],
)
async def test_a_program_that_takes_the_keys_or_hides_them_is_noticed_while_it_runs(
    command: str,
) -> None:
    taken = asyncio.Event()
    keyboard = Keyboard(taken.set)
    async with running(command, keyboard) as task:
        waiting = asyncio.create_task(taken.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        assert not task.done()
    assert keyboard.is_taken


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat; echo end", "end"),
        ("read word; read word; echo \"got '$word'\"", "got ''"),
        ("sort | wc -l", "0"),
    ],
)
async def test_reading_lines_ends_at_once_and_takes_no_keys(command: str, output: str) -> None:
    keyboard = Keyboard(lambda: None)
    result = await toolkit().shell(command, None, keyboard)
    assert result.for_user.body.strip() == output
    assert not keyboard.is_taken


async def test_a_part_of_a_pipe_that_failed_is_named_for_the_user_too() -> None:
    result = await toolkit().shell("false | cat")
    assert result.failed_parts == ("false failed (exit code 1)",)
    stopped_early = await toolkit().shell("yes | head -1")
    assert stopped_early.failed_parts == ()
