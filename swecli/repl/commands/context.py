"""What commands are given: the program's parts behind one small door."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from swecli.repl.background import Background
from swecli.repl.input.question import Option

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.events import Event
    from swecli.repl.commands.base import Command
    from swecli.repl.input.by_line import PromptByLine
    from swecli.repl.input.prompt import PromptLine
    from swecli.repl.render.renderer import Renderer
    from swecli.repl.render.screen import Screen


class Door(Protocol):
    """What a command may ask of the REPL."""

    @property
    def commands(self) -> list[Command]:
        """Every command."""
        ...

    @property
    def behind(self) -> Background:
        """What goes on behind the prompt."""
        ...

    def leave(self, code: int = 0) -> None:
        """End the program."""
        ...

    def steer(self, text: str) -> None:
        """Put a line into the running turn."""
        ...

    def set_draft(self, text: str) -> None:
        """Begin the next line with this."""
        ...


class CommandDesk:
    """The `CommandContext` of the running program."""

    def __init__(
        self, runtime: Runtime, screen: Screen, renderer: Renderer, door: Door, prompt: PromptLine | PromptByLine
    ) -> None:
        self.runtime, self.screen = runtime, screen
        self._renderer, self._door, self._prompt = renderer, door, prompt

    @property
    def commands(self) -> list[Command]:
        """Every command."""
        return self._door.commands

    def leave(self) -> None:
        """Leave after this command."""
        self._door.leave()

    def steer(self, text: str) -> None:
        """Put a line into the running turn; without one it is the next line."""
        self._door.steer(text)

    def set_draft(self, text: str) -> None:
        """Begin the next line with this."""
        self._door.set_draft(text)

    def show(self, event: Event) -> None:
        """Draw an event as in a turn."""
        self._renderer.show(event)

    async def pick(self, title: str, options: list[tuple[str, str]]) -> str | None:
        """Let the user choose among (value, label) pairs; the value, or None."""
        if not options:
            return None
        marks = [str(n + 1) for n in range(len(options))] if len(options) <= 9 else [""] * len(options)
        labelled = [Option(label, mark) for (_, label), mark in zip(options, marks, strict=True)]
        index = await self._prompt.choose(title, labelled)
        return None if index is None else options[index][0]

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it behind the prompt."""
        self._door.behind.start(work)

    async def stop_learning(self) -> bool:
        """Cancel what is being learned; whether there was anything."""
        return await self._door.behind.cancel() > 0

    async def settle(self) -> None:
        """Wait until what was learned is stored."""
        if self._door.behind.busy:
            self.screen.note("finishing what is being learned (Esc: not now)")
            await self._door.behind.settle()
