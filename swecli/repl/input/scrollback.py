"""What is printed above the line, and what is live just above it: never one without the other that belongs to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from prompt_toolkit.formatted_text import StyleAndTextTuples

from swecli.repl.input.terminal import HeldOutput, InlineApplication

_FRAME = 0.03
"""Seconds between two printings, at least: each draws everything below it again."""


class Scrollback:
    """Prints above a running application, in one write; what follows within `_FRAME` is printed together.

    `live` are the lines to draw now.
    """

    def __init__(self, app: InlineApplication) -> None:
        self._app = app
        self.live: list[StyleAndTextTuples] = []
        self._coming = self.live  # what is live once the next text is printed
        self._unprinted: list[str] = []
        self._next: asyncio.TimerHandle | None = None
        self._printed_at = 0.0
        self._away = False

    @property
    def _drawing(self) -> bool:
        return self._app.is_running and not self._app.is_done

    def write(self, text: str) -> None:
        """Print whole lines."""
        self._unprinted.append(text)
        if not self._drawing:
            self.flush()
        elif not self._away and self._next is None:
            loop = asyncio.get_running_loop()
            due = self._printed_at + _FRAME - loop.time()
            if due <= 0:
                self.flush()
            else:
                self._next = loop.call_later(due, self.flush)

    def show(self, lines: list[StyleAndTextTuples]) -> None:
        """Make these the live lines, together with what is about to be printed."""
        self._coming = lines
        if not self._unprinted:
            self.live = lines
            self._app.invalidate()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Another program has the terminal: what is printed meanwhile comes after it."""
        self._away = True
        try:
            yield
        finally:
            self._away = False
            self.flush()

    def flush(self) -> None:
        """Print what waits."""
        text, output = "".join(self._unprinted), self._app.output
        self._unprinted.clear()
        if self._next is not None:
            self._next.cancel()
            self._next = None
        self.live = self._coming
        if not self._drawing:
            output.write_raw(text)
            output.flush()
            return
        self._printed_at = asyncio.get_running_loop().time()
        with output.together() if isinstance(output, HeldOutput) else nullcontext():
            self._app.erase()
            output.write_raw(text)
            self._app.render_counter += 1
            self._app.renderer.render(self._app, self._app.layout)
