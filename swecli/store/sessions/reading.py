"""Sessions read from the database, each with its messages and their calls."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby

import sqlmodel
from sqlalchemy import func
from sqlmodel import col, select

from swecli.models.errors import DamagedDatabase
from swecli.models.message import ChatMessage, Role
from swecli.models.session import Session
from swecli.store.sessions import mapping
from swecli.store.sessions.queries import find_row
from swecli.store.sqlite.database import Database
from swecli.store.tables.sessions import CallRow, InteractionRow, MessageRow, SessionRow

RUNNING, INTERRUPTED = "running", "interrupted"


def load_session(database: Database, ref: str | None, directory: str, newest: int) -> Session:
    """A session with its newest interactions; one that a dead process left running is marked as interrupted.

    Raises:
        BadInput: none is meant by `ref`, or more than one.
        DamagedDatabase: a row of it holds what was never written.
    """
    with _legible(), database.reading() if database.only_read else database.transaction() as db:
        row = find_row(db, ref, directory)
        if not database.only_read:
            _settle(db, row.id)
        first = row.interactions - max(1, newest) + 1
        return mapping.session_of(row, read_messages(db, row.id, first if first > 1 else 0, row.interactions))


def load_messages(database: Database, session_id: str, first: int, last: int) -> list[ChatMessage]:
    """The messages of the interactions from `first` to `last`, in order. Raises DamagedDatabase."""
    with _legible(), database.reading() as db:
        return read_messages(db, session_id, first, last)


@contextmanager
def _legible() -> Iterator[None]:
    """Damage that leaves the structure whole shows as a time, a role or JSON that cannot be read."""
    try:
        yield
    except ValueError as error:
        raise DamagedDatabase(
            f"The session cannot be read: {' '.join(str(error).split())}.",
            "Resume another; a copy of the file may help.",
        ) from error


def find_turn(db: sqlmodel.Session, session_id: str, number: int | None) -> InteractionRow | None:
    """The row of an interaction, within a transaction."""
    of = (col(InteractionRow.session_id) == session_id, col(InteractionRow.number) == number)
    return db.exec(select(InteractionRow).where(*of)).first()


def read_messages(db: sqlmodel.Session, session_id: str, first: int, last: int) -> list[ChatMessage]:
    """The messages of those interactions, within a transaction."""
    theirs = (col(MessageRow.session_id) == session_id, col(MessageRow.interaction).between(first, last))
    rows = db.exec(select(MessageRow).where(*theirs).order_by(col(MessageRow.id))).all()
    which = select(CallRow).join(MessageRow, col(CallRow.message_id) == col(MessageRow.id)).where(*theirs)
    calls = db.exec(which.order_by(col(CallRow.message_id), col(CallRow.id))).all()
    of = {message: list(group) for message, group in groupby(calls, key=lambda call: call.message_id)}
    return [mapping.message_of(row, of.get(row.id or 0, [])) for row in rows]


def _settle(db: sqlmodel.Session, session_id: str) -> None:
    which = select(InteractionRow).where(
        col(InteractionRow.session_id) == session_id, col(InteractionRow.status) == RUNNING
    )
    for row in db.exec(which).all():
        if not runs_elsewhere(row.pid):
            row.status, row.pending = INTERRUPTED, True
            _keep_partial(db, row)


def _keep_partial(db: sqlmodel.Session, turn: InteractionRow) -> None:
    """What a dead process had of an answer becomes a message, unless the answer was stored whole after that."""
    of_session = col(MessageRow.session_id) == turn.session_id
    newest = db.exec(sqlmodel.select(func.max(MessageRow.id)).where(of_session)).one() or 0
    if turn.partial and newest <= turn.partial_after:
        message = ChatMessage(Role.ASSISTANT, turn.partial, interaction=turn.number, status="partial")
        db.add(mapping.message_row(turn.session_id, message))
        counted = sqlmodel.update(SessionRow).where(col(SessionRow.id) == turn.session_id)
        db.exec(counted.values(messages=SessionRow.messages + 1))
    turn.partial = ""


def runs_elsewhere(pid: int) -> bool:
    """Whether another process of that number is alive. (Nothing runs in this one: it is just resuming.)"""
    if pid <= 0 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
