"""The types that a tool is made of: an async function with pydantic parameters and a description in a .md file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pathspec import GitIgnoreSpec
from pydantic import BaseModel, ConfigDict

from swecli.config.trust import Skill
from swecli.models.errors import BadInput
from swecli.models.message import (
    MODES,
    Display,
    Effects,
    Mode,
    Offer,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from swecli.tools.jobs import Jobs
from swecli.tools.limits import HeadTail

if TYPE_CHECKING:
    from swecli.store.session_manager import SessionManager
    from swecli.tools.sandbox import Profile, Sandbox


class Params(BaseModel):
    """Base class of a tool's parameters: unknown names are rejected, instances are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@cache  # pydantic takes milliseconds for each, and every turn needs all of them
def _plain_schema(params: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of `params` in a form that every provider accepts: references resolved, titles and class
    docstrings removed, "X or null" reduced to "X"."""
    schema = params.model_json_schema()
    definitions = schema.pop("$defs", {})
    plain = _plain(schema, definitions)
    return {
        "type": "object",
        "properties": plain.get("properties", {}),
        **plain,
        "additionalProperties": False,
    }


def _plain(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return _plain({k: v for k, v in target.items() if k != "description"}, definitions)
    kept = {
        key: value
        for key, value in node.items()
        if key != "title" and (key, value) != ("default", None)
    }
    if node.get("type") == "object":
        kept.pop("description", None)
    if "properties" in kept:
        kept["properties"] = {
            name: _plain(prop, definitions) for name, prop in kept["properties"].items()
        }
    if isinstance(kept.get("items"), dict):
        kept["items"] = _plain(kept["items"], definitions)
    if options := kept.pop("anyOf", None):
        real = [_plain(option, definitions) for option in options if option.get("type") != "null"]
        kept = kept | (real[0] if len(real) == 1 else {"anyOf": real})
    return kept


class Memory(Protocol):
    def objection(self, text: str, scope: Literal["project", "user"], replaces: str) -> str:
        """Return why the user must be asked before this is remembered, or "". Raises SwecliError."""
        ...

    def remember(
        self,
        text: str,
        quote: str,
        when: str,
        scope: Literal["project", "user"],
        replaces: str,
        *,
        approved: bool,
    ) -> str:
        """Store a statement of the user and return a line about the outcome. Raises SwecliError if it is not stored."""
        ...

    def recall(self, query: str) -> str:
        """Return the strategies that match a query as text, "" for none."""
        ...


class ChangeRecorder(Protocol):
    """Records the files that tool calls change, for undo."""

    def around(self, paths: Sequence[str]) -> AbstractAsyncContextManager[None]:
        """Record what a permitted call changes: of these workspace-relative paths, or of all files that are not ignored
        if there are none. Never raises."""
        ...

    def take_notices(self) -> list[str]:
        """Return, once, the lines for the user about changes that cannot be recorded."""
        ...


_DoTask = Callable[[str, str, Collection[str], "ToolContext"], Awaitable[ToolResult]]


@dataclass(slots=True)
class ToolContext:
    """What a tool may use. Created once per session; each call gets a copy with its own callbacks and `output`."""

    root: Path  # the workspace, which no tool leaves
    sessions: SessionManager | None = None
    report: Callable[[str], None] = lambda text: None  # shows output of the running call
    file_digests: dict[Path, str] = field(
        default_factory=dict
    )  # of files read or written, by resolved path
    todos: list[dict[str, str]] = field(default_factory=list)
    timeout: float = 120.0  # seconds
    environ: Mapping[str, str] | None = (
        None  # for child processes, which get no keys; None: this process's own
    )
    may_read: Callable[[str], bool] = lambda path: (
        True
    )  # whether a workspace-relative path needs no approval
    page_limit: int = 24_000  # characters that a tool returns at once if the model can ask for more
    output: HeadTail | None = None  # collects what the running call prints
    on_start: Callable[[ToolCall, str], None] = lambda call, summary: (
        None
    )  # called when a permitted call begins
    sandbox: Sandbox | None = None  # None: commands run without one
    profile: Profile | None = None  # of the sandbox that the running call's command runs in
    memory: Memory | None = None
    changes: ChangeRecorder | None = None
    jobs: Jobs = field(default_factory=Jobs)
    skills: dict[str, Skill] = field(default_factory=dict)  # by name
    do_task: _DoTask | None = (
        None  # runs a task (title, prompt, tools besides read-only ones) in a child session
    )
    on_usage: Callable[[Usage, float | None], None] = lambda usage, cost: (
        None
    )  # called for requests of tasks, with US $


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """What a call would do. Made before approval, and passed to `run` afterwards."""

    summary: str
    preview: Display = field(default_factory=Display)
    state: Any = None  # for `run`
    session_label: str = ""  # what an approval for the session allows, in words
    session_rule: str = ""  # the permission rule that such an approval adds
    subject: str = (
        ""  # what permission rules are compared with: a workspace-relative path, a command
    )
    guard: str = ""  # why every mode asks; "" if none does
    unattended: ToolPlan | None = None  # what is done if nobody is there to be asked; None: nothing
    outside: str = ""  # why a command is to run outside the sandbox, which every mode asks about
    effects: Effects | None = None  # what the call will do; None: what its kind says


@dataclass(frozen=True)
class PermissionKind:
    """The kind of a permission rule, `run` in `run(git status*)`. Subjects are plain text and patterns those of
    fnmatch; other kinds override the methods. The user is asked `question`, except in the modes `unasked_in`, and in
    those of `unasked_in_sandbox` where there is a sandbox; `reference` is the sentence about that in the
    documentation. `exact_label` is what a question calls one subject that is shown above it; "": by the subject.
    `may_change` is what its calls may change in the workspace: nothing, the file that is their subject,
    or any file. Undo records that, and no more."""

    name: str
    question: str
    reference: str
    unasked_in: frozenset[Mode] = frozenset({"auto"})
    unasked_in_sandbox: frozenset[Mode] = frozenset()
    exact_label: str = ""
    may_change: Literal["nothing", "subject", "any file"] = "nothing"

    @property
    def is_read_only(self) -> bool:
        """Whether no mode asks for it."""
        return self.unasked_in >= set(MODES)

    def effects_of(self, plan: ToolPlan) -> Effects:
        """Return what a planned call of this kind will do: what the plan says, or else that it changes its subject if
        the kind may."""
        if plan.effects is not None:
            return plan.effects
        changes_subject = self.may_change == "subject" and plan.subject != ""
        return Effects(changed=(plan.subject,)) if changes_subject else Effects()

    def objection(self, patterns: Sequence[str], subject: str, ctx: ToolContext) -> str | None:
        """Return None if patterns of allow rules let the call run without approval, otherwise the reason, which may be
        ""."""
        return None if any(self.touches(pattern, subject) for pattern in patterns) else ""

    def touches(self, pattern: str, subject: str) -> bool:
        """Return whether a deny or ask rule with this pattern applies; matches too much rather than too little."""
        return fnmatchcase(subject, pattern)

    def exact(self, pattern: str, subject: str) -> bool:
        """Return whether the pattern matches this subject and no other."""
        return pattern == self.escape(subject)

    def escape(self, subject: str) -> str:
        """Return the pattern that matches only this subject."""
        return re.sub(r"[*?\[]", r"[\g<0>]", subject)

    def suggest(self, subject: str, ctx: ToolContext) -> str:
        """Return the pattern that "don't ask again" offers for similar subjects; "" to offer this subject only."""
        return ""


class _ByPath(PermissionKind):
    """Subjects are workspace-relative paths, patterns those of .gitignore."""

    def touches(self, pattern: str, subject: str) -> bool:
        if self.exact(pattern, subject):
            return True
        try:
            return GitIgnoreSpec.from_lines([pattern]).match_file(subject)
        except ValueError:  # an invalid pattern matches only itself
            return False

    def exact(self, pattern: str, subject: str) -> bool:
        return pattern in (subject, self.escape(subject))

    def escape(self, subject: str) -> str:
        return "/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", subject)


READ = _ByPath("read", "Allow this?", "runs without approval", frozenset(MODES))
EDIT = _ByPath(
    "edit",
    "Make this change?",
    "asks before it changes a file",
    frozenset({"edits", "auto"}),
    may_change="subject",
)


class ToolError(BadInput):
    """An error whose message the model reads."""


_Run = Callable[[Any, ToolContext, ToolPlan], Awaitable[ToolResult]]
_MakePlan = Callable[[Any, ToolContext], ToolPlan]


@dataclass(frozen=True, slots=True)
class Tool:
    """A declared tool. `plan` is called before approval and may raise ToolError; `run` gets its result."""

    name: str
    description: str
    params: type[BaseModel]
    kind: PermissionKind
    run: _Run
    plan: _MakePlan
    offer: Offer = Offer()

    def spec(self) -> ToolSpec:
        """Return the specification that is sent to the model, the same bytes in every run."""
        return ToolSpec(self.name, self.description, _plain_schema(self.params), self.offer)


def tool(
    kind: PermissionKind, params: type[BaseModel], plan: _MakePlan, offer: Offer | None = None
) -> Callable[[_Run], Tool]:
    """Return a decorator that makes a function a `Tool`, named like it without a leading underscore and described by
    the .md file of that name."""

    def declare(run: _Run) -> Tool:
        name = run.__name__.removeprefix("_")
        text = (
            Path(inspect.getfile(run)).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
        )
        return Tool(name, text, params, kind, run, plan, offer or Offer())

    return declare
