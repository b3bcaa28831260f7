"""The text of the input line: what is one character or placeholder there, and drafts that are put back into it."""

from __future__ import annotations

import time
from typing import Any

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from wcwidth import grapheme_boundary_before, iter_graphemes

from swecli.repl.input.history import LineHistory

_RESTORED_HINT = "your last message: edit it, or type / for a command"
_OFFERED_HINT = "not answered: type something else, or ← to edit it"
# A draft that has just been restored was not read yet, so Enter does not send it.
_UNREAD_SECONDS = 0.7


def _widen_to_characters(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the range that contains, whole, every character as a reader counts them that the given one overlaps: an
    emoji family, a flag or a letter with its accents is one."""
    if text.isascii():
        return start, end
    first = grapheme_boundary_before(text, start + 1) if start < len(text) else start
    if end == 0:
        return first, end
    last = grapheme_boundary_before(text, end)
    character = next(iter_graphemes(text, last))
    return first, max(end, last + len(character))


class LineBuffer(Buffer):
    """The text of the input line, in which an emoji family and the placeholder of a paste are each one piece.

    A draft may be restored into it: the user has not typed it, and does not have to send it. One that is only offered
    gives way to any text, as the user may go on typing without a look.
    """

    _restored = ""
    _is_offered = False
    _restored_at = 0.0

    def __init__(self, history: LineHistory, **options: Any) -> None:
        super().__init__(history=history, **options)
        self._pastes = history.pastes

    @property
    def has_cut_paste(self) -> bool:
        """Return True if a placeholder was cut, as by a command of vi."""
        return self._pastes.has_remains(self.text)

    @property
    def is_restored(self) -> bool:
        """Return True if the text is a restored draft that was not touched."""
        is_at_end = self.cursor_position == len(self.text)
        return bool(self._restored) and self.text == self._restored and is_at_end

    @property
    def is_unread(self) -> bool:
        """Return True if the text was restored so recently that no key can be meant for it."""
        return self.is_restored and time.monotonic() - self._restored_at < _UNREAD_SECONDS

    @property
    def restored_hint(self) -> str:
        """Return what to say about a restored draft that was not touched; else ""."""
        if not self.is_restored:
            return ""
        return _OFFERED_HINT if self._is_offered else _RESTORED_HINT

    def restore(self, text: str, offered: bool = False) -> None:
        """Put a line back, in place of one restored before. What the user is typing stays; then ↑ has the line."""
        text = self._pastes.collapse(text)
        if self.text and not self.is_restored:
            self.history.append_string(text)
            return
        self._restored = text
        self._is_offered = offered
        self._restored_at = time.monotonic()
        self.document = Document(text)

    def insert_text(
        self,
        data: str,
        overwrite: bool = False,
        move_cursor: bool = True,
        fire_event: bool = True,
    ) -> None:
        """Insert text; a command replaces a restored draft, and any text one that is only offered. ↑ has it then."""
        if self.is_restored and (self._is_offered or data.startswith("/")):
            self.reset(append_to_history=True)
        cursor = self.cursor_position
        start, end = self._pastes.widen(self.text, cursor, cursor)
        if start < cursor < end:  # inside a placeholder, which stays whole
            self.cursor_position = end
        super().insert_text(data, overwrite, move_cursor, fire_event)

    @property
    def cursor_position(self) -> int:
        """The characters before the cursor, which is never inside what a reader sees as one."""
        return super().cursor_position

    @cursor_position.setter
    def cursor_position(self, value: int) -> None:
        before = super().cursor_position
        wanted = min(max(0, value), len(self.text))
        start, end = _widen_to_characters(self.text, wanted, wanted)
        is_forward = wanted > before
        # mypy takes a property of a class for a function: Python has no other way to set an inherited one
        Buffer.cursor_position.fset(self, end if is_forward else start)  # type: ignore[attr-defined]

    def delete(self, count: int = 1) -> str:
        """Delete after the cursor, placeholders whole, and return what was deleted."""
        start = self.cursor_position
        return self._remove(start, min(start + count, len(self.text)))

    def delete_before_cursor(self, count: int = 1) -> str:
        """Delete before the cursor, placeholders whole, and return what was deleted."""
        end = self.cursor_position
        return self._remove(max(0, end - count), end)

    def _remove(self, start: int, end: int) -> str:
        """Remove a range, widened to whole characters and placeholders, and return what was removed."""
        text = self.text
        if start == end:
            return ""
        start, end = _widen_to_characters(text, start, end)
        start, end = self._pastes.widen(text, start, end)
        self.document = Document(text[:start] + text[end:], start)
        return text[start:end]
