"""What a slash command is: an async function with a name, a line of help, and a desk to work on."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # commands are declared before these are loaded, so that the prompt can complete their names
    from swecli.app import Runtime
    from swecli.models.events import Event
    from swecli.repl.render.screen import Screen


class CommandContext(Protocol):
    """What a command may use of the program."""

    @property
    def runtime(self) -> Runtime:
        """The store, the agent and the learner."""
        ...

    @property
    def screen(self) -> Screen:
        """Where a command prints."""
        ...

    @property
    def commands(self) -> list[Command]:
        """Every command, for the help."""
        ...

    def leave(self) -> None:
        """Leave the program after this command."""
        ...

    def steer(self, text: str) -> None:
        """Put a line into the running turn; without one it is the next line."""
        ...

    def set_draft(self, text: str) -> None:
        """Put a text into the next prompt, to be edited."""
        ...

    def show(self, event: Event) -> None:
        """Draw an event as in a turn."""
        ...

    async def pick(self, title: str, options: list[tuple[str, str]]) -> str | None:
        """Let the user choose among (value, label) pairs; the value, or None."""
        ...

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something behind the prompt; it is cancelled when the program ends."""
        ...

    async def stop_learning(self) -> bool:
        """Cancel what is being learned; the turns stay in the queue. Whether there was anything."""
        ...

    async def settle(self) -> None:
        """Wait until what was learned from earlier turns is stored: before the session changes."""
        ...


_GAP = 3
Run = Callable[[CommandContext, str], Awaitable[None]]
Values = Sequence[tuple[str, str]]
Complete = Callable[["Runtime"], Values]


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
    complete: Complete | None = None
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
    complete: Complete | None = None,
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
