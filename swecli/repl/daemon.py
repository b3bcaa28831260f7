"""Work beside the event loop, in threads that never hold up the exit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")


def spawn(work: Callable[[], Result], name: str) -> asyncio.Future[Result]:
    """Start `work` in a daemon thread; the future, of the running loop, gets its result or its exception.

    Waiting for the future through `asyncio.shield` leaves it whole when the waiter is cancelled; the thread
    itself cannot be stopped.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def settle(result: Result | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
            future.exception()  # seen: a program that leaves before anyone waited has nothing to report
        else:
            future.set_result(result)  # type: ignore[arg-type]  # None only where work returns None

    def run() -> None:
        result: Result | None = None
        error: BaseException | None = None
        try:
            result = work()
        except BaseException as caught:  # noqa: BLE001 - it travels to whoever waits for the future
            error = caught
        with suppress(RuntimeError):  # the loop is closed: the program is leaving, nobody waits
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
