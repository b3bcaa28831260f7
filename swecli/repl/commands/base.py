"""Slash commands: an async function with a name and a line of help, which gets a `CommandContext`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from swecli.models.approval import AskRequest, Decision
from swecli.models.errors import UsageError
from swecli.models.mode import Mode
from swecli.repl.background import Background
from swecli.repl.commands.plan_question import PlanQuestion
from swecli.repl.input.question import Option
from swecli.repl.input.user_question import answer_question
from swecli.repl.program import Program
from swecli.repl.render.formatting import escape_invisible
from swecli.text import one_line, short_path
from swecli.values import dataclass

if TYPE_CHECKING:  # the prompt completes the names of commands before these are loaded
    from swecli.app import Runtime
    from swecli.config.trust import FolderTrust
    from swecli.models.action import ActionResult, Values
    from swecli.repl.input.dumb_prompt import DumbPrompt
    from swecli.repl.input.prompt import PromptLine
    from swecli.repl.render.renderer import Renderer
    from swecli.repl.render.screen import Screen


@dataclass
class CommandContext:
    """The components that a command uses."""

    runtime: Runtime
    table: Commands
    renderer: Renderer
    program: Program
    asker: PromptLine | DumbPrompt
    background: Background
    _approving: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def screen(self) -> Screen:
        """Return the screen to print on."""
        return self.renderer.screen

    async def pick(
        self, title: str, options: Sequence[tuple[str, str]], details: Sequence[Sequence[str]] = ()
    ) -> str | None:
        """Let the user choose one of (value, label) pairs, by search if they have lines of `details`. Returns the
        value, or None."""
        has_keys = not details and len(options) <= 9
        choices = [
            Option(label, str(number) if has_keys else "")
            for number, (_, label) in enumerate(options, 1)
        ]
        index = await self.asker.choose(title, choices, details)
        return None if index is None else options[index][0]

    async def confirm(self, title: str, yes: str = "yes", no: str = "no") -> bool:
        """Ask a question of the command itself, which may run beside a turn. No answer is a no."""
        options = [Option(yes, "1", "y"), Option(no, "3", "n")]
        return await self.asker.choose(title, options, guarded=True, escape="for no") == 0

    def report(self, result: ActionResult) -> None:
        """Print a result: the table, then the lines, the first of several as a heading, then the note, then what
        happened."""
        if result.rows and _too_wide(result, self.screen.width):
            for row in result.rows:
                self.screen.line(f"{row[0]}  {row[-1]}", "head")
                between = list(zip(result.head, row, strict=True))[1:-1]
                parts = [f"{name} {value}" for name, value in between if value]
                self.screen.note(" · ".join(parts))
        elif result.rows:
            self.screen.table(result.head, result.rows)
        if len(result.lines) == 1 and not result.rows:
            self.screen.note(result.lines[0])
        else:
            for index, line in enumerate(result.lines):
                if line.startswith("  "):
                    self.screen.detail(line.strip())
                else:
                    self.screen.line(line, "" if index or result.rows else "head")
        for line in result.note.splitlines():
            self.screen.note(line)
        for event in result.events:
            self.renderer.show(event)

    async def approve(self, request: AskRequest) -> Decision:
        """Show a call and ask for approval, one question at a time. No answer, as when the terminal is closed, is a
        no."""
        async with self._approving:
            self.renderer.show_approval(request)
            decision = None
            try:
                decision = await self._ask_decision(request)
            finally:
                self.renderer.show_decision(request, decision)
        return decision

    async def _ask_decision(self, request: AskRequest) -> Decision:
        if request.plan:
            question = PlanQuestion(self.asker, self.renderer, self.runtime.start.environ)
            return await question.ask(request)
        if request.choices is not None:
            return await answer_question(self.asker, request)
        answers = _answers(request)
        title = request.question
        if request.preview.kind == "diff":  # whose head line may have left the screen
            title = f"{title} {one_line(escape_invisible(request.summary))}"
        index = await self.asker.choose(title, [option for _, option in answers], guarded=True)
        answer = "no" if index is None else answers[index][0]
        if answer == "instead":
            reason = await self.asker.ask_text("What to do instead?")
            return Decision(allow=False, reason=reason or "")
        if answer == "no":
            return Decision(allow=False)
        return Decision(allow=True, scope=answer)

    async def wait_for_background(self) -> None:
        """Wait until background learning is stored, and commands beside the line have ended, before a command changes
        the session."""
        if self.background.busy or self.background.runs_commands:
            hint = self.screen.keys.hint("interrupt", "to cancel")
            work = "background learning" if self.background.busy else "what runs beside"
            note = f"finishing {work} first"
            self.screen.note(f"{note} ({hint})" if hint else note)
            await self.background.drain()


def refuse_arguments(name: str, args: str) -> None:
    """Raise UsageError for words behind a command that takes none: they would be lost without a word, as the second
    command of a paste is."""
    if args:
        raise UsageError(f"/{name} takes no arguments, not {args!r:.60}.", "Nothing was run.")


_Answer = Literal["once", "session", "project", "no", "instead"]
_SESSION_MODES: dict[Mode, str] = {
    "edits": "yes, and don't ask again for changes to files, or commands in the sandbox (mode edits)"
}


def _answers(request: AskRequest) -> list[tuple[_Answer, Option]]:
    """Return the possible answers. A number means the same in every question: 3 is always no. One key never approves
    what outlasts the program: a rule of the session is stored with it, one of the project in a file."""
    answers: list[tuple[_Answer, Option]] = [("once", Option("yes", "1", "y"))]
    rules = escape_invisible(", ".join(request.session_rules))
    covered = request.session_label or rules
    if request.session_mode is not None:
        answers.append(("session", Option(_SESSION_MODES[request.session_mode], "2")))
    elif request.session_rules:
        label = f"yes, and don't ask again this session for {covered}"
        question = f"Always allow {rules} in this session, also when it is continued?"
        answers.append(("session", Option(label, "2", confirmation=question)))
    answers.append(("no", Option("no", "3", "n")))
    answers.append(("instead", Option("no, and tell it what to do instead", "4")))
    if request.session_rules and request.project_file:
        file = short_path(Path(request.project_file))
        label = f"yes, always in this project for {covered} (saved in {file})"
        question = f"Always allow {rules} in this project, saved in {file}?"
        answers.append(("project", Option(label, "5", confirmation=question)))
    return answers


class Commands(Protocol):
    """The known commands; those of a project join them once it is trusted."""

    commands: list[Command]

    def add_project(self, trust: FolderTrust) -> None:
        """Add the trusted commands of a project whose names are not used yet."""

    def find(self, name: str) -> Command | None:
        """Return the command with this name or alias."""


Run = Callable[[CommandContext, str], Awaitable[None]]  # with the arguments
Complete = Callable[["Runtime"], "Values"]
CompleteFurther = Callable[["Runtime", str], "Values"]  # from the arguments so far


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command. `usage` shows its arguments; `complete` returns (value, description) pairs for the first one,
    `complete_further` for all together, once a second one is typed. `run` raises SwecliError for problems that the user
    can fix. `concurrent` lists the first arguments with which it may run during a turn, and also allows none ("*": any
    arguments; "": never)."""

    name: str
    aliases: tuple[str, ...]
    usage: str
    help: str
    run: Run
    complete: Complete | None = None
    concurrent: str = ""
    complete_further: CompleteFurther | None = None

    def can_run_during_turn(self, args: str) -> bool:
        """Return whether the command with these arguments may run during a turn."""
        words = args.split()
        if self.concurrent == "*":
            return True
        if not words:
            return bool(self.concurrent)
        return words[0] in self.concurrent.split()


def command(
    *,
    aliases: Sequence[str] = (),
    usage: str = "",
    complete: Complete | None = None,
    complete_further: CompleteFurther | None = None,
    concurrent: str = "",
) -> Callable[[Run], Command]:
    """Return a decorator that makes an `async def (ctx, args)` a command, named like it without a leading underscore,
    and with `-` for any other. The first line of its docstring is the help."""

    def declare(run: Run) -> Command:
        return Command(
            run.__name__.removeprefix("_").replace("_", "-"),
            tuple(aliases),
            usage,
            help=(run.__doc__ or "").strip().partition("\n")[0],
            run=run,
            complete=complete,
            concurrent=concurrent,
            complete_further=complete_further,
        )

    return declare


_COLUMN_GAP = 3  # spaces between the columns of a table
_MIN_WIDTH = 24  # characters of a table's last column


def _too_wide(result: ActionResult, width: int) -> bool:
    """Return whether the last and longest column of the table would be too narrow to read."""
    widths = [max(map(len, column)) for column in zip(result.head, *result.rows, strict=True)]
    longest = widths.pop()
    return width - sum(widths) - _COLUMN_GAP * len(widths) < min(longest, _MIN_WIDTH)
