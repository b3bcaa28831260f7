"""Test waiting for the components that submitted lines need."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from swecli.models.errors import BadInput
from swecli.repl.dispatch import _wait_with_timer
from swecli.repl.input.dumb_prompt import DumbPrompt


class LiveRecorder(list[list[str]]):
    """Records the live lines of each drawing."""

    def show_live(self, lines: Sequence[str]) -> None:
        self.append(list(lines))


def as_prompt(shown: LiveRecorder) -> DumbPrompt:
    return cast(DumbPrompt, shown)


async def test_the_spinner_is_shown_while_waiting_and_then_removed() -> None:
    shown = LiveRecorder()
    await _wait_with_timer(asyncio.ensure_future(asyncio.sleep(0.15)), "starting", as_prompt(shown))
    assert "starting 0 s" in shown[0][-1]
    assert shown[-1] == []


async def test_a_finished_task_shows_no_spinner() -> None:
    shown = LiveRecorder()
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    await _wait_with_timer(done, "starting", as_prompt(shown))
    assert shown == [[]]


async def test_waiting_raises_the_error_of_the_task_and_cancelling_the_wait_keeps_the_task() -> (
    None
):
    slow = asyncio.ensure_future(asyncio.sleep(10))
    waiting = asyncio.ensure_future(_wait_with_timer(slow, "starting", as_prompt(LiveRecorder())))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not slow.cancelled()
    slow.cancel()

    async def fail() -> None:
        raise BadInput("no")

    with pytest.raises(BadInput):
        await _wait_with_timer(asyncio.ensure_future(fail()), "starting", as_prompt(LiveRecorder()))
