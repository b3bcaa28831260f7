"""A long list to choose from: searched as one types, with what the selected row is about under it."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

from swecli.repl.input.question import Option, Question
from swecli.repl.render.formatting import one_line

_PREVIEW = 6  # lines of what the selected row is about, at most
_LEAST = 6  # rows of a screen that has room for a preview


class Picker(Question):
    """A question whose options are narrowed to those that hold every typed word, in their label or their details.
    `details` are the lines about each option; `result` gets the place in the whole list, or None."""

    def __init__(self, title: str, options: Sequence[Option], details: Sequence[Sequence[str]]) -> None:
        super().__init__(title, options)
        self._all, self._details = self.options, [[one_line(line) for line in lines] for lines in details]
        self._found = list(range(len(options)))
        self._typed = ""

    def typed(self, text: str) -> None:
        """Narrow the list to what holds these words."""
        if text == self._typed:
            return
        self._typed, words = text, text.lower().split()
        whole = [" ".join([one.label, *more]).lower() for one, more in zip(self._all, self._details, strict=True)]
        self._found = [place for place, text in enumerate(whole) if all(word in text for word in words)]
        self.options, self.at = [self._all[place] for place in self._found], 0 if self._found else None

    def answer(self, given: int | str | None) -> None:
        """Settle it with a row's place in the whole list; a text that no row holds is no answer."""
        if isinstance(given, int) and given in self._shown and not self.result.done():
            self.result.set_result(self._found[given])
        elif not isinstance(given, str):
            super().answer(given)

    def lines(self, columns: int, rows: int) -> list[tuple[str, str]]:
        """The list and the preview in at most `rows` lines."""
        about = self._details[self._found[self.at]] if self.at is not None and rows > _LEAST else []
        preview = [part for line in about for part in wrap(line, columns - 4)[:2]][: min(_PREVIEW, rows // 3)]
        head = super().lines(columns, rows - len(preview))
        return [*head, *(("class:quiet", f"  │ {line}") for line in preview)]

    def _hint(self) -> str:
        found = f"{len(self._found)} of {len(self._all)}" if self._typed else "type to search"
        return f"{found} · ↑↓ + Enter to choose · Esc to cancel"
