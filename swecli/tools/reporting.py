"""Output of a running program for the screen: in pieces of a size and a pace a screen can follow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_PACE = 0.05
_MOST = 16_000


class Reporter:
    """Hands text on at most twenty times a second; of a flood only the newest part of each piece."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._waiting: list[str] = []
        self._size = 0
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        """Take the next piece of output. Must run inside the event loop."""
        if not text:
            return
        self._waiting.append(text)
        self._size += len(text)
        loop = asyncio.get_running_loop()
        due = self._last + _PACE
        if loop.time() >= due:
            self._flush(loop.time())
        elif self._timer is None:
            # what came in between is not kept back until more comes
            self._timer = loop.call_at(due, lambda: self._flush(loop.time()))
        elif self._size > 4 * _MOST:
            self._waiting = [self._cut()]
            self._size = len(self._waiting[0])

    def finish(self) -> None:
        """Hand on the rest."""
        self._flush(self._last)

    def _flush(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._last = now
        if self._waiting:
            text = self._cut()
            self._waiting, self._size = [], 0
            self._report(text)

    def _cut(self) -> str:
        text = "".join(self._waiting)
        return text if len(text) <= _MOST else "[…]\n" + text[-_MOST:]
