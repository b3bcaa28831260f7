"""What crosses the tools' boundary: specifications, results with two faces, and the one question that goes up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from swecli.models.message import ToolCall

DisplayKind = Literal["text", "diff", "code", "table"]
Permission = Literal["allow", "edit", "run"]
Mode = Literal["ask", "edits", "plan", "auto"]
MODES: tuple[Mode, ...] = ("ask", "edits", "plan", "auto")


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the model is told of a tool. `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: dict[str, Any]

    def to_api(self) -> dict[str, Any]:
        """The OpenAI function shape, which litellm takes for every provider."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Display:
    """The face of a result that is for the eye: plain data, drawn by whoever shows it. Never markup."""

    title: str = ""
    body: str = ""
    kind: DisplayKind = "text"
    language: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The outcome of one call. `for_model` is the whole text; what is too long is capped later, on arrival."""

    ok: bool
    for_model: str
    for_user: Display = field(default_factory=Display)
    exit_code: int | None = None
    cancelled: bool = False
    denied: bool = False


@dataclass(frozen=True, slots=True)
class AskRequest:
    """The question that goes up: may this call run?

    `summary` is one line ("Edit src/app.py", "Run pytest -q"); `preview` shows all of what would happen;
    `session_label` says what a longer yes would cover; `session_rule` is that rule. `project_file` is the file in which
    a yes for the project is saved ("": none is offered). `why` says, where it is not empty, what made this a question
    although the mode would have let it run.
    """

    call: ToolCall
    permission: Permission
    summary: str
    preview: Display
    session_label: str = ""
    session_rule: str = ""
    why: str = ""
    project_file: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer. `scope` "session" also allows what `AskRequest.session_rule` names, until the program ends; "project"
    also saves that rule in `AskRequest.project_file`."""

    allow: bool
    scope: Literal["once", "session", "project"] = "once"
    reason: str = ""
    by: Literal["user", "rule", "mode", "session", "headless"] = "user"


Ask = Callable[[AskRequest], Awaitable[Decision]]
