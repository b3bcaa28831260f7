"""The types that a tool is made of: an async function with parameters and a description in a .md file. Imported with
every turn, so without pydantic."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar

from swecli.config.trust import Skill
from swecli.models.approval import Decision
from swecli.models.changed_files import ChangedFile
from swecli.models.errors import ToolError as ToolError  # where other packages look for it
from swecli.models.json_value import JsonObject
from swecli.models.message import Display, Effects, Offer, ToolCall, ToolResult, ToolSpec, Usage
from swecli.models.mode import MODES, Mode
from swecli.tools import path_rules
from swecli.tools.guard import Guard
from swecli.tools.jobs import Jobs
from swecli.tools.limits import HeadTail
from swecli.values import dataclass

if TYPE_CHECKING:
    from pydantic import BaseModel

    from swecli.store.session_manager import SessionManager
    from swecli.tools.keyboard import Keyboard
    from swecli.tools.sandbox import Profile, Sandbox
    from swecli.tools.search_provider import SearchProvider
    from swecli.tools.user_shell import UserShell


class Memory(Protocol):
    def objection(self, text: str, scope: Literal["", "project", "user"], replaces: str) -> str:
        """Return why the user must be asked before this is remembered, or "". Raises SwecliError."""
        ...

    def remember(
        self,
        text: str,
        quote: str,
        when: str,
        scope: Literal["", "project", "user"],
        replaces: str,
        *,
        paths: Sequence[str],
        approved: bool,
    ) -> str:
        """Store a statement of the user and return a line about the outcome. Raises SwecliError if it is not stored."""
        ...

    def recall(self, query: str) -> str:
        """Return the strategies that match a query as text, "" for none."""
        ...


class ChangeRecorder(Protocol):
    """Records the files that tool calls change, for undo."""

    def around(self, paths: Sequence[str]) -> AbstractAsyncContextManager[list[str]]:
        """Record what a permitted call changes: of these workspace-relative paths, or of all files that are not ignored
        if there are none. The list is filled at the end, with the files that differ. Never raises."""
        ...

    def take_notices(self) -> list[str]:
        """Return, once, the lines for the user about changes that cannot be recorded."""
        ...

    async def changed_files(
        self, session_id: str, number: int, *, is_cancelled: bool
    ) -> list[ChangedFile]:
        """Return the files that differ since the newest turn of a session began; of a cancelled turn without what
        background commands wrote last."""
        ...


# Runs a task: its title, its prompt, the names of tools besides read-only ones, and the context of the caller.
DoTask = Callable[[str, str, Collection[str], "ToolContext"], Awaitable[ToolResult]]


# Asks the user a question with choices, without any for a free text, and says what is done without an answer.
AskUser = Callable[[str, Sequence[str], str], Awaitable[Decision]]


# Asks the user to accept a plan, given as Markdown. The decision's `answer` is the accepted text.
AskPlan = Callable[[str], Awaitable[Decision]]


def lost_workspace(root: Path) -> str:
    """Return the line on a workspace that is gone."""
    return (
        f"The folder {root} was removed or moved while swecli ran: nothing can be done in it."
        " Put it back, or start swecli where it is now."
    )


def _ignore(*_: object) -> None:
    """Take the place of a callback that nobody set."""


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has, if nothing counts them."""
    return len(text) // 4


def _is_allowed(_: str) -> bool:
    return True


def _no_skills() -> Mapping[str, Skill]:
    return {}


@dataclass(slots=True)
class FileAccess:
    """The workspace's files, as calls know them and may use them."""

    # of files read or written, by resolved path
    digests: dict[Path, str] = field(default_factory=dict)
    # of the same files: the encodings that they were found in
    encodings: dict[Path, str] = field(default_factory=dict)
    # says what may be read and changed; None: no rules of the user do
    guard: Guard | None = None
    # records what permitted calls change; None: nothing does
    changes: ChangeRecorder | None = None


@dataclass(slots=True)
class CommandAccess:
    """How child processes run, and what is known of those that ran."""

    # seconds, of a command or a search
    timeout: float = 120.0
    # for child processes, which get no keys; None: this process's own
    environ: Mapping[str, str] | None = None
    # opens the sandbox of the run, which the first command needs; None: commands run without one
    open_sandbox: Callable[[], Sandbox] | None = None
    # of the sandbox that the running call's command runs in; None: it runs in none
    profile: Profile | None = None
    # the paths that the user has allowed the running call's command, which the sandbox would hide or keep as they are
    allowed: tuple[str, ...] = ()
    # what a command line of the user reads keys from; None: nothing, and so do all others
    keyboard: Keyboard | None = None
    # that runs a command line of the user; None: the fixed shell does, as for all others
    user_shell: UserShell | None = None
    jobs: Jobs = field(default_factory=Jobs)
    # the commands that check the project, as configured, and what each said when it first ran
    diagnostics: Sequence[str] = ()
    known_problems: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def sandbox(self) -> Sandbox | None:
        """Return the sandbox of the run, None if commands run without one."""
        return self.open_sandbox() if self.open_sandbox is not None else None


@dataclass(slots=True)
class Questions:
    """The questions that a call may ask the user."""

    # None: nobody can be asked
    ask_user: AskUser | None = None
    # None: the mode is not plan
    ask_plan: AskPlan | None = None
    # those that wait for an answer, of all calls
    open: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ModelAccess:
    """The model that reads the results."""

    # whether a tool of this name is offered to it
    is_offered: Callable[[str], bool] = _is_allowed
    # the tokens of a text, as it counts them
    count_tokens: Callable[[str], int] = estimate_tokens
    # characters that a tool returns at once if the model can ask for more
    page_limit: int = 24_000


@dataclass(slots=True)
class Progress:
    """What a running call tells before its result."""

    # called with its summary when a permitted call begins
    on_start: Callable[[ToolCall, str], None] = _ignore
    # shows output of the running call
    report: Callable[[str], None] = _ignore
    # collects what the running call prints; None: nothing does
    output: HeadTail | None = None
    # called for requests of tasks, with US $
    on_usage: Callable[[Usage, float | None], None] = _ignore


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a call may use. Each part is given by whoever owns it; a call gets its own where only it differs."""

    # the workspace, which no tool leaves without the user's approval
    root: Path
    files: FileAccess = field(default_factory=FileAccess)
    commands: CommandAccess = field(default_factory=CommandAccess)
    questions: Questions = field(default_factory=Questions)
    model: ModelAccess = field(default_factory=ModelAccess)
    progress: Progress = field(default_factory=Progress)
    # the stored conversation; None: there is none
    sessions: SessionManager | None = None
    # opens what was learned; None: nothing is in this run
    open_memory: Callable[[], Memory] | None = None
    # of the model's list
    todos: list[dict[str, str]] = field(default_factory=list)
    # returns those of the project, by name
    skills: Callable[[], Mapping[str, Skill]] = _no_skills
    # the provider of web searches; None: none is configured
    search: SearchProvider | None = None
    # runs a task in a child session; None: there are none in this run
    do_task: DoTask | None = None

    @property
    def guard(self) -> Guard:
        """What says of each path whether it may be read and changed."""
        return self.files.guard or Guard(self.root)


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """What a call would do. Made before approval, and passed to `run` afterwards: what only that needs is a field of a
    subclass of the tool's own."""

    # one line: "Run pytest -q"
    summary: str
    # the complete effect, which the user approves
    preview: Display = field(default_factory=Display)
    # what a lasting approval allows, in words, and the permission rule that it adds
    session_label: str = ""
    session_rule: str = ""
    # what permission rules are compared with: a workspace-relative path, a command, a host
    subject: str = ""
    # why no mode and no answer allows it; "" if nothing forbids it
    forbidden: str = ""
    # why every mode asks; "" if none does
    guard: str = ""
    # the paths that it asks about, where the call is not about one only
    asked_paths: tuple[str, ...] = ()
    # whether the guard is about a place outside the workspace, so that a rule for that place lifts it
    guard_is_for_place: bool = False
    # what is done if nobody is there to be asked; None: nothing
    unattended: Self | None = None
    # whether it runs in the sandbox where nothing can be written, so that no mode asks about it
    reads_only: bool = False
    # why a command is to run outside the sandbox, which every mode asks about
    outside: str = ""
    # what the call will do; None: what its kind says
    effects: Effects | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """Whether a kind and patterns of allow rules let a call run without approval. `reason` says why not, "" if there is
    no more to say than that no rule does."""

    is_covered: bool
    reason: str = ""


COVERED = Coverage(True)


@dataclass(frozen=True)
class PermissionKind:
    """The kind of a permission rule, `run` in `run(git status*)`. Subjects are plain text and patterns those of
    fnmatch; other kinds override the methods."""

    name: str
    # what the user is asked
    question: str
    # the sentence in the documentation about when that is
    reference: str
    # the modes that run every call without asking
    unasked_in: frozenset[Mode] = frozenset({"auto"})
    # and those that do where there is a sandbox
    unasked_in_sandbox: frozenset[Mode] = frozenset()
    # what a question calls one subject that is shown above it; "": by the subject
    exact_label: str = ""
    # what its calls may change in the workspace: nothing, the file that is their subject, or any file. Undo records
    # that, and no more
    may_change: Literal["nothing", "subject", "any file"] = "nothing"

    def __init_subclass__(cls) -> None:
        # its rules would otherwise be passed over in silence
        if hasattr(cls, "objection"):
            raise TypeError(f"{cls.__name__} has to say `coverage` in place of `objection`")

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

    def coverage(self, patterns: Sequence[str], subject: str, ctx: ToolContext) -> Coverage:
        """Return whether patterns of allow rules let a call run without approval; without any, whether it needs
        none."""
        return Coverage(any(self.touches(pattern, subject) for pattern in patterns))

    def touches(self, pattern: str, subject: str) -> bool:
        """Return whether a deny or ask rule with this pattern applies; matches too much rather than too little."""
        return fnmatchcase(subject, pattern)

    def unclear(self, patterns: Sequence[str], subject: str) -> str:
        """Return why it cannot be told whether deny or ask rules with these patterns apply, "" if it can."""
        return ""

    def exact(self, pattern: str, subject: str) -> bool:
        """Return whether the pattern matches this subject and no other."""
        return pattern == self.escape(subject)

    def escape(self, subject: str) -> str:
        """Return the pattern that matches only this subject."""
        return re.sub(r"[*?\[]", r"[\g<0>]", subject)

    def suggest(self, subject: str, ctx: ToolContext) -> Sequence[str]:
        """Return the patterns that "don't ask again" offers for similar subjects; () to offer this subject only."""
        return ()


class _ByPath(PermissionKind):
    """Subjects are paths relative to the workspace, or absolute ones outside it, and patterns those of .gitignore; one
    that begins with `//` is for absolute paths only: `//usr/lib/**`."""

    def coverage(self, patterns: Sequence[str], subject: str, ctx: ToolContext) -> Coverage:
        # what a rule allows inside the workspace it does not allow outside
        is_outside = subject.startswith("/")
        usable = [
            pattern
            for pattern in patterns
            if pattern == "*" or pattern.startswith(path_rules.ABSOLUTE) == is_outside
        ]
        return super().coverage(usable, subject, ctx)

    def touches(self, pattern: str, subject: str) -> bool:
        return path_rules.touches(pattern, subject)

    def exact(self, pattern: str, subject: str) -> bool:
        return path_rules.is_exact(pattern, subject)

    def escape(self, subject: str) -> str:
        return path_rules.escape(subject)


READ = _ByPath("read", "Allow this?", "runs without approval", frozenset(MODES))
EDIT = _ByPath(
    "edit",
    "Make this change?",
    "asks before it changes a file",
    frozenset({"edits", "auto"}),
    may_change="subject",
)


class NeedsMore(Exception):
    """A call could not do its work with what it may do. `params` are the parameters with which it is planned anew, and
    perhaps asked about for this `reason`; `result` is its result if that is refused."""

    def __init__(self, params: BaseModel, reason: str, result: ToolResult) -> None:
        super().__init__(reason)
        self.params = params
        self.reason = reason
        self.result = result


# Of parameters and a plan of their own, which each tool's declaration checks.
Run = Callable[[Any, ToolContext, Any], Awaitable[ToolResult]]
MakePlan = Callable[[Any, ToolContext], ToolPlan]
OwnParams = TypeVar("OwnParams", bound="BaseModel")
OwnPlan = TypeVar("OwnPlan", bound=ToolPlan)


@dataclass(frozen=True, slots=True)
class Tool:
    """A declared tool."""

    name: str
    # for the model
    description: str
    params: type[BaseModel]
    kind: PermissionKind
    # does what was planned; errors are raised as ToolError
    run: Run
    # called before approval; may raise ToolError
    plan: MakePlan
    offer: Offer = Offer()
    # of its parameters; None: what `params` says
    schema: JsonObject | None = None

    def spec(self) -> ToolSpec:
        """Return the specification that is sent to the model, the same bytes in every run."""
        # late: those of the built-in tools are bundled
        from swecli.tools.tool_schema import plain_schema

        schema = plain_schema(self.params) if self.schema is None else self.schema
        return ToolSpec(self.name, self.description, schema, self.offer)


def tool(
    kind: PermissionKind,
    params: type[OwnParams],
    plan: Callable[[OwnParams, ToolContext], OwnPlan],
    offer: Offer | None = None,
) -> Callable[[Callable[[OwnParams, ToolContext, OwnPlan], Awaitable[ToolResult]]], Tool]:
    """Return a decorator that makes a function a `Tool`, named like it without a leading underscore and described by
    the .md file of that name. The function gets what `plan` returned."""

    def declare(run: Callable[[OwnParams, ToolContext, OwnPlan], Awaitable[ToolResult]]) -> Tool:
        name = run.__name__.removeprefix("_")
        file = Path(inspect.getfile(run)).with_name(f"{name}.md")
        description = file.read_text(encoding="utf-8").strip()
        return Tool(name, description, params, kind, run, plan, offer or Offer())

    return declare
