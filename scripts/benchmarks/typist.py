"""A program in a pseudo-terminal and a typist who measures the time to the prompt, the echo of letters and memory."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyte

from scripts.benchmarks.rows import MeasuringError

COLUMNS, ROWS = 100, 30
MARK = ">"
PATIENCE = 30.0
LETTERS = (
    "qzxjqvkzwxjqkzvx"  # No command, file or word begins with these letters, so no menu opens.
)


@dataclass(frozen=True, slots=True)
class Start:
    """One start: milliseconds until the first letter was echoed, and the peak memory until then in MiB."""

    usable: float
    memory: float


@dataclass(frozen=True, slots=True)
class Typing:
    """The echo time of each letter in milliseconds, and the peak memory in MiB."""

    echoes: list[float]
    memory: float


class _Screen(pyte.Screen):
    """An emulator that answers the terminal queries that programs wait for, such as the cursor's position."""

    def __init__(self, answer: Callable[[bytes], object]) -> None:
        super().__init__(COLUMNS, ROWS)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        self._answer(data.encode())


class Typist:
    """Starts a program and types at its prompt, a line that begins with `>`. Leaving the context kills the program."""

    def __init__(self, command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
        self._screen = _Screen(lambda answer: os.write(self._fd, answer))
        self._stream = pyte.ByteStream(self._screen)
        self._read_at = 0.0
        self._typed = ""
        self._began = time.perf_counter()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            _become(command, folder, environ)

    def __enter__(self) -> Typist:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._fd)

    def first_letter(self) -> Start:
        """Wait for the prompt, type one letter, and wait until the program itself has drawn it."""
        self._until(lambda: self._line() == MARK, "there is no prompt")
        self._type()
        self._until(lambda: self._echoed() and self._is_raw(), "the first letter is not echoed")
        return Start((self._read_at - self._began) * 1000, self._memory())

    def send(self, line: str, until: str) -> None:
        """Replace the prompt's text by a line, submit it, and wait for a text on the screen."""
        os.write(self._fd, f"\x15{line}\r".encode())
        self._typed = ""
        self._until(
            lambda: any(until in row for row in self._screen.display), f"{until!r} does not come"
        )

    def letters(self, count: int, gap: float = 0.05) -> Typing:
        """Type that many letters, one per `gap` seconds whether or not the previous one was echoed."""
        shown, sent = len(self._typed), list[float]()
        echoes: list[float] = []
        begin = time.perf_counter()
        give_up = begin + count * gap + PATIENCE
        while len(echoes) < count:
            due = begin + len(sent) * gap
            now = time.perf_counter()
            if len(sent) < count and now >= due:
                sent.append(self._type())
                continue
            if now > give_up:
                raise MeasuringError(f"letters are lost: {self._line()!r}")
            if self._take(min(0.5, due - now) if len(sent) < count else 0.5):
                seen = self._seen() - shown
                echoes += [(self._read_at - at) * 1000 for at in sent[len(echoes) : seen]]
        return Typing(echoes, self._memory())

    def rest(self, seconds: float) -> float:
        """Let the program's background work continue; return the peak memory in MiB."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self._take(left)
        return self._memory()

    def _type(self) -> float:
        letter = LETTERS[len(self._typed) % len(LETTERS)]
        self._typed += letter
        now = time.perf_counter()
        os.write(self._fd, letter.encode())
        return now

    def _take(self, seconds: float) -> bool:
        """Read output for up to that many seconds and record the time of its arrival."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:  # The other end is closed.
            data = b""
        if not data:
            raise MeasuringError("the program ended:\n" + "\n".join(self._screen.display).rstrip())
        self._read_at = time.perf_counter()
        self._stream.feed(data)
        return True

    def _until(self, true: Callable[[], bool], complaint: str) -> None:
        deadline = time.perf_counter() + PATIENCE
        while not true():
            if time.perf_counter() > deadline:
                raise MeasuringError(f"{complaint}:\n" + "\n".join(self._screen.display).rstrip())
            self._take(0.5)

    def _line(self) -> str:
        """Return the cursor's line; reading the whole screen would take longer than an echo."""
        row = self._screen.buffer[self._screen.cursor.y]
        return "".join(row[column].data for column in range(COLUMNS)).rstrip()

    def _seen(self) -> int:
        """Return the number of typed letters in the line, all in order."""
        text = self._line().removeprefix(MARK).strip()
        return len(text) if self._typed.startswith(text) else 0

    def _echoed(self) -> bool:
        return self._seen() == len(self._typed)

    def _is_raw(self) -> bool:
        """Return True if the terminal itself echoes nothing, so that visible letters come from the program."""
        return not termios.tcgetattr(self._fd)[3] & termios.ECHO

    def _memory(self) -> float:
        status = Path(f"/proc/{self._pid}/status").read_text()
        return (
            next(int(row.split()[1]) for row in status.splitlines() if row.startswith("VmHWM"))
            / 1024
        )


def _become(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> None:
    """In the child process: exec the program."""
    try:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.chdir(folder)
        os.execve(command[0], list(command), dict(environ))
    finally:  # reached only if exec failed
        os._exit(127)
