"""The line to type next, shown on an empty input line until a key takes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from swecli.config.settings import Suggestion
from swecli.repl.input.buffer import LineBuffer
from swecli.repl.key_map import KeyMap


class Ghost(Processor):
    """Offers the lines one after the other; a line that was sent makes room for the next one. Nothing is offered while
    a question stands: then `is_waiting`, whether the prompt waits for a line, is false."""

    def __init__(
        self,
        suggestions: Sequence[Suggestion],
        buffer: LineBuffer,
        keys: KeyMap,
        is_waiting: Callable[[], bool],
    ) -> None:
        self._suggestions = list(suggestions)
        self._count = len(suggestions)
        self._buffer = buffer
        self._keys = keys
        self._is_waiting = is_waiting

    @property
    def line(self) -> str:
        """The line to type next, "" if there is none."""
        return self._suggestions[0].line if self._suggestions else ""

    @property
    def look(self) -> str:
        """Which step the line is, and what to look at when it runs; "" if there is no line, or none can be sent."""
        if not (self._suggestions and self._is_waiting()):
            return ""
        number = self._count - len(self._suggestions) + 1
        return f"step {number} of {self._count}: {self._suggestions[0].look}"

    def advance(self, text: str) -> None:
        """Go on to the next line if this one was sent."""
        if self.line and text.strip() == self.line:
            del self._suggestions[0]

    @property
    def _is_offered(self) -> bool:
        is_free = not self._buffer.text or self._buffer.is_restored
        return bool(self.line) and is_free and self._is_waiting()

    @property
    def offer(self) -> str:
        """What the empty input line shows: the line, and which key takes it; "" if nothing is offered."""
        if self._buffer.text or not self._is_offered:
            return ""
        hint = self._keys.hint("complete", "takes it")
        return f"{self.line}   ({hint})" if hint else self.line

    @property
    def offer_beside_draft(self) -> str:
        """Which key takes the line in place of a restored draft, "" if that is not possible."""
        hint = self._keys.hint("complete", f"takes {self.line}")
        return hint if self._is_offered and self._buffer.text else ""

    def bindings(self) -> KeyBindings:
        """Return the binding that takes the line if the input line is empty, or restored and not touched."""
        bindings = KeyBindings()

        def take(event: KeyPressEvent) -> None:
            self._buffer.reset()
            self._buffer.insert_text(self.line)

        for key in self._keys.keys_of("complete"):
            bindings.add(*key, filter=Condition(lambda: self._is_offered))(take)
        return bindings

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """Append the line, dim, to the input line."""
        fragments = transformation_input.fragments
        is_last = transformation_input.lineno == transformation_input.document.line_count - 1
        offer = self.offer
        if not (offer and is_last):
            return Transformation(fragments)
        return Transformation([*fragments, ("class:quiet", offer)])
