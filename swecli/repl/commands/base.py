"""What a slash command is: an async function with a name, a line of help, and a context to work with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from swecli.repl.background import Background
from swecli.repl.input.question import Asker, Option
from swecli.repl.program import Program

if TYPE_CHECKING:  # commands are declared before these are loaded, so that the prompt can complete their names
    from swecli.app import Runtime
    from swecli.playbook.action import ActionResult
    from swecli.repl.render.renderer import Renderer
    from swecli.repl.render.screen import Screen


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

    async def pick(
        self, title: str, options: Sequence[tuple[str, str]], details: Sequence[Sequence[str]] = ()
    ) -> str | None:
        """Let the user choose among (value, label) pairs, by search where each has lines of detail; the value, or
        None."""
        marked = not details and len(options) <= 9
        labelled = [Option(label, str(n) if marked else "") for n, (_, label) in enumerate(options, 1)]
        index = await self.asker.choose(title, labelled, details)
        return None if index is None else options[index][0]

    def report(self, result: ActionResult) -> None:
        """Print an answer: a table, then lines, the first of which stands out where there are more."""
        if result.rows and _too_wide(result, self.screen.width):
            for row in result.rows:
                self.screen.line(f"{row[0]}  {row[-1]}", "head")
                self.screen.note(" · ".join(f"{result.head[at]} {row[at]}" for at in range(1, len(row) - 1)))
        elif result.rows:
            self.screen.table(result.head, result.rows)
        if len(result.lines) == 1 and not result.rows:
            self.screen.note(result.lines[0])
        else:
            for at, line in enumerate(result.lines):
                if line.startswith("  "):
                    self.screen.detail(line.strip())
                else:
                    self.screen.line(line, "" if at or result.rows else "head")
        if result.note:
            self.screen.note(result.note)

    async def wait_for_background(self) -> None:
        """Wait until what was learned from earlier turns is stored: before the session changes."""
        if self.background.busy:
            self.screen.note("finishing background learning first (Esc to cancel)")
            await self.background.drain()


Run = Callable[[CommandContext, str], Awaitable[None]]
Values = Sequence[tuple[str, str]]
_Complete = Callable[["Runtime"], Values]


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command. `usage` shows its arguments; `complete` gives the (value, what it is) pairs of the first one.
    `run` raises SwecliError for what the user can put right. `beside` names the first words of arguments with which it
    may run while a turn does, as it may without any ("*": with all; "": it waits for the turn)."""

    name: str
    aliases: tuple[str, ...]
    usage: str
    help: str
    run: Run
    complete: _Complete | None = None
    beside: str = ""

    def can_run_during_turn(self, args: str) -> bool:
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
        help = (run.__doc__ or "").strip().partition("\n")[0]
        return Command(name or run.__name__, tuple(aliases), usage, help, run, complete, beside)

    return declare


_GAP = 3  # columns between those of a table
_READABLE = 24  # columns, at least, for what is longest in a table


def _too_wide(result: ActionResult, width: int) -> bool:
    """Whether a table would leave its last column, the longest, too little to be read in."""
    widths = [max(map(len, column)) for column in zip(result.head, *result.rows, strict=True)]
    longest = widths.pop()
    return width - sum(widths) - _GAP * len(widths) < min(longest, _READABLE)
