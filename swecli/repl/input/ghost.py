"""The line to type next, shown on an empty input line until Tab takes it."""

from __future__ import annotations

from collections.abc import Sequence

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from swecli.repl.input.buffer import LineBuffer

_HINT = "   (Tab takes it)"


class Ghost(Processor):
    """Offers the lines one after the other; a line that was sent makes room for the next one."""

    def __init__(self, lines: Sequence[str], buffer: LineBuffer) -> None:
        self._left = list(lines)
        self._buffer = buffer

    @property
    def line(self) -> str:
        """The line to type next, "" if there is none."""
        return self._left[0] if self._left else ""

    def sent(self, text: str) -> None:
        """Go on to the next line if this one was sent."""
        if self.line and text.strip() == self.line:
            del self._left[0]

    @property
    def _is_offered(self) -> bool:
        is_free = not self._buffer.text or self._buffer.is_restored
        return bool(self.line) and is_free

    def keys(self) -> KeyBindings:
        """Return the binding of Tab on a line that is empty, or restored and not touched."""
        keys = KeyBindings()

        @keys.add("tab", filter=Condition(lambda: self._is_offered))
        def take(event: KeyPressEvent) -> None:
            self._buffer.reset()
            self._buffer.insert_text(self.line)

        return keys

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Append the line, dim, to the input line."""
        fragments = transformation_input.fragments
        is_last = transformation_input.lineno == transformation_input.document.line_count - 1
        if not (self._is_offered and is_last):
            return Transformation(fragments)
        gap = "   " if self._buffer.text else ""
        return Transformation([*fragments, ("class:quiet", f"{gap}{self.line}{_HINT}")])
