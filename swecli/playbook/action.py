"""The playbook actions and their context, shared by the REPL and the command line, and deltas as short lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.models.doubts import doubt_in
from swecli.models.errors import BadInput, UsageError
from swecli.models.playbook import MARKS, AppliedDelta, Bullet, Delta, Op
from swecli.models.session import Session
from swecli.text import shorten

if TYPE_CHECKING:  # the prompt completes the actions' names before the database is loaded
    from swecli.store.session_manager import SessionManager

_CONTENT = 90
_MAX_BYTES = 20_000_000
_SESSIONS, _TITLE = 200, 40  # sessions among which a title is looked up, characters of it
_SESSION = 13  # characters that identify a session
_MANY = 8  # operations of a delta that are named one by one
_DONE = {
    "REMOVE": "removed",
    "PIN": "pinned",
    "QUARANTINE": "put into quarantine",
    "RESTORE": "active again",
}


@dataclass(frozen=True, slots=True)
class ActionContext:
    """One session's playbook and its store. `command` is the prefix of an action in hints: `/playbook`."""

    sessions: SessionManager
    session: Session
    command: str = "/playbook"
    folder: Path = Path()  # that relative files are in

    def find(self, ref: str, *, include_deleted: bool = False) -> Bullet:
        """Resolve `P-7`, `p7` or `7`. Raises BadInput."""
        return self.sessions.playbook.find(ref, self.session, include_deleted=include_deleted)

    def bullets(self) -> list[Bullet]:
        """Return the session's strategies in order of their numbers, without removed ones."""
        return sorted(self.session.playbook.bullets.values(), key=lambda b: b.number)

    def session_name(self, session_id: str) -> str:
        """Return the title of another session in quotes, or the beginning of its id."""
        found = self.sessions.catalog.list_sessions(None, _SESSIONS)
        title = next((info.shown_title for info in found if info.id == session_id), "")
        return f'"{shorten(title, _TITLE)}"' if title else session_id[:_SESSION]

    def apply(self, delta: Delta) -> AppliedDelta:
        return self.sessions.playbook.apply(delta, self.session)

    def usage_error(self, problem: str, usage: str) -> UsageError:
        return UsageError(problem, f"Use {self.command} {usage}")


@dataclass(frozen=True, slots=True)
class ActionFlag:
    """A flag of an action; `value` names what follows it, "" for nothing."""

    name: str
    help: str
    value: str = ""

    @property
    def usage(self) -> str:
        return f"{self.name} {self.value}".rstrip()


@dataclass(frozen=True, slots=True)
class Action:
    """An action's name, the words it takes ("" for none), its help and flags."""

    name: str
    words: str
    help: str
    flags: tuple[ActionFlag, ...] = ()

    @property
    def usage(self) -> str:
        """Return the words and flags in one line."""
        return " ".join([self.words, *(f"[{flag.usage}]" for flag in self.flags)]).strip()


def split_flags(args: Sequence[str], *known: str) -> tuple[set[str], list[str]]:
    return {word for word in args if word in known}, [word for word in args if word not in known]


def pop_option(args: list[str], flag: str) -> str:
    """Remove an option from `args` and return its value, all words up to the next flag; "" if it is absent."""
    if flag not in args:
        return ""
    at = args.index(flag)
    end = next((n for n in range(at + 1, len(args)) if args[n].startswith("--")), len(args))
    value = " ".join(args[at + 1 : end]).strip("\"'")
    del args[at:end]
    return value


def resolve_file(file: str, folder: Path) -> Path:
    """Expand `~`, else look in `folder`. Raises BadInput for what exists but is not a regular file: opening a pipe may
    block forever."""
    try:
        path = folder / Path(file).expanduser()
        if not path.exists() or path.is_file():
            return path
    except (OSError, RuntimeError) as error:  # the name is too long, or its user is unknown
        raise BadInput(
            f"{file:.60} cannot be opened: {getattr(error, 'strerror', error)}"
        ) from None
    raise BadInput(
        f"{path} is not a regular file.", "Save it to a file first, or name another one."
    )


def read_text_file(path: Path) -> str:
    """Read an exported playbook. Raises BadInput if it is unreadable, too large or not text."""
    try:
        with path.open("rb") as file:
            if len(data := file.read(_MAX_BYTES + 1)) > _MAX_BYTES:
                raise BadInput(
                    f"{path} is too large to be a playbook: over {_MAX_BYTES // 1_000_000} MB."
                )
        return data.decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path} is not UTF-8 text: {error.reason} at byte {error.start}."
        ) from error


def format_op(op: Op, name: str) -> str:
    """Format one operation on the bullet `name` as a clause."""
    label = f"{name} " if name else ""
    if op.op == "ADD":
        content = shorten(str(op.fields.get("content", "")), _CONTENT)
        waits = op.fields.get("state") == "quarantined"
        named = f" ({name})" if name else ""
        return (
            f"? {content} (needs your approval: {_reason_of(op)}){named}"
            if waits
            else f"+ {content}{named}"
        )
    if op.op == "UPDATE":
        return f"{label}{_format_update(op)}"
    return f"{label}{_DONE[op.op]}"


def _format_update(op: Op) -> str:
    if content := op.fields.get("content"):
        return f"now: {shorten(str(content), _CONTENT)}"
    if op.fields.get("state") == "unconfirmed":
        return "unconfirmed: seen in a second exchange"
    if op.fields.get("state") == "active":
        return "active: you said so" if op.in_users_words else "active: it helped"
    named = {key: value for key, value in op.fields.items() if key in ("scope", "state", "when")}
    return ", ".join(f"{key} → {value}" for key, value in named.items()) or "confirmed again"


def _reason_of(op: Op) -> str:
    doubt = doubt_in(op.evidence)
    if doubt is not None:
        return doubt.why
    return shorten(op.evidence[0].quote, 80) if op.evidence else ""


def summarize(applied: AppliedDelta) -> str:
    """Summarize a delta in one line: its operations, the number of verdicts, and refused proposals."""
    delta = applied.delta
    parts = [f"{delta.reason} T{delta.interaction}"] if delta.reason in MARKS else []
    if len(delta.ops) > _MANY:
        parts += [
            f"{name} {count}" for name, count in Counter(op.op.lower() for op in delta.ops).items()
        ]
    else:
        parts += [format_op(op, name) for name, op in applied.ops_by_id()]
    if applied.verdicts:
        counts = Counter(sorted(tag for _, tag in applied.verdicts))
        parts.append("evidence: " + ", ".join(f"{count} {tag}" for tag, count in counts.items()))
    parts += [f"not applied: {line}" for line in delta.refused]
    return "; ".join(parts) or "nothing"


_ACTIONS = (
    Action(
        "list",
        "",
        "list the strategies, those in use first",
        (
            ActionFlag("--log", "list the newest changes instead (a number: how many)"),
            ActionFlag("--verbose", "with how often each was used, and the project's totals"),
            ActionFlag("--export", "write them to a Markdown file (-: print it)", "FILE"),
            ActionFlag("--force", "overwrite that file"),
        ),
    ),
    Action("show", "P-7", "show one with its evidence, its changes and the turns that had it"),
    Action("why", "[T7]", "explain which strategies a turn got"),
    Action(
        "add",
        "[TEXT]",
        "add one for this project, or import an exported playbook",
        (
            ActionFlag("--from", "import this file", "FILE"),
            ActionFlag("--trust", "use what it contains without a review"),
        ),
    ),
    Action(
        "edit",
        "P-7 [TEXT]",
        "change a strategy",
        (
            ActionFlag("--pin", "put it into every prompt"),
            ActionFlag("--off", "keep it, but out of prompts"),
            ActionFlag("--on", "use it again, also one that was removed"),
            ActionFlag("--scope", "where it applies", "project|user"),
            ActionFlag("--when", "more words that bring it into a prompt", "WORDS"),
        ),
    ),
    Action("remove", "P-7", "delete a strategy"),
    Action(
        "undo",
        "[N]",
        "undo the last N changes",
        (ActionFlag("--redo", "redo what was undone instead"),),
    ),
    Action("review", "[P-7 use|remove]", "list suggestions to approve, or decide about one"),
)
ACTIONS: dict[str, Action] = {action.name: action for action in _ACTIONS}
