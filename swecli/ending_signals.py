"""The signals that end the program: the first asks it to end in order, a later one ends it, whatever it waits for."""

from __future__ import annotations

import asyncio
import os
import signal
import termios
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

# Seconds after the first signal in which others are taken for the same wish: a terminal that closes may send two, and
# an impatient user presses twice. Then what runs has had the time that a command gets to end.
_SAME_WISH = 1.0
_AT_ONCE = b"\nswecli: Ended at once, by a second signal.\n"
# Nothing is left switched on in the terminal: brackets around pastes, a hidden cursor, colours.
_RESET_TERMINAL = b"\x1b[?2004l\x1b[?25h\x1b[0m"


class EndingSignals:
    """Listens to signals for one event loop. `ask` gets the number of each signal, in the loop.

    A signal that comes more than a second after the first one ends the program with 128 plus its number, also while a
    write waits for a terminal that is held or for a reader that reads nothing: no event loop runs then. Processes that
    were started are killed, and the terminal is as it was when this was made.
    """

    def __init__(self, ask: Callable[[int], None], same_wish: float = _SAME_WISH) -> None:
        self._ask = ask
        self._same_wish = same_wish  # seconds
        self._first_at: float | None = None  # seconds of the monotonic clock
        self._terminal_modes = _read_terminal_modes()

    def listen(self, numbers: Iterable[signal.Signals]) -> None:
        """Listen to these signals too, until the loop is closed."""
        loop = asyncio.get_running_loop()
        for number in numbers:
            loop.add_signal_handler(number, self._ask, number)
            # in place of the loop's handler, which does nothing: the loop hears of the signal by its own pipe
            signal.signal(number, self._receive)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        """Python calls this between two instructions, and while a system call waits."""
        now = time.monotonic()
        if self._first_at is None:
            self._first_at = now
        elif now - self._first_at > self._same_wish:
            self._end_at_once(number)

    def _end_at_once(self, number: int) -> NoReturn:
        # late: most programs end in order
        from swecli.descendants import kill_descendants

        kill_descendants()
        if self._terminal_modes is not None:
            # another program may have the terminal
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
            with suppress(OSError, termios.error):  # the terminal is closed
                termios.tcflow(0, termios.TCOON)  # Ctrl+S holds what is written
                termios.tcsetattr(0, termios.TCSANOW, self._terminal_modes)
            _write_if_possible(1, _RESET_TERMINAL)
        _write_if_possible(2, _AT_ONCE)
        os._exit(128 + number)


def _read_terminal_modes() -> list[int | list[bytes | int]] | None:
    """Return the modes of the terminal that is standard input, None if it is none."""
    with suppress(OSError, termios.error):
        return termios.tcgetattr(0)
    return None


def _write_if_possible(descriptor: int, data: bytes) -> None:
    """Write what can be written without waiting."""
    with suppress(OSError):
        os.set_blocking(descriptor, False)
        os.write(descriptor, data)
        os.set_blocking(descriptor, True)
