"""Keeping text within its limits and fit to be seen: results on arrival, a command's output, pages, hidden letters."""

from __future__ import annotations

import re
import unicodedata
from collections import deque

LINE_LIMIT = 2_000


def truncate_result(text: str, limit_chars: int, call_id: str) -> tuple[str, bool]:
    """`text` in at most `limit_chars` letters, and whether anything was left out. What is too long becomes a notice
    (its size, and how to read on), the head, a mark, and the tail. Cuts are made at line ends where one is near."""
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
    head = _to_line_end(text[: room * 2 // 3])
    tail = _from_line_start(text[len(text) - (room - room * 2 // 3) :])
    left_out = len(text) - len(head) - len(tail)
    return f"{notice}{head}\n[… {left_out:,} characters left out …]\n{tail}", True


class HeadTail:
    """Collects text of any length in bounded memory: the first `head` and the last `tail` characters."""

    def __init__(self, head: int = 400_000, tail: int = 600_000) -> None:
        self._head, self._room = list[str](), head
        self._tail, self._limit = deque[str](), tail
        self._excess = -tail
        self.size = 0

    def add(self, text: str) -> None:
        self.size += len(text)
        first, rest = text[: self._room], text[self._room :]
        self._head += [first] if first else []
        self._room -= len(first)
        self._tail.append(rest)
        self._excess += len(rest)
        while self._tail and self._excess >= len(self._tail[0]):
            self._excess -= len(self._tail.popleft())

    def text(self) -> str:
        """What was collected, with a mark where the middle is missing."""
        head, tail = "".join(self._head), "".join(self._tail)
        kept = tail[-self._limit :] if self._limit else ""
        left_out = self.size - len(head) - len(kept)
        mark = f"\n[… {left_out:,} characters of output were not kept …]\n" if left_out else ""
        return head + mark + kept


def number_lines(lines: list[str], start: int, end: int | None, limit: int) -> tuple[list[str], int]:
    """Numbered lines from line `start` (from 1) to `end`, at most `limit` letters of them; and the last line's number.
    At least one line is given; lines over LINE_LIMIT letters are cut, with their length."""
    out: list[str] = []
    size, number = 0, start
    last = len(lines) if end is None else min(end, len(lines))
    while number <= last:
        line = f"{number:>6}\t{truncate_line(lines[number - 1])}"
        size += len(line) + 1
        if out and size > limit:
            break
        out.append(line)
        number += 1
    return out, number - 1


def truncate_line(line: str) -> str:
    """A line of at most about LINE_LIMIT letters."""
    if len(line) <= LINE_LIMIT:
        return line
    return f"{line[:LINE_LIMIT]} [… line cut: {len(line):,} characters in all]"


def wrap_lines(text: str) -> list[str]:
    """Lines of a text, none over LINE_LIMIT letters: longer ones go on in the next, so that every letter is reached."""
    out: list[str] = []
    for line in text.split("\n"):
        out += [line[i : i + LINE_LIMIT] for i in range(0, len(line), LINE_LIMIT)] or [""]
    return out


def _to_line_end(head: str) -> str:
    cut = head.rfind("\n")
    return head[:cut] if cut > len(head) * 3 // 4 else head


def _from_line_start(tail: str) -> str:
    cut = tail.find("\n")
    return tail[cut + 1 :] if 0 <= cut < len(tail) // 4 else tail


# Letters that take no room, or look like a space, yet are not in the categories below.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])")


def is_hidden(letter: str) -> bool:
    """Whether a letter cannot be seen, or passes for a space: controls, bidi marks, zero-width and tag letters."""
    if " " <= letter <= "~":
        return False
    category = unicodedata.category(letter)
    return (
        category in _HIDDEN_CATEGORIES
        or category == "Zs"
        or letter in _BLANK
        or "\ufe00" <= letter <= "\ufe0e"
        or "\U000e0100" <= letter <= "\U000e01ef"
    )


def escape_hidden(text: str, keep: str = "\n\t") -> str:
    """`text` with hidden letters as escapes (`\\x1b`, `\\u202e`), but those in `keep`, which stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if letter in keep or not is_hidden(letter) else _escape(letter) for letter in text)


def one_line(text: str, limit: int = 160) -> str:
    """`text` on one line of at most `limit` letters: line ends become ⏎, hidden letters are written out."""
    flat = escape_hidden(" ⏎ ".join(line.strip() for line in text.strip().split("\n")), keep="")
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def strip_terminal_codes(output: str) -> str:
    """Terminal output as plain lines: colours taken out, and of a line that was drawn over its last state kept."""
    plain = _ESCAPES.sub("", output).replace("\r\n", "\n")
    if "\r" not in plain:
        return plain
    return "\n".join(next((s for s in reversed(line.split("\r")) if s), "") for line in plain.split("\n"))


def _escape(letter: str) -> str:
    code = ord(letter)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
