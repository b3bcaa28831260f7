"""What the keys do besides editing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.repl.input.line_queue import LineQueue
from swecli.repl.input.prompt import PromptLine

if TYPE_CHECKING:
    from swecli.repl.program import Program


class ReplControls:
    """The `Controls` of a running REPL."""

    def __init__(self, repl: Program) -> None:
        self._repl = repl

    @property
    def working(self) -> bool:
        """Whether something runs in the foreground."""
        return self._repl.work.busy

    @property
    def queue(self) -> LineQueue:
        """The lines that wait."""
        return self._repl.queue

    def interrupt(self) -> None:
        """Stop what runs; what was queued stays until the user sends it."""
        self.queue.hold()
        self._repl.work.interrupt()

    def steer(self, text: str) -> None:
        """Put a line into the running turn."""
        self._repl.steer(text)

    def leave(self) -> None:
        """End the program; what runs is stopped."""
        self._repl.leave()

    def expand_last(self) -> None:
        """Print the last tool's whole output."""
        if self._repl.runtime is not None and not self._repl.parts.renderer.expand_last():
            self._repl.parts.screen.note("no tool has run yet")

    def edit(self) -> None:
        """Give the line to the user's editor."""
        if isinstance(self._repl.prompt, PromptLine):
            self._repl.behind.start(self._repl.prompt.edit())

    def cycle_mode(self) -> None:
        """Go on to the next permission mode."""
        self._repl.gauge.cycle_mode()

    def hint(self, text: str) -> None:
        """Show a line in place of the footer; "" takes it away."""
        self._repl.gauge.hint(text)
