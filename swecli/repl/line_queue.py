"""The queue of the lines that were sent and are not yet running."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable


class LineQueue:
    """A FIFO queue of lines. After an interrupt it is held: queued lines wait for `release`, new lines go first."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._lines = list(lines)
        self._new_count = 0  # number of lines at the front that were sent while the rest is held
        self._changed = asyncio.Event()
        self.needs_line = asyncio.Event()  # set while `get` waits
        self.is_held = False

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)

    def put(self, line: str) -> None:
        """Append a line, before held lines if there are any."""
        if self.is_held:
            self._lines.insert(self._new_count, line)
            self._new_count += 1
        else:
            self._lines.append(line)
        self.needs_line.clear()
        self._changed.set()

    def pop_newest(self) -> str | None:
        """Remove and return the newest line to edit it; None if the queue is empty. Lines before held ones stay."""
        line = None
        if len(self._lines) > self._new_count:
            line = self._lines.pop()
        if len(self._lines) == self._new_count:
            self.release()
        return line

    def clear(self) -> None:
        self._lines.clear()
        self.release()

    def hold(self) -> None:
        """Hold the queued lines until `release`."""
        self.is_held = bool(self._lines)
        self._new_count = 0

    def release(self) -> None:
        self.is_held = False
        self._new_count = 0
        self._changed.set()

    async def get(self) -> str:
        """Wait for a line that is not held, and remove and return the oldest one."""
        while not self._has_next():
            self._changed.clear()
            self.needs_line.set()
            await self._changed.wait()
        self.needs_line.clear()
        self._new_count = max(0, self._new_count - 1)
        return self._lines.pop(0)

    def _has_next(self) -> bool:
        """Return whether there is a line that is not held."""
        if self.is_held:
            return self._new_count > 0
        return bool(self._lines)
