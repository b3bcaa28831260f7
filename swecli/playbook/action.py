"""What every action on the playbook works with, and what it answers: both faces show the same, each in its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swecli.models.errors import UsageError
from swecli.models.playbook import AppliedDelta, Bullet, Delta
from swecli.models.session import Session

if TYPE_CHECKING:  # the prompt completes the actions' names before the database is loaded
    from swecli.playbook.workspace import Workspaces
    from swecli.store.session_manager import SessionManager


@dataclass(frozen=True, slots=True)
class ActionResult:
    """An answer: `value` for programs (plain JSON values), `lines` or a table of `rows` under `head` for people;
    `exact` is a text that a pipe gets letter by letter in the place of lines, `code` a shell's exit code, `questions`
    what there is to decide, one by one, where somebody can be asked."""

    value: Any
    lines: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    exact: str | None = None
    code: int = 0
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """Something that waits for the user: the arguments of `review` for each answer, with what happens then."""

    title: str
    answers: tuple[tuple[str, str], ...]
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ActionContext:
    """One session's playbook with the store behind it. `command` is how the user writes an action: `/playbook`."""

    sessions: SessionManager
    session: Session
    workspaces: Workspaces | None = None
    command: str = "/playbook"

    def find(self, ref: str, *, include_deleted: bool = False) -> Bullet:
        """The strategy that is meant. Raises BadInput."""
        return self.sessions.playbook.find(ref, self.session, include_deleted=include_deleted)

    def bullets(self) -> list[Bullet]:
        """All that apply and are not removed, in order of minting."""
        return sorted(self.session.playbook.bullets.values(), key=lambda b: b.number)

    def apply(self, delta: Delta) -> AppliedDelta:
        """Change the playbook. Raises SwecliError."""
        return self.sessions.playbook.apply(delta, self.session)


@dataclass(frozen=True, slots=True)
class Action:
    """Something the user can do with the playbook. `leading` arguments come before free text (None: there is none);
    `flags` may stand among them, one that ends in `=` takes a value."""

    name: str
    usage: str
    help: str
    leading: int | None = None
    flags: tuple[str, ...] = ()


def usage_error(ctx: ActionContext, problem: str, usage: str) -> UsageError:
    """The error for arguments that are missing or cannot be meant."""
    return UsageError(problem, f"Use {ctx.command} {usage}")


def split_flags(args: Sequence[str], *known: str) -> tuple[set[str], list[str]]:
    """The flags among arguments, and the other words."""
    return {word for word in args if word in known}, [word for word in args if word not in known]


def pop_option(args: list[str], flag: str) -> str:
    """Take a flag with its value, the words up to the next flag, out of arguments; "" where it is not there."""
    if flag not in args:
        return ""
    at = args.index(flag)
    end = next((n for n in range(at + 1, len(args)) if args[n].startswith("--")), len(args))
    value = " ".join(args[at + 1 : end])
    del args[at:end]
    return value


_ACTIONS = (
    Action("list", "[--log [N]] [--verbose] [--export FILE]",
           "all strategies; their changes; all figures; the whole as Markdown",
           flags=("--log", "--verbose", "--export=", "--force")),
    Action("show", "P-7", "one with its evidence, its changes and its prompts"),
    Action("why", "[T7]", "what a prompt got, and what decided"),
    Action("add", "TEXT | --from FILE", "add one for this project, or import an export", 0, ("--from=", "--trust")),
    Action("edit", "P-7 [TEXT] [--pin] [--off] [--on] [--scope project|user] [--when WORDS]",
           "rewrite it, pin it, switch it off or on", 1,
           ("--pin", "--off", "--on", "--scope=", "--when=")),
    Action("remove", "P-7", "forget it"),
    Action("undo", "[N] [--redo]", "undo the last N changes, or redo what was undone", flags=("--redo",)),
    Action("review", "[P-7 use|remove]", "what needs your approval"),
)  # fmt: skip
ACTIONS: dict[str, Action] = {action.name: action for action in _ACTIONS}
