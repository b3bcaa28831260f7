"""Work behind the prompt: started and forgotten by whoever asks, waited for or cancelled in one place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

CLOSING = 0.5


class Background:
    """Tasks of one running program. `failed` is told what went wrong in one; `changed` when one begins or ends."""

    def __init__(self, failed: Callable[[Exception], None], changed: Callable[[], None]) -> None:
        self._failed, self._changed = failed, changed
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """Whether anything goes on."""
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin; the prompt does not wait."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        self._changed()

    async def settle(self) -> None:
        """Wait until all of it has ended. Cancelling the wait leaves the work alone."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def cancel(self) -> int:
        """Cancel what goes on, and wait until it has stopped; how much it was."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        return len(tasks)

    async def close(self) -> None:
        """Cancel what still goes on, and give it a moment to stop."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=CLOSING)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._changed()
        if not task.cancelled() and (error := task.exception()) is not None:
            if not isinstance(error, Exception):
                raise error
            self._failed(error)
