"""What the pieces of a running REPL know of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.config.start import Start
    from swecli.repl.background import Afterthought, Background
    from swecli.repl.chat.interrupt import Work
    from swecli.repl.commands.registry import CommandTable
    from swecli.repl.footer import Gauge
    from swecli.repl.input.by_line import PromptByLine
    from swecli.repl.input.line_queue import LineQueue
    from swecli.repl.input.prompt import PromptLine
    from swecli.repl.parts import Parts
    from swecli.repl.reader import LineReader
    from swecli.repl.startup import Loading


class Program(Protocol):
    """The parts of the REPL. `runtime` and `table` are None, and `parts` cannot be had, until the loading is done."""

    start: Start
    runtime: Runtime | None
    table: CommandTable | None
    loading: Loading
    gauge: Gauge
    reader: LineReader
    work: Work
    behind: Background
    after: Afterthought

    @property
    def prompt(self) -> PromptLine | PromptByLine:
        """The line, and everything that is printed above it."""
        ...

    @property
    def queue(self) -> LineQueue:
        """The lines that wait."""
        ...

    @property
    def parts(self) -> Parts:
        """What draws, asks and acts."""
        ...

    def begin_loading(self) -> asyncio.Task[None]:
        """Load what is slow, once."""
        ...

    def steer(self, text: str) -> None:
        """Put a line into the running turn."""

    def leave(self, code: int = 0) -> None:
        """End the program."""
