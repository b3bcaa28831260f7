"""Run the event loop of the program, and return from it although a thread does not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any, ParamSpec, TypeVar

# seconds that threads get to finish storing a file version or posting a comment; one that needs more hangs
_MAX_WAIT = 5.0
Result = TypeVar("Result")  # of the function that a thread calls
Arguments = ParamSpec("Arguments")  # its arguments


def run_event_loop(work: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine to its end, as `asyncio.run` does, but wait at most five seconds for threads that it started: one
    that reads a file of a dead disk never ends. `is_thread_stuck` is True then."""
    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(_Threads())
        return runner.run(work)


def is_thread_stuck() -> bool:
    """Return whether a thread is running for which the interpreter would wait at its exit."""
    main = threading.main_thread()
    return any(thread is not main and not thread.daemon for thread in threading.enumerate())


class _Threads(ThreadPoolExecutor):
    """The threads of `asyncio.to_thread`. Shutting down waits for a limited time."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="asyncio")
        self._unfinished: set[Future[Any]] = set()

    def submit(
        self, fn: Callable[Arguments, Result], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Future[Result]:
        future = super().submit(fn, *args, **kwargs)
        self._unfinished.add(future)
        future.add_done_callback(self._unfinished.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop accepting work, and wait for the work that is running, but not for long."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        if wait:
            wait_for(set(self._unfinished), timeout=_MAX_WAIT)
