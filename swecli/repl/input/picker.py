"""A question with many options, which are searched by typing."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from swecli.repl.input.question import Option, Question, StyledText
from swecli.text import one_line

_PREVIEW_ROWS = 6
_MIN_ROWS_FOR_PREVIEW = 7


class Picker(Question):
    """A question whose options are filtered by typed words; `result` is an index into all options, or None."""

    def __init__(
        self, title: str, options: Sequence[Option], details: Sequence[Sequence[str]]
    ) -> None:
        super().__init__(title, options)
        self._all_options = self.options
        self._details = [[one_line(line) for line in lines] for lines in details]
        self._matches = list(range(len(options)))
        self._typed = ""

    def update_draft(self, text: str) -> None:
        """Filter the options to those that contain every word."""
        if text == self._typed:
            return
        self._typed = text
        words = text.lower().split()
        texts = [
            " ".join([option.label, *lines]).lower()
            for option, lines in zip(self._all_options, self._details, strict=True)
        ]
        self._matches = [
            index for index, text in enumerate(texts) if all(word in text for word in words)
        ]
        self.options = [self._all_options[index] for index in self._matches]
        self.cursor = 0 if self._matches else None

    def answer(self, value: int | str | None) -> None:
        """Set the result to an option's index; ignore texts."""
        if isinstance(value, int) and value in self._visible and not self.result.done():
            self.result.set_result(self._matches[value])
        elif not isinstance(value, str):
            super().answer(value)

    def render(self, columns: int, rows: int) -> list[StyledText]:
        """Render the list and the details of the highlighted option in at most `rows` lines."""
        has_preview = self.cursor is not None and rows >= _MIN_ROWS_FOR_PREVIEW
        details = self._details[self._matches[self.cursor or 0]] if has_preview else []
        preview: list[str] = []
        for line in details:
            preview += wrap(line, max(1, columns - 4), max_lines=2, placeholder=" …")
        preview = preview[: min(_PREVIEW_ROWS, rows // 3)]
        options = super().render(columns, rows - len(preview))
        return [*options, *(("class:quiet", f"  │ {line}") for line in preview)]

    def _hint(self) -> str:
        matches = (
            f"{len(self._matches)} of {len(self._all_options)}" if self._typed else "type to search"
        )
        return f"{matches} · ↑↓ + Enter to choose · Esc to cancel"
