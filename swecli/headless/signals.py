"""Await work until it ends or a signal stops it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")


async def until_signal(work: Coroutine[Any, Any, _Result]) -> tuple[_Result | None, int]:
    """Await the work. Returns its result and 0; or None and 128 plus the signal's number if SIGINT, SIGTERM or SIGHUP
    cancelled it."""
    task = asyncio.ensure_future(work)
    caught: list[int] = []

    def stop(number: int) -> None:
        caught.append(number)
        task.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(number, stop, number)
    try:
        return await task, 0
    except asyncio.CancelledError:
        return None, 128 + (caught[0] if caught else signal.SIGINT)
