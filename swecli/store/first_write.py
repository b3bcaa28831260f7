"""The first message of a new session, durable before SQLModel is loaded: what `SessionWriter.begin_interaction` writes,
in plain `sqlite3`. Whatever is unusual about the file is left to `open_database`, which also reports it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC
from pathlib import Path
from typing import Any

from swecli.models.errors import SwecliError
from swecli.models.message import ChatMessage
from swecli.models.session import Session
from swecli.redact import redact
from swecli.store.sqlite.files import APPLICATION_ID, locate, needs_check, write_lock

SHAPE = 16  # the shape of the database that these statements know
_FIRST_QUERY = 200  # characters of the first question kept for lists
_PATIENCE = 0.2  # seconds for another program that writes
_STRATEGIES = (
    "SELECT EXISTS (SELECT 1 FROM bullet WHERE state != 'deleted' AND (scope = 'user' OR scope = 'project'"
    " AND project = ?))"
)


@contextmanager
def first_write(location: str | Path, session: Session, message: ChatMessage) -> Iterator[bool]:
    """Commit a new session with its first user message, which gets its `id` and `interaction`.

    Gives False where nothing was written: there is no file of this version, it may be damaged, strategies apply, or
    another program writes. The file stays open for the block: the last to leave it would tidy its journal, which takes
    longer than the writing.
    """
    with ExitStack() as held:
        try:
            written = _write(location, session, message, held)
        except (sqlite3.Error, OSError, SwecliError, UnicodeError):
            written = False
        if not written:
            held.close()  # the store will open it as its own
        yield written


def first_query(content: str) -> str:
    """What a list shows of a session without a title. A secret that reaches over the cut is seen whole."""
    return redact(content[: 50 * _FIRST_QUERY])[:_FIRST_QUERY]


def _write(location: str | Path, session: Session, message: ChatMessage, held: ExitStack) -> bool:
    path = locate(location)
    if path is None or not path.is_file() or "\0" in message.content:
        return False
    check = needs_check(path)
    db = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
    held.callback(_close, db, path)
    if not _is_usual(db, check=check) or db.execute(_STRATEGIES, (session.project,)).fetchone()[0]:
        return False
    with write_lock(path, _PATIENCE):
        db.execute("PRAGMA synchronous = FULL")
        db.execute("BEGIN IMMEDIATE")
        for table, row in _rows(session, message):
            columns, marks = ", ".join(row), ", ".join("?" * len(row))
            key = db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values())).lastrowid
        db.execute("COMMIT")
    message.id, message.interaction = key, 1
    return True


def _is_usual(db: sqlite3.Connection, *, check: bool) -> bool:
    """Whether the file is ours, of this shape and sound."""
    (application,), (shape,) = (db.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version"))
    sound = not check or db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    return (application, shape) == (APPLICATION_ID, SHAPE) and sound


def _rows(session: Session, message: ChatMessage) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows by table, the message's last."""
    began, at = (
        moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "microseconds")
        for moment in (session.created_at, message.created_at)
    )
    plain = {name: getattr(session, name) for name in ("id", "project", "model", "window_start")}
    counted = {"interactions": 1, "messages": 1, "cost": 0.0, "first_query": first_query(message.content)}
    times = {"created_at": began, "updated_at": max(began, at)}
    place = {"directory": session.working_directory, "title": "", "window_spec": str(session.window)}
    yield "session", plain | counted | times | place
    turn = {"number": 1, "status": "running", "pid": os.getpid(), "pending": False, "shown": "null", "cited": "null"}
    window = {"window_spec": str(session.window), "window_start": session.window_start}
    yield "interaction", {"session_id": session.id, **turn, "mark": "", "why": "", "started_at": at, **window}
    text = {"role": message.role.value, "content": message.content, "reasoning": ""}
    more = {"status": message.status, "created_at": at, "blocks": "null", "images": "null"}
    yield "message", {"session_id": session.id, "interaction": 1, **text, **more}


def _close(db: sqlite3.Connection, path: Path) -> None:
    with suppress(SwecliError), write_lock(path, _PATIENCE):  # another may be writing: then this is not the last
        db.close()
