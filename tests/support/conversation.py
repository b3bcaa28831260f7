"""A pseudo-terminal with scrollback, for journeys longer than one screen."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import pexpect
import pyte

KEYS = {
    "enter": "\r",
    "esc": "\x1b",
    "ctrl-c": "\x03",
    "ctrl-d": "\x04",
    "tab": "\t",
    "shift-tab": "\x1b[Z",
    "up": "\x1b[A",
}
SWECLI = (sys.executable, "-m", "swecli")
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[\?[0-9;]*\$p|\x1b\[>[0-9;]*[a-zA-Z]")


class Conversation:
    """Runs a command in a pseudo-terminal. `everything()` returns the scrollback followed by the screen."""

    def __init__(
        self,
        command: Sequence[str] = SWECLI,
        *,
        columns: int = 100,
        rows: int = 50,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self._screen = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.5)
        self._screen.write_process_input = self._answer  # type: ignore[method-assign]
        self._stream = pyte.ByteStream(self._screen)
        environ = {**os.environ, "TERM": "xterm-256color", **(env or {})}
        where = str(cwd) if cwd else None
        self.child = pexpect.spawn(
            command[0],
            list(command[1:]),
            dimensions=(rows, columns),
            env=environ,
            cwd=where,
            timeout=5,
        )
        self.child.delaybeforesend = None

    def _answer(self, data: str) -> None:
        self.child.send(data.encode())

    def __enter__(self) -> Conversation:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.child.close(force=True)

    def pump(self, seconds: float = 0.05) -> bytes | None:
        """Read and return available output, or None if the program has ended."""
        try:
            data = bytes(self.child.read_nonblocking(65536, timeout=seconds))
        except pexpect.TIMEOUT:
            return b""
        except pexpect.EOF:
            return None
        self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data))
        return data

    def everything(self) -> str:
        """Return all lines so far, without trailing spaces."""
        columns = range(self._screen.columns)
        gone = ["".join(row[x].data for x in columns).rstrip() for row in self._screen.history.top]
        return "\n".join([*gone, *(line.rstrip() for line in self._screen.display)])

    def wait(self, pattern: str, since: int = 0, seconds: float = 30) -> None:
        """Wait until the pattern matches a line from number `since` on. Raises AssertionError with the screen on
        timeout."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.after(since), re.MULTILINE):
            if self.pump() is None or time.monotonic() > deadline:
                assert re.search(pattern, self.after(since), re.MULTILINE), (
                    f"no {pattern!r}\n{self.everything()}"
                )

    def after(self, since: int) -> str:
        """Return the lines from number `since` on."""
        return "\n".join(self.everything().splitlines()[since:])

    def settle(self, seconds: float = 0.4) -> None:
        """Wait until no output has arrived for that many seconds."""
        while self.pump(seconds):
            pass

    def mark(self) -> int:
        """Return the number of the cursor's line; later output is on it or below."""
        return len(self._screen.history.top) + int(self._screen.cursor.y)

    def line(self, text: str) -> None:
        """Send the text and then Enter, separately: sent together they would be read as a paste."""
        self.child.send(text)
        self.settle(0.15)
        self.child.send("\r")

    def wait_for_exit(self, seconds: float = 30) -> int:
        """Wait for the program to end and return its exit code, or 128 + n if signal n ended it."""
        deadline = time.monotonic() + seconds
        while self.pump() is not None and time.monotonic() < deadline:
            pass
        self.child.close()
        status = self.child.exitstatus
        return int(status if status is not None else 128 + (self.child.signalstatus or 0))
