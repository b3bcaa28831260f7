"""The slash commands of a session in an editor: the declared actions, and the templates of the project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from acp.schema import AvailableCommand, AvailableCommandInput, UnstructuredCommandInput

from swecli.acp.editor import Editor
from swecli.acp.questions import confirm
from swecli.acp.turn_view import TurnView
from swecli.actions.in_session import find_session_actions, perform
from swecli.actions.project_commands import ProjectCommand, find_project_commands
from swecli.config.trust import FolderTrust
from swecli.models.action import Action, ActionResult, Face, Family
from swecli.models.errors import SwecliError, UsageError
from swecli.models.events import Event
from swecli.similar_names import similar_names
from swecli.text import sanitize

_Command = Action | Family | ProjectCommand


class EditorFace(Face):
    """An editor: what an action shows becomes messages, and its user is asked as about a call."""

    can_ask = True

    def __init__(self, view: TurnView) -> None:
        self._view = view

    @property
    def _editor(self) -> Editor:
        return self._view.editor

    def show(self, event: Event) -> None:
        self._view.remark(event)

    def note(self, text: str) -> None:
        self._editor.note(text)

    def warn(self, text: str) -> None:
        self._editor.warn(text)

    def complain(self, error: SwecliError) -> None:
        self._editor.warn(str(error))

    async def confirm(self, question: str, yes: str = "yes", no: str = "no") -> bool:
        return await confirm(self._editor, question, yes, no)


@dataclass(frozen=True, slots=True)
class EditorCommands:
    """The commands by name. Those that need a screen are not among them."""

    by_name: Mapping[str, _Command]

    @classmethod
    def find(cls, trust: FolderTrust) -> EditorCommands:
        """Return the commands of a session in a project."""
        by_name: dict[str, _Command] = {}
        for declared in find_session_actions():
            if _is_for_screens_only(declared):
                continue
            by_name[declared.name] = declared
        for template in find_project_commands(trust):
            by_name.setdefault(template.name, template)
        return cls(by_name)

    def describe(self) -> list[AvailableCommand]:
        """Return the commands as the editor lists them."""
        return [_describe(name, command) for name, command in sorted(self.by_name.items())]

    def get(self, name: str) -> _Command:
        """Return a command. Raises UsageError, so that a mistyped one is not sent to the model."""
        command = self.by_name.get(name.lower())
        if command is not None:
            return command
        similar = [f"/{each}" for each in similar_names(name.lower(), [*self.by_name])]
        hint = f"Did you mean {' or '.join(similar)}?" if similar else "More are in the terminal."
        raise UsageError(f"Unknown command /{name}.", hint)


async def perform_command(
    view: TurnView, declared: Action | Family, args: str, face: Face
) -> ActionResult:
    """Perform an action with the rest of its line. Raises SwecliError."""
    action, line, name = (
        declared.read(args) if isinstance(declared, Family) else (declared, args, "")
    )
    if _is_for_screens_only(action):
        raise UsageError(
            f"/{declared.name} {action.name} needs a terminal.", "Start swecli in one."
        )
    return await perform(view.runtime, action, line, name, face)


def to_markdown(result: ActionResult) -> str:
    """Return a result as the editor shows it."""
    parts: list[str] = []
    if result.rows:
        parts.append(_table(result.head, result.rows))
    texts = [*result.lines, *result.note.splitlines()]
    texts += [line for line in (event.describe() for event in result.events) if line]
    if texts:
        parts.append("  \n".join(_escape(text) for text in texts))
    return "\n\n".join(parts) + "\n"


def _is_for_screens_only(declared: Action | Family) -> bool:
    """Return whether only a terminal has a form of an action: it is declared without a function."""
    return isinstance(declared, Action) and declared.run is ActionResult


def _describe(name: str, command: _Command) -> AvailableCommand:
    hint = ""
    match command:
        case Family():
            offered = [each for each in command.in_session if not _is_for_screens_only(each)]
            hint = "|".join(action.name for action in offered)
        case Action():
            hint = command.usage
        case ProjectCommand():
            hint = command.hint
    given = AvailableCommandInput(UnstructuredCommandInput(hint=hint)) if hint else None
    return AvailableCommand(name=name, description=sanitize(command.help), input=given)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_escape(cell) for cell in line)} |" for line in lines)


def _escape(text: str) -> str:
    """Return a text as it reads in Markdown, on one line."""
    line = " ".join(sanitize(text).split())
    for sign in ("\\", "|", "*", "_", "<", "`"):
        line = line.replace(sign, f"\\{sign}")
    return line
