"""The slash commands of a session in an editor: the declared actions, and the templates of the project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acp.helpers import tool_diff_content
from acp.schema import AvailableCommand, AvailableCommandInput, UnstructuredCommandInput

from swecli.acp.editor import Editor
from swecli.acp.questions import confirm
from swecli.acp.turn_view import TurnView
from swecli.actions.builtin.trust import give, trust
from swecli.actions.in_session import find_session_actions, perform
from swecli.actions.project_commands import (
    ProjectCommand,
    find_plugin_commands,
    find_project_commands,
)
from swecli.actions.trusting import TrustQuestion
from swecli.config.paths import Paths
from swecli.config.trust import FolderTrust
from swecli.models.action import Action, ActionResult, Face, Family
from swecli.models.errors import StoreError, SwecliError, UsageError
from swecli.models.events import Event
from swecli.similar_names import similar_names
from swecli.text import fence, sanitize
from swecli.values import dataclass

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
    def find(cls, trust: FolderTrust, paths: Paths) -> EditorCommands:
        """Return the commands of a session in a project, and of the plug-ins of these directories."""
        by_name: dict[str, _Command] = {}
        for declared in find_session_actions():
            if not _is_for_screens_only(declared):
                by_name[declared.name] = declared
        for plugin, template in find_plugin_commands(paths):
            is_taken = template.name in by_name
            by_name[f"{plugin}:{template.name}" if is_taken else template.name] = template
        for template in find_project_commands(trust):
            by_name.setdefault(template.name, template)
        return cls(by_name)

    def describe(self) -> list[AvailableCommand]:
        """Return the commands as the editor lists them."""
        return [_describe(name, command) for name, command in sorted(self.by_name.items())]

    def get(self, name: str) -> _Command:
        """Return a command. Raises UsageError, so that a mistyped one is not sent to the model."""
        lower_name = name.lower()
        command = self.by_name.get(lower_name)
        if command is not None:
            return command
        for command in self.by_name.values():
            if not isinstance(command, ProjectCommand) and lower_name in command.aliases:
                return command
        similar = [f"/{each}" for each in similar_names(lower_name, [*self.by_name])]
        hint = f"Did you mean {' or '.join(similar)}?" if similar else "More are in the terminal."
        raise UsageError(f"Unknown command /{name}.", hint)


async def perform_command(
    view: TurnView, declared: Action | Family, args: str, face: Face
) -> ActionResult:
    """Perform an action with the rest of its line. Raises SwecliError."""
    if declared is trust:
        action, line, name = trust.read(args)
        if action is give:
            give.read(line)  # raises: it takes no words
            return await _ask_for_trust(view)
    action, line, name = (
        declared.read(args) if isinstance(declared, Family) else (declared, args, "")
    )
    if _is_for_screens_only(action):
        raise UsageError(
            f"/{declared.name} {action.name} needs a terminal.", "Start swecli in one."
        )
    return await perform(view.runtime, action, line, name, face)


async def _ask_for_trust(view: TurnView) -> ActionResult:
    """Show the project's files, as differences from what was trusted, and use them if the user agrees."""
    question = TrustQuestion.about(view.runtime.start)
    if question.settled:
        return ActionResult(None, (question.settled,))
    files = [
        tool_diff_content(str(path), data.decode("utf-8", "replace"), question.text_before(path))
        for path, data in question.pending.items()
    ]
    if not await confirm(view.editor, question.text, "Yes", "No", files):
        return ActionResult(None, ("nothing was changed",))
    try:
        notices = view.runtime.trust_files(question.files)
    except OSError as error:
        raise StoreError(f"The trust cannot be recorded: {error.strerror}.") from error
    return ActionResult(None, (*question.agreed, *notices))


def to_markdown(result: ActionResult) -> str:
    """Return a result as the editor shows it."""
    parts: list[str] = []
    if result.rows:
        parts.append(_table(result.head, result.rows))
    if len(result.lines) == 1:
        parts.append(_escape(result.lines[0]))
    elif result.lines:  # which stand below one another, as in a terminal
        parts.append(fence(sanitize("\n".join(result.lines))))
    parts += [_escape(line) for line in result.note.splitlines()]
    parts += [_escape(line) for line in (event.describe() for event in result.events) if line]
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
    command_input = AvailableCommandInput(UnstructuredCommandInput(hint=hint)) if hint else None
    return AvailableCommand(name=name, description=sanitize(command.help), input=command_input)


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
