"""Limits of what a model and a terminal get: long results, rows, terminal codes, bytes that are not text, and time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from swecli.text import CONTROL_SEQUENCE, escape_hidden, truncate

TIMEOUT_CODE = 124  # the exit code of a command that was stopped at its limit, as of timeout(1)


def truncate_result(text: str, limit_chars: int, call_id: str) -> tuple[str, bool]:
    """Return `text` in at most `limit_chars` characters, and whether it was truncated. A truncated text is a notice
    (its size, and how to read on), the head, a mark and the tail, cut at line ends where one is near."""
    if len(text) <= limit_chars:
        return text, False
    lines = text.count("\n") + 1
    notice = (
        f"[Long result: {len(text):,} characters, {lines:,} lines. The head and the tail are below. "
        f'Read the rest with read_result(call_id="{call_id}", start_line=...).]\n'
    )
    mark_room = 60
    room = limit_chars - len(notice) - mark_room
    if room < mark_room:
        return notice[: max(0, limit_chars)], True
    head_room = room * 2 // 3
    tail_room = room - head_room
    head = text[:head_room]
    tail = text[len(text) - tail_room :]
    # cut at the end of a line if one is near
    last_end = head.rfind("\n")
    if last_end > len(head) * 3 // 4:
        head = head[:last_end]
    first_end = tail.find("\n")
    if 0 <= first_end < len(tail) // 4:
        tail = tail[first_end + 1 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{notice}{head}\n[… {left_out:,} characters left out …]\n{tail}", True


class HeadTail:
    """Collects text of any length in bounded memory: the first `head` and the last `tail` characters."""

    def __init__(self, head: int = 400_000, tail: int = 600_000) -> None:
        self._most = head
        self._limit = tail
        self.clear()

    def clear(self) -> None:
        """Forget what was collected."""
        self.size = 0  # characters in all
        self.line_ends = 0
        self._head: list[str] = []
        self._room = self._most  # characters that still fit the head
        self._tail: deque[str] = deque()
        self._excess = -self._limit  # characters of the tail that are over its limit

    def add(self, text: str) -> None:
        self.size += len(text)
        self.line_ends += text.count("\n")
        first = text[: self._room]
        rest = text[self._room :]
        if first:
            self._head.append(first)
        self._room -= len(first)
        self._tail.append(rest)
        self._excess += len(rest)
        while self._tail and self._excess >= len(self._tail[0]):
            self._excess -= len(self._tail.popleft())

    @property
    def loss(self) -> str:
        """The note on the true size of what was collected, "" if all of it is kept."""
        head = sum(map(len, self._head))
        lost_count = self.size - head - self._limit
        if lost_count <= 0:
            return ""
        return (
            f"[printed: {self.size:,} characters, {self.line_ends:,} lines; kept: the first and last "
            f"{self.size - lost_count:,} characters]"
        )

    def text(self) -> str:
        """Return the collected text, with a mark where the middle is missing."""
        head = "".join(self._head)
        tail = "".join(self._tail)
        kept_tail = tail[-self._limit :] if self._limit else ""
        left_out = self.size - len(head) - len(kept_tail)
        mark = f"\n[… {left_out:,} characters of output were not kept …]\n" if left_out else ""
        return head + mark + kept_tail


def fit_rows(rows: Iterable[str], limit: int) -> list[str]:
    """Return the first rows with at most `limit` characters in all, line ends included; at least one."""
    fitting: list[str] = []
    size = 0
    for row in rows:
        size += len(row) + 1
        if fitting and size > limit:
            break
        fitting.append(row)
    return fitting


def count_of(number: int, noun: str, ending: str = "s") -> str:
    """Return a text like `1 file` or `3 files`."""
    return f"{number} {noun}{'' if number == 1 else ending}"


def escape_invalid_bytes(text: str) -> str:
    """Return text decoded with `surrogateescape` with the undecodable bytes as `\\xNN`."""
    return (
        text
        if text.isascii()
        else text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    )


def one_line(text: str, limit: int = 160) -> str:
    """Return `text` on one line of at most `limit` characters: line ends become ⏎, hidden characters are escaped."""
    flat = escape_hidden(" ⏎ ".join(line.strip() for line in text.strip().split("\n")), keep="")
    return truncate(flat, limit)


def strip_terminal_codes(output: str) -> str:
    """Return terminal output as plain lines: without colours, and with the last state of a line that was redrawn."""
    plain = CONTROL_SEQUENCE.sub("", output).replace("\r\n", "\n")
    if "\r" not in plain:
        return plain
    return "\n".join(
        next((s for s in reversed(line.split("\r")) if s), "") for line in plain.split("\n")
    )


def excess(seconds: float | None) -> str:
    """Return what a command did that was stopped at this limit."""
    return f"it took longer than {seconds or 0:g} s"
