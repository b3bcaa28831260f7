"""The work in the foreground: one thing at a time, and the user can stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

_AGAIN_AFTER = 1.0


class Work:
    """Runs one thing at a time, so that it can be interrupted."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._asked = float("-inf")

    @property
    def busy(self) -> bool:
        """Whether something runs."""
        return self._task is not None

    async def run(self, work: Coroutine[Any, Any, None]) -> bool:
        """Do it; false when it was interrupted. Raises what it raises."""
        self._task = task = asyncio.get_running_loop().create_task(work)
        self._asked = float("-inf")
        try:
            await asyncio.wait([task])
        finally:
            self._task = None
            if not task.done():  # the wait itself was cancelled: the program is ending
                task.cancel()
                await asyncio.wait([task])
        if task.cancelled():
            return False
        task.result()
        return True

    def interrupt(self) -> None:
        """Cancel what runs. Pressed again and again it counts once a second: tidying up must not be cut short."""
        if self._task is None:
            return
        now = asyncio.get_running_loop().time()
        if now - self._asked >= _AGAIN_AFTER:
            self._asked = now
            self._task.cancel()
