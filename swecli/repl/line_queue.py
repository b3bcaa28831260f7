"""Lines sent while something else runs: kept in order, shown, taken back to be edited."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable


class LineQueue:
    """First in, first out. `held`: what was queued before an interrupt stays until `release`; new lines go first."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._lines = deque(lines)
        self._fresh: deque[str] = deque()  # sent since the others are held
        self._changed = asyncio.Event()
        self.idle = asyncio.Event()
        """Set while somebody waits for a line and there is none."""
        self.held = False

    def __len__(self) -> int:
        return len(self._fresh) + len(self._lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """What waits, oldest first."""
        return (*self._fresh, *self._lines)

    def put(self, line: str) -> None:
        """Append a line."""
        (self._fresh if self.held else self._lines).append(line)
        self.idle.clear()
        self._changed.set()

    def take_back(self) -> str | None:
        """Remove the newest line, to be edited; None when there is none."""
        line = self._lines.pop() if self._lines else None
        self.held = self.held and bool(self._lines)
        return line

    def clear(self) -> None:
        """Remove all."""
        self._lines.clear()
        self._fresh.clear()
        self.held = False

    def hold(self) -> None:
        """Keep what waits until `release`; does nothing when nothing waits."""
        self._lines.extendleft(reversed(self._fresh))
        self._fresh.clear()
        self.held = bool(self._lines)

    def release(self) -> None:
        """Go on."""
        self.held = False
        self._changed.set()

    async def next(self) -> str:
        """The oldest line, as soon as there is one that is not held."""
        while not self._fresh and (self.held or not self._lines):
            self._changed.clear()
            self.idle.set()
            await self._changed.wait()
        self.idle.clear()
        return (self._fresh or self._lines).popleft()
