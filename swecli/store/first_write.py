"""A turn's beginning before SQLModel is loaded: the session as `SessionManager` reads it, and the message as
`SessionWriter.store_query` writes it, in plain `sqlite3`. Whatever is unusual is left to the store, which also reports
it."""

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
from swecli.models.playbook import SessionPlaybook
from swecli.models.session import Session
from swecli.store.reading import (
    find_session,
    first_query,
    playbook_version,
    read_bullets,
    read_reflectors,
    read_session,
)
from swecli.store.sqlite.files import APPLICATION_ID, locate, needs_check, write_lock

if TYPE_CHECKING:  # most requests hold the whole session
    from swecli.store.records import FoundInteraction

SHAPE = 17  # the shape of the database that these statements know
_PATIENCE = 0.2  # seconds for another program that writes
_RUNNING = "SELECT EXISTS (SELECT 1 FROM interaction WHERE session_id = ? AND status = 'running')"
_COUNTS = "SELECT interactions, messages FROM session WHERE id = ?"
_GO_ON = (
    "UPDATE session SET interactions = interactions + 1, messages = messages + 1, updated_at = max(updated_at, ?),"
    " first_query = CASE first_query WHEN '' THEN ? ELSE first_query END WHERE id = ?"
)
_FINDINGS = (
    "SELECT EXISTS (SELECT 1 FROM finding WHERE project = ? AND state IN ('open', 'regressed')"
    " AND path IN (SELECT value FROM json_each(?)))"
)
# What a new row has besides what is known of it: for all its columns that SQLite has no default for.
_TURN = {"status": "running", "pending": False, "shown": "null", "cited": "null", "mark": "", "why": ""}
_MESSAGE = {"reasoning": "", "blocks": "null", "images": "null"}


class Unusual(SwecliError):
    """The run has to take the full way. Nothing was written."""


# Raised by reading what is damaged or in use: the full way, which is to be taken then, reports what is wrong.
FAILURES = (SwecliError, sqlite3.Error, OSError, ValueError, TypeError)


@contextmanager
def open_early(location: str | Path) -> Iterator[EarlyStore]:
    """Open the database. It stays open for the block: the last to leave it would tidy its journal, which takes longer
    than the writing. Raises Unusual where there is no file of this shape, or it may be damaged, and any of
    `FAILURES`."""
    path = locate(location)
    if path is None or not path.is_file():
        raise Unusual("there is no database")
    check = needs_check(path)
    db = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
    try:
        application, shape = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if (application, shape) != (APPLICATION_ID, SHAPE):
            raise Unusual(f"the database has shape {shape}")
        if check and db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise Unusual("the database is damaged")
        db.execute("BEGIN")  # all is read as of one moment
        yield EarlyStore(path, db)
    finally:
        with suppress(SwecliError), write_lock(path, _PATIENCE):  # another may be writing: then this is not the last
            db.close()


@dataclass(slots=True)
class EarlyStore:
    """What `RequestBuilder` asks of `SessionManager`. Each function may raise any of `FAILURES`."""

    path: Path
    db: sqlite3.Connection
    current_session: Session = field(default_factory=lambda: Session(""))
    _counts: tuple[int, int] | None = None  # interactions and messages of a stored session

    def start(self, session: Session) -> Session:
        """Use a new session."""
        self.current_session = session
        bullets = read_bullets(self.db, session, session.project or session.working_directory)
        session.update_playbook(SessionPlaybook(bullets, playbook_version(self.db)))
        return session

    def resume(self, ref: str | None, directory: str) -> Session:
        """Use a stored session, as `SessionManager.resume`. Raises Unusual where one of its turns is not finished."""
        session_id = find_session(self.db, ref, directory)
        self._require_finished(session_id)
        self._counts = self.db.execute(_COUNTS, (session_id,)).fetchone()
        return self.start(read_session(self.db, session_id))

    @property
    def playbook(self) -> EarlyStore:
        return self

    turns = playbook

    def refresh(self, session: Session) -> None:
        """The playbook was read a moment ago."""

    def reflectors(self) -> dict[str, Any]:
        return read_reflectors(self.db)

    def search_session(self, query: str, *, before: int, limit: int) -> list[FoundInteraction]:
        """See `SessionManager.search_session`."""
        # late: most requests hold the whole session
        from swecli.store.sessions.search import FLOOR, search_session  # noqa: PLC0415

        return search_session(self.db, self.current_session, query, before, limit, FLOOR)

    def open_findings(self, paths: Iterable[str]) -> list[Any]:
        """None; raises Unusual where there are findings to load."""
        given = (self.current_session.project, json.dumps([*paths]))
        if self.db.execute(_FINDINGS, given).fetchone()[0]:
            raise Unusual("reviews found something in these files")
        return []

    def store_query(self, message: ChatMessage) -> None:
        """Commit the user's message with its turn, and with the session where it is new; the message gets its `id` and
        `interaction`. Raises Unusual where another process has gone on with the session since it was read."""
        session = self.current_session
        if "\0" in message.content:
            raise Unusual("the text needs to be cleaned")
        self.db.execute("ROLLBACK")
        with write_lock(self.path, _PATIENCE):
            self.db.execute("PRAGMA synchronous = FULL")
            self.db.execute("BEGIN IMMEDIATE")
            if self._counts is not None:
                self._require_finished(session.id)
                if self.db.execute(_COUNTS, (session.id,)).fetchone() != self._counts:
                    raise Unusual("another process goes on with the session")
            at, number = _moment(message.created_at), session.interactions + 1
            if self._counts is None:
                self._insert("session", _session_row(session, message))
            else:
                self.db.execute(_GO_ON, (at, first_query(message.content), session.id))
            window = {"window_spec": str(session.window), "window_start": session.window_start}
            self._insert(
                "interaction",
                {"session_id": session.id, "number": number, "started_at": at, "pid": os.getpid()} | _TURN | window,
            )
            text = {"role": message.role.value, "content": message.content, "status": message.status}
            place = {"session_id": session.id, "interaction": number, "created_at": at}
            key = self._insert("message", place | text | _MESSAGE)
            self.db.execute("COMMIT")
        message.id, message.interaction = key, number

    def _insert(self, table: str, row: Mapping[str, Any]) -> int | None:
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        return self.db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values())).lastrowid

    def _require_finished(self, session_id: str) -> None:
        if self.db.execute(_RUNNING, (session_id,)).fetchone()[0]:
            raise Unusual("a turn of the session is not finished")


def _session_row(session: Session, message: ChatMessage) -> dict[str, Any]:
    plain = {name: getattr(session, name) for name in ("id", "project", "model", "window_start")}
    began, at = _moment(session.created_at), _moment(message.created_at)
    counted = {"interactions": 1, "messages": 1, "cost": 0.0, "first_query": first_query(message.content)}
    times = {"created_at": began, "updated_at": max(began, at)}
    return plain | counted | times | {
        "directory": session.working_directory, "title": "", "window_spec": str(session.window)
    }  # fmt: skip


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
