"""A keyboard on which nobody types, for command lines of the user whose output is collected: it tells when a program
takes the keys."""

from __future__ import annotations

import asyncio
import os
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_INTERVAL = 0.1  # seconds between two looks
_END_OF_INPUT = b"\x04"
# How often a program may ask for a line until it waits for ever; the kernel keeps 4,095 bytes (termios(3)).
_ENDS = 1_000
_MAX_ECHO = 1 << 16


class Keyboard:
    """Standard input and `/dev/tty` of a command. Reading a line ends at once, as from `/dev/null`, so nothing waits
    for keys but what takes them one by one or hides them, as editors and questions for a password do: `on_taken` is
    called then, once."""

    def __init__(self, on_taken: Callable[[], None]) -> None:
        self._on_taken = on_taken
        self.is_taken = False

    @contextmanager
    def open(self) -> Iterator[int]:
        """Return the descriptor of the terminal, which is watched until the end of the context."""
        own_end, theirs = os.openpty()
        os.set_blocking(own_end, False)
        os.write(own_end, _END_OF_INPUT * _ENDS)
        watching = asyncio.create_task(self._watch(own_end, theirs))
        try:
            yield theirs
        finally:
            watching.cancel()
            os.close(theirs)
            os.close(own_end)

    async def _watch(self, own_end: int, theirs: int) -> None:
        whole_lines = termios.ICANON | termios.ECHO
        while True:
            with suppress(BlockingIOError):
                os.read(own_end, _MAX_ECHO)  # else the echo of the keys fills up
            local_modes = termios.tcgetattr(theirs)[3]
            if not self.is_taken and local_modes & whole_lines != whole_lines:
                self.is_taken = True
                self._on_taken()
            await asyncio.sleep(_INTERVAL)
