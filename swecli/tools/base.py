"""What a tool is: an async function with pydantic parameters, declared in a file with its .md beside it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

from pathspec import GitIgnoreSpec
from pydantic import BaseModel, ConfigDict

from swecli.models.errors import BadInput
from swecli.models.message import MODES, Display, Mode, ToolCall, ToolResult, ToolSpec, Usage
from swecli.store.records import FoundInteraction
from swecli.tools.jobs import Jobs
from swecli.tools.limits import HeadTail


class Params(BaseModel):
    """Base of every tool's parameters: unknown names are refused, values do not change after they are checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@cache  # pydantic takes milliseconds for each, and every turn asks for all of them
def _plain_schema(params: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of `params`, in the plainest form every provider takes: references written out, titles and class
    docstrings left out, and "this or null" as "this"."""
    schema = params.model_json_schema()
    definitions = schema.pop("$defs", {})
    plain = _plain(schema, definitions)
    return {"type": "object", "properties": plain.get("properties", {}), **plain, "additionalProperties": False}


def _plain(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        return _plain({k: v for k, v in target.items() if k != "description"}, definitions)
    kept = {key: value for key, value in node.items() if key != "title" and (key, value) != ("default", None)}
    if node.get("type") == "object":
        kept.pop("description", None)
    if "properties" in kept:
        kept["properties"] = {name: _plain(prop, definitions) for name, prop in kept["properties"].items()}
    if isinstance(kept.get("items"), dict):
        kept["items"] = _plain(kept["items"], definitions)
    if options := kept.pop("anyOf", None):
        real = [_plain(option, definitions) for option in options if option.get("type") != "null"]
        kept = kept | (real[0] if len(real) == 1 else {"anyOf": real})
    return kept


class _SessionReader(Protocol):
    def read_result(self, call_id: str) -> str | None: ...

    def search_earlier(self, query: str) -> Sequence[FoundInteraction]:
        """The turns before this one that have words of a query, best first."""
        ...


class _Memory(Protocol):
    def remember(self, text: str, quote: str, when: str, scope: Literal["project", "user"], replaces: str) -> str:
        """Keep what the user states; a line on what became of it. Raises SwecliError when nothing did."""
        ...

    def recall(self, query: str) -> str:
        """The strategies that match a query, as text; "" for none."""
        ...


class _Tasks(Protocol):
    """What does a task apart from the conversation."""

    async def do_task(self, title: str, prompt: str, tools: Collection[str], ctx: ToolContext) -> ToolResult:
        """Do it with the tools that only read and those named in `tools`. Raises ToolError when it failed."""
        ...


class Changes(Protocol):
    """What keeps the files that calls change, so that they can be brought back."""

    def around(self, kind: str, subject: str) -> AbstractAsyncContextManager[None]:
        """Keep what a permitted call changes: `kind` and `subject` are those of permission rules. Never raises."""
        ...

    def take_notices(self) -> list[str]:
        """What cannot be kept, for the user, each line once."""
        ...


@dataclass(slots=True)
class ToolContext:
    """What a tool may use, made once per session.

    `root` is the workspace no tool leaves; `report` sends output of a running call to the screen; `seen` maps files
    read or written, by resolved path, to the hash of their bytes then; `timeout` is in seconds; `environ` is what
    started programs get, before keys are taken out (None: this process's own); `may_read` is whether the permission
    rules let a path relative to `root` be read unasked; `page_limit` is how many characters are given at once where a
    tool can be asked to go on; `output` collects what a running call prints; `started` gets a permitted call with its
    summary when it begins; `memory` is the playbook; `changes` keeps the files that calls change (None: nothing does);
    `jobs` are the commands in the background; `skills` maps names to files;
    `tasks` does a task; `spent` gets what its requests took.
    """

    root: Path
    results: _SessionReader | None = None
    report: Callable[[str], None] = lambda text: None
    seen: dict[Path, str] = field(default_factory=dict)
    todos: list[dict[str, str]] = field(default_factory=list)
    timeout: float = 120.0
    environ: Mapping[str, str] | None = None
    may_read: Callable[[str], bool] = lambda path: True
    page_limit: int = 24_000
    output: HeadTail | None = None
    started: Callable[[ToolCall, str], None] = lambda call, summary: None
    memory: _Memory | None = None
    changes: Changes | None = None
    jobs: Jobs = field(default_factory=Jobs)
    skills: dict[str, Path] = field(default_factory=dict)
    tasks: _Tasks | None = None
    spent: Callable[[Usage, float | None], None] = lambda usage, cost: None

    def printed(self) -> str:
        return "" if self.output is None else self.output.text()


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """What a call would do, shown before it is approved and checked again when it runs. `state` is what the tool saw
    (hash of the base, the new bytes). `session_label` and `session_rule` are what a yes for the session covers,
    `subject` is what permission rules are compared with (a path relative to the workspace, a whole command), `guard` is
    why this is asked in every mode ("" where it is not)."""

    summary: str
    preview: Display = field(default_factory=Display)
    state: Any = None
    session_label: str = ""
    session_rule: str = ""
    subject: str = ""
    guard: str = ""


@dataclass(frozen=True)
class PermissionKind:
    """What a permission rule is about: `run(git status*)` has the kind `run`. Subjects are plain text here, patterns
    those of fnmatch; a kind whose subjects are more than text overrides the methods. `question` is put to the user,
    `reference` says in the reference when that happens, and `unasked_in` names the modes in which it does not."""

    name: str
    question: str
    reference: str
    unasked_in: frozenset[Mode] = frozenset({"auto"})

    @property
    def is_read_only(self) -> bool:
        """Whether it is asked in no mode."""
        return self.unasked_in >= set(MODES)

    def objection(self, patterns: Sequence[str], subject: str, ctx: ToolContext) -> str | None:
        """Why it may not run unasked by these patterns of allow rules: None where it may, "" without a reason."""
        return None if any(self.touches(pattern, subject) for pattern in patterns) else ""

    def touches(self, pattern: str, subject: str) -> bool:
        """Whether a deny or ask rule with this pattern is about the subject, read generously."""
        return fnmatchcase(subject, pattern)

    def exact(self, pattern: str, subject: str) -> bool:
        """Whether the pattern names this subject and no other."""
        return pattern == self.escape(subject)

    def escape(self, subject: str) -> str:
        """The pattern that covers this subject alone."""
        return re.sub(r"[*?\[]", r"[\g<0>]", subject)

    def suggest(self, subject: str, ctx: ToolContext) -> str:
        """A pattern for this subject and others like it, offered with "don't ask again"; "" for this one alone."""
        return ""


class _ByPath(PermissionKind):
    """Patterns are those of .gitignore; subjects are paths relative to the workspace."""

    def touches(self, pattern: str, subject: str) -> bool:
        if pattern in ("*", "**", subject, self.escape(subject)):
            return True
        try:
            return GitIgnoreSpec.from_lines([pattern]).match_file(subject)
        except ValueError:  # a pattern that cannot be read covers nothing but itself
            return False

    def exact(self, pattern: str, subject: str) -> bool:
        return pattern in (subject, self.escape(subject))

    def escape(self, subject: str) -> str:
        return "/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", subject)


READ = _ByPath("read", "Allow this?", "runs unasked", frozenset(MODES))
EDIT = _ByPath("edit", "Make this change?", "asks before it changes a file", frozenset({"edits", "auto"}))


class ToolError(BadInput):
    """A failure that the model reads and can act upon."""


Run = Callable[[Any, ToolContext, ToolPlan], Awaitable[ToolResult]]
_MakePlan = Callable[[Any, ToolContext], ToolPlan]


@dataclass(frozen=True, slots=True)
class Tool:
    """A declared tool. `kind` says when somebody is asked. `plan` is called first, before any approval, and may raise
    ToolError; then `run` with that plan."""

    name: str
    description: str
    params: type[BaseModel]
    kind: PermissionKind
    run: Run
    plan: _MakePlan

    def spec(self) -> ToolSpec:
        """What the model reads of it. Stable from run to run, byte for byte."""
        return ToolSpec(self.name, self.description, _plain_schema(self.params))


def tool(kind: PermissionKind, params: type[BaseModel], plan: _MakePlan) -> Callable[[Run], Tool]:
    """Declare a tool: the decorated function becomes a `Tool` named like it, described by the .md beside it."""

    def declare(run: Run) -> Tool:
        name = run.__name__
        text = Path(inspect.getfile(run)).with_name(f"{name}.md").read_text(encoding="utf-8").strip()
        return Tool(name, text, params, kind, run, plan)

    return declare
