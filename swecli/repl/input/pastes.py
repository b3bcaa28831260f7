"""Long pastes, of which the input line has a placeholder each."""

from __future__ import annotations

import re
from pathlib import Path

from swecli.file_names import quote_name
from swecli.text import CONTROL_SEQUENCE

_MAX_CHARS = 1000
_MAX_LINES = 15
_PLACEHOLDER = re.compile(r"\[(?:Pasted text #|image )[^\]\n]*\]")
# C0 without tab and newline, DEL, C1: they would move the cursor or color the screen.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Pastes:
    """The long texts and pictures pasted in this run, by their placeholders."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def add_text(self, pasted: str) -> str:
        """Return the text to insert into the line: the pasted text without controls, or a placeholder if it is long."""
        text = CONTROL_SEQUENCE.sub("", pasted.replace("\r\n", "\n").replace("\r", "\n"))
        text = _CONTROL.sub("", text)
        if len(text) <= _MAX_CHARS and text.count("\n") < _MAX_LINES:
            return text
        lines = text.count("\n") + 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        placeholder = f"[Pasted text #{len(self._texts) + 1} · {size}]"
        self._texts[placeholder] = text
        return placeholder

    def add_picture(self, path: Path) -> str:
        """Return the placeholder of a picture, with its size in pixels. Raises BadInput if it cannot be sent."""
        # late: the first prompt has no pictures
        from swecli.context.pictures import read_picture

        placeholder = str(read_picture(path, str(path))["label"])
        mention = f"@{quote_name(str(path))}"
        if self._texts.get(placeholder, mention) != mention:
            placeholder = f"{placeholder[:-1]} #{len(self._texts) + 1}]"
        self._texts[placeholder] = mention
        return placeholder

    def expand(self, line: str) -> str:
        """Replace every known placeholder by its text, not recursively."""
        return _PLACEHOLDER.sub(lambda match: self._texts.get(match[0], match[0]), line)

    def collapse(self, line: str) -> str:
        """Replace every paste by its placeholder. A sent line was stripped, so the last one may lack its end."""
        for placeholder, text in self._texts.items():
            line = line.replace(text, placeholder).replace(text.strip(), placeholder)
        return line

    def widen(self, line: str, start: int, end: int) -> tuple[int, int]:
        """Return the range that contains, whole, every placeholder that the given one overlaps."""
        for match in _PLACEHOLDER.finditer(line):
            if match[0] in self._texts and match.start() < end and start < match.end():
                start = min(start, match.start())
                end = max(end, match.end())
        return start, end

    def has_remains(self, line: str) -> bool:
        """Return True if the line has one half of a placeholder: what was pasted would not be sent."""
        rest = _PLACEHOLDER.sub(lambda match: "" if match[0] in self._texts else match[0], line)
        halves = ((text[: len(text) // 2], text[len(text) // 2 :]) for text in self._texts)
        return any(first in rest or second in rest for first, second in halves)
