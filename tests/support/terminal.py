"""A program in a real pseudo-terminal: send keys and read the screen of a terminal emulator."""

from __future__ import annotations

import os
import re
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType

import pexpect
import pyte

from tests.support.shell import ON_PATH

PATIENCE = 30.0


class Terminal:
    """Runs swecli, or another command, at `columns` x `rows`. Leaving the context ends the process."""

    def __init__(
        self,
        *arguments: str,
        columns: int = 80,
        rows: int = 24,
        environ: Mapping[str, str] | None = None,
        command: Sequence[str] = (sys.executable, "-m", "swecli"),
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        env = {**os.environ, "PYTHONPATH": ON_PATH, "TERM": "xterm-256color", **(environ or {})}
        self.process = pexpect.spawn(
            command[0],
            [*command[1:], *arguments],
            dimensions=(rows, columns),
            env=env,
            timeout=None,
        )
        # replies to the program's terminal queries
        self._screen.write_process_input = self._answer  # type: ignore[method-assign]

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        with suppress(pexpect.ExceptionPexpect):  # killed, and on a busy machine not gone yet
            self.process.close(force=True)

    def keys(self, text: str) -> None:
        """Send the keys."""
        self.process.send(text.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Resize the window."""
        self._screen.resize(rows, columns)
        self.process.setwinsize(rows, columns)

    @property
    def is_raw(self) -> bool:
        """Return True if the terminal neither echoes input nor waits for whole lines."""
        return not termios.tcgetattr(self.process.fileno())[3] & (termios.ECHO | termios.ICANON)

    @property
    def text(self) -> str:
        """Return the screen's lines, without trailing spaces."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    def pump(self, seconds: float = 0.05) -> bool:
        """Read output for up to that many seconds; return False if the program has ended."""
        try:
            data = self.process.read_nonblocking(65536, timeout=seconds)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return True

    def wait(self, pattern: str) -> str:
        """Wait until the pattern matches the screen and return the screen. Raises AssertionError on timeout."""
        return self._until(
            lambda: re.search(pattern, self.text, re.MULTILINE) is not None, f"no {pattern!r}"
        )

    def wait_for(self, is_so: Callable[[], bool], complaint: str) -> str:
        """Read output until something beside the screen is so; return the screen. Raises AssertionError on timeout."""
        return self._until(is_so, complaint)

    def wait_until_gone(self, pattern: str) -> str:
        """Wait until the pattern no longer matches the screen."""
        return self._until(
            lambda: re.search(pattern, self.text, re.MULTILINE) is None,
            f"{pattern!r} is still there",
        )

    def wait_until_quiet(self, seconds: float) -> None:
        """Wait until nothing was written for that many seconds."""
        quiet_since = time.monotonic()
        deadline = quiet_since + PATIENCE
        while time.monotonic() - quiet_since < seconds:
            written = len(self.raw)
            self.pump()
            if len(self.raw) != written:
                quiet_since = time.monotonic()
            assert time.monotonic() < deadline, f"still written: {self.raw[-80:]!r}\n{self.text}"

    def _answer(self, data: str) -> None:
        self.process.send(data.encode())

    def wait_for_exit(self) -> int:
        """Wait for the program to end and return its exit code."""
        self._until(lambda: not self.process.isalive(), "it still runs")
        code = self.process.exitstatus
        return int(-self.process.signalstatus if code is None else code)

    def _until(self, true, complaint: str) -> str:  # type: ignore[no-untyped-def]
        deadline = time.monotonic() + PATIENCE
        while not true():
            if not self.pump() and not true() and self.process.isalive() is False:
                raise AssertionError(f"{complaint}; it ended\n{self.text}")
            assert time.monotonic() < deadline, f"{complaint}\n{self.text}"
        return self.text
