"""What commands are given: the program's parts behind one small door."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output

from swecli.repl.background import Background
from swecli.repl.chat.choose import ask_line, choose
from swecli.repl.chat.interrupt import Work

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.events import Event
    from swecli.repl.commands.base import Command
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

    @property
    def work(self) -> Work:
        """What goes on in front of it, and lends the keyboard to dialogs."""
        ...

    def leave(self, code: int = 0) -> None:
        """End the program."""
        ...

    def set_draft(self, text: str) -> None:
        """Begin the next line with this."""
        ...


class CommandDesk:
    """The `CommandContext` of the running program."""

    def __init__(
        self,
        runtime: Runtime,
        screen: Screen,
        renderer: Renderer,
        door: Door,
        keyboard: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self.runtime, self.screen = runtime, screen
        self._renderer, self._door = renderer, door
        self._keyboard, self._output = keyboard, output

    @property
    def commands(self) -> list[Command]:
        """Every command."""
        return self._door.commands

    def leave(self) -> None:
        """Leave after this command."""
        self._door.leave()

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
        with self._door.work.lent():
            labels = [label for _, label in options]
            color = self.screen.look.color
            index = await choose(title, labels, color=color, keyboard=self._keyboard, output=self._output)
        return None if index is None else options[index][0]

    async def ask_line(self, label: str) -> str | None:
        """Let the user type one line."""
        with self._door.work.lent():
            color = self.screen.look.color
            return await ask_line(label, color=color, keyboard=self._keyboard, output=self._output)

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
