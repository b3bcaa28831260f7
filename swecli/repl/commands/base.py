"""What a slash command is: an async function with a name, a line of help, and a context to work with."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from swecli.repl.background import Background
from swecli.repl.input.question import Asker, Option

if TYPE_CHECKING:  # commands are declared before these are loaded, so that the prompt can complete their names
    from swecli.app import Runtime
    from swecli.models.events import Event
    from swecli.repl.render.renderer import Renderer
    from swecli.repl.render.screen import Screen


class Program(Protocol):
    """What a command may ask of the running program."""

    def leave(self, code: int = 0) -> None:
        """Leave after this command."""

    def steer(self, text: str) -> None:
        """Put a line into the running turn; without one it is the next line."""


@dataclass
class CommandContext:
    """What a command works with."""

    runtime: Runtime
    commands: Sequence[Command]
    renderer: Renderer
    program: Program
    asker: Asker
    background: Background

    @property
    def screen(self) -> Screen:
        """Where a command prints."""
        return self.renderer.screen

    def show(self, event: Event) -> None:
        """Draw an event as in a turn."""
        self.renderer.show(event)

    async def pick(self, title: str, options: Sequence[tuple[str, str]]) -> str | None:
        """Let the user choose among (value, label) pairs; the value, or None."""
        if not options:
            return None
        marks = [str(n + 1) for n in range(len(options))] if len(options) <= 9 else [""] * len(options)
        labelled = [Option(label, mark) for (_, label), mark in zip(options, marks, strict=True)]
        index = await self.asker.choose(title, labelled)
        return None if index is None else options[index][0]

    async def settle(self) -> None:
        """Wait until what was learned from earlier turns is stored: before the session changes."""
        if self.background.busy:
            self.screen.note("finishing background learning first (Esc to cancel)")
            await self.background.settle()


_GAP = 3
Run = Callable[[CommandContext, str], Awaitable[None]]
Values = Sequence[tuple[str, str]]
_Complete = Callable[["Runtime"], Values]


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command. `usage` shows its arguments; `complete` gives the (value, what it is) pairs of the first one.

    `run` raises SwecliError for what the user can put right. `beside` names the first words of arguments with which it
    may run while a turn does, as it may without any ("*": with all; "": it waits for the turn).
    """

    name: str
    aliases: tuple[str, ...]
    usage: str
    help: str
    run: Run
    complete: _Complete | None = None
    beside: str = ""

    def at_once(self, args: str) -> bool:
        """Whether it may run while a turn does: with these arguments it does not touch what the turn uses."""
        words = args.split()
        return self.beside == "*" or (bool(self.beside) and (not words or words[0] in self.beside.split()))


def command(
    name: str | None = None,
    *,
    aliases: Sequence[str] = (),
    usage: str = "",
    complete: _Complete | None = None,
    beside: str = "",
) -> Callable[[Run], Command]:
    """Declare a command: an `async def (ctx, args)`; its docstring's first line is the help."""

    def declare(run: Run) -> Command:
        lines = (inspect.getdoc(run) or "").splitlines()
        called = name or run.__name__
        return Command(called, tuple(aliases), usage, lines[0] if lines else "", run, complete, beside)

    return declare


def show_pairs(screen: Screen, pairs: Sequence[tuple[str, str]]) -> None:
    """Print the pairs, long values folded under themselves; on a narrow screen, under their name."""
    left = max(len(name) for name, _ in pairs) + _GAP
    if left > screen.width // 2:
        left = _GAP
    for name, value in pairs:
        first = name.ljust(left) if len(name) < left else f"{name}  "
        lines = textwrap.wrap(value, max(20, screen.width - 1), initial_indent=first, subsequent_indent=" " * left)
        screen.line("\n".join(lines) or name)
