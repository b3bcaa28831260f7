"""A desk for commands: a real runtime, a screen that is a text, a user whose choices are given beforehand."""

from __future__ import annotations

import io
from collections.abc import Coroutine
from typing import Any

from swecli.app import Runtime
from swecli.models.events import Event
from swecli.repl.commands.base import Command
from swecli.repl.commands.registry import discover
from swecli.repl.render.renderer import Renderer
from swecli.repl.render.screen import Screen


class Desk:
    """The context of commands. `picks` are the values chosen, in order; `offered` what there was to choose from."""

    def __init__(self, runtime: Runtime, *picks: str | None, width: int = 100) -> None:
        self.runtime = runtime
        self.paper = io.StringIO()
        self.screen = Screen(False, width=width, file=self.paper)
        self.table = discover()
        self.left = False
        self.draft = ""
        self.settled = 0
        self.offered: list[list[tuple[str, str]]] = []
        self._picks = list(picks)
        self._renderer = Renderer(self.screen)

    @property
    def commands(self) -> list[Command]:
        return self.table.commands

    def leave(self) -> None:
        self.left = True

    def set_draft(self, text: str) -> None:
        self.draft = text

    def show(self, event: Event) -> None:
        self._renderer.show(event)

    async def pick(self, title: str, options: list[tuple[str, str]]) -> str | None:
        self.offered.append(options)
        return self._picks.pop(0)

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        work.close()

    async def stop_learning(self) -> bool:
        return False

    async def settle(self) -> None:
        self.settled += 1

    async def type(self, line: str) -> str:
        """Run `/name arguments` and return what it printed."""
        name, _, args = line.removeprefix("/").partition(" ")
        found = self.table.find(name)
        assert found is not None, name
        before = len(self.paper.getvalue())
        await found.run(self, args.strip())
        return self.paper.getvalue()[before:]
