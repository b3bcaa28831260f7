"""What the actions on the playbook work with: the context of one, files, and deltas as short lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.models.action import Invocation
from swecli.models.doubts import Doubt
from swecli.models.errors import BadInput, UsageError
from swecli.models.playbook import MARKS, AppliedDelta, Bullet, Delta, Op
from swecli.models.session import Session
from swecli.text import shorten
from swecli.values import dataclass

if TYPE_CHECKING:  # the prompt completes the actions' names before the database is loaded
    from swecli.models.action import Invocation
    from swecli.store.session_manager import SessionManager

_MAX_CONTENT = 90  # characters of a strategy in a line about a change
_MAX_BYTES = 20_000_000
_MAX_SESSIONS = 200  # among which a title is looked up
_MAX_TITLE = 40  # characters of a title
_SESSION = 13  # characters that identify a session
_MAX_NAMED = 8  # operations of a delta that are named one by one
_HOW_TO_RESTORE = "playbook undo restores it"
_CLAUSES = {
    "REMOVE": "removed",
    "PIN": "pinned",
    "QUARANTINE": "put into quarantine",
    "RESTORE": "active again",
}


@dataclass(frozen=True, slots=True)
class ActionContext:
    """One session's playbook and its store, and what the user wrote."""

    sessions: SessionManager
    session: Session
    invocation: Invocation

    @classmethod
    def of(cls, sessions: SessionManager, invocation: Invocation) -> ActionContext:
        """Return the context of the current session, with its playbook as it is stored now."""
        session = sessions.session
        sessions.playbook.refresh(session)
        return cls(sessions, session, invocation)

    @property
    def command(self) -> str:
        """The prefix of an action in hints: `/playbook`."""
        return f"{self.invocation.prefix}playbook"

    def find(self, ref: str, *, include_deleted: bool = False) -> Bullet:
        """Resolve `P-7`, `p7` or `7`. Raises BadInput."""
        return self.sessions.playbook.find(ref, self.session, include_deleted=include_deleted)

    def bullets(self) -> list[Bullet]:
        """Return the session's strategies in order of their numbers, without removed ones."""
        return sorted(self.session.playbook.bullets.values(), key=lambda bullet: bullet.number)

    def session_name(self, session_id: str) -> str:
        """Return the title of another session in quotes, or the beginning of its id."""
        newest = self.sessions.catalog.list_sessions(None, _MAX_SESSIONS)
        title = next((info.shown_title for info in newest if info.id == session_id), "")
        return f'"{shorten(title, _MAX_TITLE)}"' if title else session_id[:_SESSION]

    def apply(self, delta: Delta) -> AppliedDelta:
        return self.sessions.playbook.apply(delta, self.session)

    def usage_error(self, problem: str, usage: str) -> UsageError:
        return UsageError(problem, f"Use {self.command} {usage}")


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
    if op.op == "ADD":
        content = shorten(str(op.fields.get("content", "")), _MAX_CONTENT)
        label = f" ({name})" if name else ""
        if op.fields.get("state") == "quarantined":
            reason = op.doubt.describe(op.fields.get("scope", ""), op.fields.get("replaces", ()))
            return f"? {content} (needs your approval{reason and f': {reason}'}){label}"
        return f"+ {content}{label}"
    label = f"{name} " if name else ""
    return label + (_format_update(op) if op.op == "UPDATE" else _CLAUSES[op.op])


def _format_update(op: Op) -> str:
    if op.doubt is Doubt.TAKEN_BACK:
        return f"waits for your yes: {op.doubt.describe()}"
    if content := op.fields.get("content"):
        return f"now: {shorten(str(content), _MAX_CONTENT)}"
    if op.fields.get("state") == "unconfirmed":
        return "unconfirmed: seen in a second exchange"
    if op.fields.get("state") == "active":
        return "active: you said so" if op.in_users_words else "active: it helped"
    if op.fields.get("state") == "disabled":
        return "switched off" if op.in_users_words else f"retired ({_HOW_TO_RESTORE})"
    changes = [
        f"{key} → {value}" for key, value in op.fields.items() if key in ("scope", "state", "when")
    ]
    return ", ".join(changes) or "confirmed again"


def summarize(applied: AppliedDelta) -> str:
    """Summarize a delta in one line: its operations, the number of verdicts, and refused proposals."""
    delta = applied.delta
    parts = [f"{delta.reason} T{delta.interaction}"] if delta.reason in MARKS else []
    if len(delta.ops) > _MAX_NAMED:
        counts = Counter(op.op.lower() for op in delta.ops)
        parts += [f"{name} {count}" for name, count in counts.items()]
    else:
        parts += [format_op(op, name) for name, op in applied.ops_by_id()]
    if applied.verdicts:
        tags = Counter(sorted(tag for _, tag in applied.verdicts))
        parts.append("evidence: " + ", ".join(f"{count} {tag}" for tag, count in tags.items()))
    parts += [f"not applied: {line}" for line in delta.refused]
    return "; ".join(parts) or "nothing"
