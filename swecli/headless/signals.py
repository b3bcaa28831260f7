"""Await work until it ends or a signal stops it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from swecli.ending_signals import EndingSignals

_Result = TypeVar("_Result")
_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


async def until_signal(work: Coroutine[Any, Any, _Result]) -> tuple[_Result | None, int]:
    """Await the work. Returns its result and 0; or None and 128 plus the signal's number if SIGINT, SIGTERM, SIGHUP or
    SIGQUIT cancelled it."""
    task = asyncio.ensure_future(work)
    caught: list[int] = []

    def stop(number: int) -> None:
        caught.append(number)
        task.cancel()

    is_under_nohup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    EndingSignals(stop).listen(
        number for number in _NUMBERS if number != signal.SIGHUP or not is_under_nohup
    )
    try:
        return await task, 0
    except asyncio.CancelledError:
        return None, 128 + (caught[0] if caught else signal.SIGINT)
