"""Our calls in the words of hooks, which are Claude Code's, and what a hook changed in our words again."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from swecli.models.json_value import Json, JsonObject
from swecli.tools.base import Tool, ToolContext, ToolPlan
from swecli.tools.mcp.finding import CALL
from swecli.values import dataclass

_EDIT = "Edit"
_EDITS = "MultiEdit"
_MILLISECONDS = 1000


@dataclass(frozen=True, slots=True)
class HookedCall:
    """A planned call that hooks are asked about, with its arguments in our words."""

    id: str
    tool: Tool
    parameters: JsonObject
    plan: ToolPlan
    ctx: ToolContext

    @property
    def name(self) -> str:
        """The tool's name for hooks."""
        if self.tool.name == "edit_file":
            return _EDIT if len(self.parameters.get("edits", ())) == 1 else _EDITS
        if self.tool.name == CALL:  # of a tool that is offered by its name
            return str(self.parameters.get("name", CALL))
        return _NAMES.get(self.tool.name, self.tool.name)

    @property
    def names(self) -> frozenset[str]:
        """All names by which a matcher may mean it: what is for edits is for several at once, too."""
        more = {_EDIT} if self.name == _EDITS else set()
        return frozenset({self.name, self.tool.name, *more})

    @property
    def input(self) -> JsonObject:
        """Its arguments for hooks."""
        own_parameters = self.parameters
        if self.tool.name == CALL:
            return dict(own_parameters.get("arguments") or {})
        table = _ARGUMENTS.get(self.tool.name, {})
        theirs: JsonObject = {}
        for name, value in own_parameters.items():
            argument = table.get(name)
            if argument is None:
                theirs[name] = value
            else:
                theirs[argument.name] = argument.to_theirs(value, self.ctx.root)
        if self.tool.name == "edit_file":
            edits = [_edit_to_theirs(edit) for edit in own_parameters.get("edits", ())]
            theirs |= edits[0] if len(edits) == 1 else {"edits": edits}
            if len(edits) == 1:
                del theirs["edits"]
        return theirs

    def with_changes(self, theirs: Mapping[str, Json]) -> JsonObject:
        """Return our arguments after a hook has changed its input to `theirs`; what that does not name is as it was."""
        if self.tool.name == CALL:
            return {**self.parameters, "arguments": dict(theirs)}
        by_name = {
            argument.name: (name, argument)
            for name, argument in _ARGUMENTS.get(self.tool.name, {}).items()
        }
        own_parameters: JsonObject = {}
        for name, value in theirs.items():
            if name in by_name:
                our_name, argument = by_name[name]
                own_parameters[our_name] = argument.to_ours(value, self.ctx.root)
            elif name in self.tool.params.model_fields or name in self.parameters:
                own_parameters[name] = value
        if self.tool.name == "edit_file":
            edits = theirs.get("edits") if self.name == _EDITS else [theirs]
            own_parameters["edits"] = (
                [_edit_to_ours(edit) for edit in edits] if isinstance(edits, list) else edits
            )
        return {**self.parameters, **own_parameters}


Conversion = Callable[[Json, Path], Json]


def _same(value: Json, root: Path) -> Json:
    return value


def _absolute(value: Json, root: Path) -> Json:
    return os.path.normpath(root / value) if isinstance(value, str) else value


def _relative(value: Json, root: Path) -> Json:
    """Return a path as our tools take it: relative to the workspace if it lies there."""
    if not isinstance(value, str):
        return value
    path = Path(value)
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else value


def _to_milliseconds(value: Json, root: Path) -> Json:
    return value * _MILLISECONDS if isinstance(value, int) else value


def _to_seconds(value: Json, root: Path) -> Json:
    return max(1, round(value / _MILLISECONDS)) if isinstance(value, int | float) else value


@dataclass(frozen=True, slots=True)
class _Argument:
    """The name of an argument for hooks, and how its value is converted."""

    name: str
    to_theirs: Conversion = _same
    to_ours: Conversion = _same


_FILE = _Argument("file_path", _absolute, _relative)
_FOLDER = _Argument("path", _absolute, _relative)

_NAMES = {
    "run_command": "Bash",
    "read_file": "Read",
    "write_file": "Write",
    "search_files": "Grep",
    "list_files": "Glob",
    "fetch": "WebFetch",
    "web_search": "WebSearch",
    "task": "Task",
    "todo": "TodoWrite",
    "ask_user": "AskUserQuestion",
    "present_plan": "ExitPlanMode",
    "skill": "Skill",
}
_ARGUMENTS: Mapping[str, Mapping[str, _Argument]] = {
    "run_command": {
        "timeout": _Argument("timeout", _to_milliseconds, _to_seconds),
        "background": _Argument("run_in_background"),
        "why": _Argument("description"),
    },
    "read_file": {"path": _FILE},
    "write_file": {"path": _FILE},
    "edit_file": {"path": _FILE},
    "search_files": {"path": _FOLDER, "ignore_case": _Argument("-i")},
    "list_files": {"path": _FOLDER},
    "task": {"title": _Argument("description")},
    "todo": {"items": _Argument("todos")},
    "skill": {"name": _Argument("skill")},
}
_OF_EDIT = {"old_text": "old_string", "new_text": "new_string", "replace_all": "replace_all"}


def _edit_to_theirs(edit: Json) -> Json:
    if not isinstance(edit, dict):
        return edit
    return {_OF_EDIT.get(name, name): value for name, value in edit.items()}


def _edit_to_ours(edit: Json) -> Json:
    if not isinstance(edit, dict):
        return edit
    return {own_name: edit[theirs] for own_name, theirs in _OF_EDIT.items() if theirs in edit}
