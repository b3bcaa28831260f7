"""Work beside the event loop, in threads that never hold up the exit and whose imports give way to typing."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Result = TypeVar("_Result")
PAUSE = 0.002
_TYPING = 0.3


def spawn(
    work: Callable[[], _Result], name: str, last_key: Callable[[], float] | None = None
) -> asyncio.Future[_Result]:
    """Start `work` in a daemon thread; the future, of the running loop, gets its result or its exception.

    Waiting for the future through `asyncio.shield` leaves it whole when the waiter is cancelled; the thread
    itself cannot be stopped. `last_key`: see `PoliteFinder`.
    """
    done: Future[_Result] = Future()
    done.set_running_or_notify_cancel()
    loop = asyncio.get_running_loop()

    def run() -> None:
        finder = PoliteFinder(last_key or (lambda: float("-inf")))
        sys.meta_path.insert(0, finder)
        try:
            try:
                result = work()
            finally:
                sys.meta_path.remove(finder)
        except BaseException as error:  # noqa: BLE001 - it travels to whoever waits for the future
            if not loop.is_closed():  # else the program is leaving, nobody waits
                done.set_exception(error)
        else:
            if not loop.is_closed():
                done.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    future = asyncio.wrap_future(done)
    future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())  # seen: one may leave before it ends
    return future


class PoliteFinder:
    """Finds no module; makes one thread pause before each while keys are coming in, so that typing stays quick.

    `last_key` gives the time of the last key by `time.monotonic`.
    """

    def __init__(self, last_key: Callable[[], float], sleep: Callable[[float], object] = time.sleep) -> None:
        self._last_key, self._sleep, self._thread = last_key, sleep, threading.get_ident()

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        """Pause, if it is this thread's import and somebody types."""
        if threading.get_ident() == self._thread and time.monotonic() - self._last_key() < _TYPING:
            self._sleep(PAUSE)
