"""A command context for tests, with a real runtime, captured output and predefined choices."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from swecli.app import Runtime
from swecli.models.events import Event
from swecli.repl.background import Background
from swecli.repl.commands.base import CommandContext
from swecli.repl.commands.registry import CommandTable
from swecli.repl.footer import Footer
from swecli.repl.input.action_list import ActionList
from swecli.repl.input.question import Option
from swecli.repl.line_queue import LineQueue
from swecli.repl.render.renderer import Renderer
from swecli.repl.render.screen import Screen
from swecli.repl.render.theme import Theme
from tests.screen.emulated import TextSurface


class ScriptedContext(CommandContext):
    """A command context that answers each choice with the next of `picks` and records the questions in `titles` and
    `offered`."""

    def __init__(self, runtime: Runtime, *picks: str | None, width: int = 100) -> None:
        self.paper = io.StringIO()
        renderer = Renderer(Screen(TextSurface(self.paper, width), False))
        self.table = CommandTable.discover(runtime.start.read_trust())
        double: Any = self  # of the program and of the prompt, as far as commands need them
        super().__init__(
            runtime,
            self.table,
            renderer,
            program=double,
            asker=double,
            background=Background(double),
        )
        self.theme = Theme("auto", {})
        self.left = False
        self.footer = Footer(runtime.agent.model.name, "ask", "5")
        self.draft = ""
        self.detailed: list[list[str]] = []
        self.waited_for_background = 0
        self.learned: list[int] = []
        self.queue = LineQueue()
        self.titles: list[str] = []
        self.offered: list[list[tuple[str, str]]] = []
        self.edited: list[tuple[Path, int]] = []
        self._picks = list(picks)

    def will_pick(self, *picks: str | None) -> None:
        """Replace the remaining picks."""
        self._picks = list(picks)

    def set_draft(self, text: str) -> None:
        self.draft = text

    def quit(self, code: int = 0) -> None:
        self.left = True

    working = False
    has_lists = True

    async def choose_action(self, actions: ActionList) -> tuple[int, str] | None:
        """Return what the next pick says: the number of an option, and the key that is pressed on it, as "2 b"; None
        closes the list."""
        self.titles.append(actions.title)
        self.offered.append([(option.key, option.label) for option in actions.options])
        pick = self._picks.pop(0)
        if pick is None:
            return None
        number, _, key = pick.partition(" ")
        return int(number) - 1, key

    def show(self, event: Event) -> None:
        self.renderer.show(event)

    def background_changed(self) -> None:
        pass

    def start_learning(self, interaction: int) -> None:
        self.learned.append(interaction)

    def measure_next(self) -> None:
        pass

    async def pick(
        self, title: str, options: Sequence[tuple[str, str]], details: Sequence[Sequence[str]] = ()
    ) -> str | None:
        self.offered.append(list(options))
        self.detailed = [list(lines) for lines in details]
        return self._picks.pop(0)

    async def choose(
        self,
        title: str,
        options: Sequence[Option],
        *,
        guarded: bool = False,
        default: int | None = None,
        escape: str = "",
    ) -> int | None:
        """Return the index of the option whose key is the next pick, or None if the pick is None."""
        self.titles.append(title)
        self.offered.append([(option.key, option.label) for option in options])
        key = self._picks.pop(0)
        return None if key is None else [option.key for option in options].index(key)

    async def ask_text(self, label: str, text: str = "") -> str | None:
        return self._picks.pop(0)

    async def ask_secret(self, label: str) -> str | None:
        return self._picks.pop(0)

    async def open_editor(self, environ: Mapping[str, str], path: Path, line: int) -> None:
        self.edited.append((path, line))

    async def wait_for_background(self) -> None:
        self.waited_for_background += 1

    async def type(self, line: str) -> str:
        """Run `/name arguments` and return what it printed."""
        name, _, args = line.removeprefix("/").partition(" ")
        found = self.table.find(name)
        assert found is not None, name
        before = len(self.paper.getvalue())
        await found.run(self, args.strip())
        return self.paper.getvalue()[before:]
