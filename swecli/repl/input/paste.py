"""Long pastes: shown as `[Pasted text #n]`, sent whole."""

from __future__ import annotations

import re

_MAX_CHARS = 1000
_MAX_LINES = 15

_PLACEHOLDER = re.compile(r"\[Pasted text #(\d+)\]")
# C0 without tab and newline, DEL, C1: they would move the cursor or colour the screen
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Pastes:
    """The long texts pasted in this run, by number from 1."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}

    def take(self, pasted: str) -> str:
        """What to put into the line for a paste: the text itself, or its placeholder when it is long."""
        text = plain(pasted)
        if len(text) <= _MAX_CHARS and text.count("\n") < _MAX_LINES:
            return text
        number = len(self._texts) + 1
        self._texts[number] = text
        return f"[Pasted text #{number}]"

    def expand(self, line: str) -> str:
        """The line with every known placeholder replaced by its text, once; unknown ones stay as typed."""
        return _PLACEHOLDER.sub(lambda match: self._texts.get(int(match[1]), match[0]), line)


def plain(pasted: str) -> str:
    """Pasted text with one kind of line break and no control characters."""
    return _CONTROL.sub("", pasted.replace("\r\n", "\n").replace("\r", "\n"))
