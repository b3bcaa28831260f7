"""What a turn reads and writes before its first request, without SQLModel: the session as `SessionManager` loads it,
and the message as `SessionWriter.store_query` commits it. Everything unusual is left to them, also to report it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swecli.models.errors import SwecliError
from swecli.models.message import ChatMessage
from swecli.models.playbook import SessionPlaybook, Withdrawn
from swecli.models.session import Session
from swecli.store.reading import Reader, first_query
from swecli.store.sqlite.files import APPLICATION_ID, locate, needs_check, write_lock
from swecli.store.sqlite.search_index import STORED_CODE, refuse_foreign_code

if TYPE_CHECKING:  # most requests hold the whole session
    from swecli.store.records import FoundInteraction

SHAPE = 20  # the schema version that these statements match
_PATIENCE = 0.2  # seconds to wait for another writer
_COUNTS = (
    "SELECT interactions, messages, (SELECT count(*) FROM interaction WHERE session_id = session.id AND"
    " status = 'running') FROM session WHERE id = ?"
)
_CONTINUE = (
    "UPDATE session SET interactions = interactions + 1, messages = messages + 1, updated_at = max(updated_at, ?),"
    " first_query = CASE first_query WHEN '' THEN ? ELSE first_query END WHERE id = ?"
)
_FINDINGS = (
    "SELECT EXISTS (SELECT 1 FROM finding WHERE project = ? AND state IN ('open', 'regressed')"
    " AND path IN (SELECT value FROM json_each(?)))"
)
_CHANGES = (
    "SELECT EXISTS (SELECT 1 FROM delta, json_each(delta.before) AS former"
    " WHERE delta.created_at >= ? AND delta.undone = 0 AND former.type != 'null')"
)
# Defaults of SQLModel, which the columns do not have in SQLite.
_TURN = {
    "status": "running",
    "pending": False,
    "shown": "null",
    "cited": "null",
    "mark": "",
    "why": "",
}
_MESSAGE = {"reasoning": "", "blocks": "null", "images": "null"}


class Unsupported(SwecliError):
    """The message cannot be stored early. Nothing was written."""


# Raised if the database is damaged or in use, too: `open_database` reports that.
FAILURES = (SwecliError, sqlite3.Error, OSError, ValueError, TypeError)


@contextmanager
def open_early(location: str | Path) -> Iterator[EarlyStore]:
    """Open the database for the block. Leave it only when the database is open elsewhere: the last connection to close
    checkpoints the WAL, which takes longer than the write. Raises any of `FAILURES`."""
    path = locate(location)
    if path is None or not path.is_file():
        raise Unsupported("there is no database")
    check = needs_check(path)
    db = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
    try:
        application, shape = (
            db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        if (application, shape) != (APPLICATION_ID, SHAPE):
            raise Unsupported(f"the database has shape {shape}")
        refuse_foreign_code(db.execute(STORED_CODE), path)
        if check and db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise Unsupported("the database is damaged")
        db.execute("BEGIN")  # one snapshot for all reads
        yield EarlyStore(path, Reader(db))
    finally:
        with (
            suppress(SwecliError),
            write_lock(path, _PATIENCE),
        ):  # if another writes, it is not the last
            db.close()


@dataclass(slots=True)
class EarlyStore:
    """The part of `SessionManager` that `RequestBuilder` uses. Each function may raise any of `FAILURES`."""

    path: Path
    reader: Reader
    current_session: Session = field(default_factory=lambda: Session(""))
    _counts: tuple[int, int, int] | None = (
        None  # interactions, messages, running turns; None for a new session
    )

    def start(self, session: Session) -> Session:
        """Use a new session, and load its playbook."""
        self.current_session = session
        bullets = self.reader.bullets(session, session.project or session.working_directory)
        session.update_playbook(SessionPlaybook(bullets, self.reader.playbook_version()))
        return session

    def resume(self, ref: str | None, directory: str) -> Session:
        """Load a stored session as `SessionManager.resume` does. Raises Unsupported if one of its turns is running."""
        session = self.reader.session(self.reader.find_session(ref, directory))
        self._counts = self.reader.db.execute(_COUNTS, (session.id,)).fetchone()
        if self._counts is None or self._counts[2]:
            raise Unsupported("a turn of the session is running")
        return self.start(session)

    @property
    def playbook(self) -> EarlyStore:
        return self

    def refresh(self, session: Session) -> None:
        """Do nothing: the playbook has just been loaded."""

    def withdrawn(self, session: Session) -> list[Withdrawn]:
        """Return []. Raises Unsupported if a strategy was changed since the stored session began."""
        given = (_moment(session.created_at),)
        if self._counts is not None and self.reader.db.execute(_CHANGES, given).fetchone()[0]:
            raise Unsupported("strategies were changed since the session began")
        return []

    def search_session(self, query: str, *, before: int, limit: int) -> list[FoundInteraction]:
        """Search earlier interactions; see `SessionManager.search_session`."""
        # late: most requests hold the whole session
        from swecli.store.sessions.search import FLOOR, search_session

        return search_session(self.reader.db, self.current_session, query, before, limit, FLOOR)

    def open_findings(self, paths: Iterable[str]) -> list[Any]:
        """Return []. Raises Unsupported if these files have open findings."""
        given = (self.current_session.project, json.dumps([*paths]))
        if self.reader.db.execute(_FINDINGS, given).fetchone()[0]:
            raise Unsupported("there are open findings")
        return []

    def store_query(self, message: ChatMessage) -> None:
        """Commit the user's message with its interaction, and the session if it is new. Sets the message's `id` and
        `interaction`. Raises Unsupported if another process has added to the session since it was loaded."""
        session = self.current_session
        if "\0" in message.content:
            raise Unsupported("the text contains NUL")
        self.reader.db.execute("ROLLBACK")
        with write_lock(self.path, _PATIENCE):
            self.reader.db.execute("PRAGMA synchronous = FULL")
            self.reader.db.execute("BEGIN IMMEDIATE")
            if self.reader.db.execute(_COUNTS, (session.id,)).fetchone() != self._counts:
                raise Unsupported("another process has added to the session")
            at, number = _moment(message.created_at), session.interactions + 1
            if self._counts is None:
                self._insert("session", _session_row(session, message))
            else:
                self.reader.db.execute(_CONTINUE, (at, first_query(message.content), session.id))
            turn = _TURN | {
                "session_id": session.id,
                "number": number,
                "started_at": at,
                "pid": os.getpid(),
            }
            window = {"window_spec": str(session.window), "window_start": session.window_start}
            self._insert("interaction", turn | window)
            place = _MESSAGE | {"session_id": session.id, "interaction": number, "created_at": at}
            text = {
                "role": message.role.value,
                "content": message.content,
                "status": message.status,
            }
            key = self._insert("message", place | text)
            self.reader.db.execute("COMMIT")
        message.id, message.interaction = key, number

    def _insert(self, table: str, row: Mapping[str, Any]) -> int | None:
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        return self.reader.db.execute(
            f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values())
        ).lastrowid


def _session_row(session: Session, message: ChatMessage) -> dict[str, Any]:
    row = {name: getattr(session, name) for name in ("id", "project", "model", "window_start")}
    row |= {"directory": session.working_directory, "title": "", "window_spec": str(session.window)}
    row |= {
        "interactions": 1,
        "messages": 1,
        "cost": 0.0,
        "first_query": first_query(message.content),
    }
    began, at = _moment(session.created_at), _moment(message.created_at)
    return row | {"created_at": began, "updated_at": max(began, at)}


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
