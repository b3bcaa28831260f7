"""Load sessions, settle interrupted ones, and convert models to rows field by field of the same name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import sqlalchemy
import sqlmodel
from sqlalchemy import ColumnElement, func
from sqlmodel import col, select

from swecli.models.errors import DamagedDatabase
from swecli.models.message import ChatMessage, Role, Usage
from swecli.models.session import Session
from swecli.store.reading import MESSAGE, find_session, read_session
from swecli.store.records import InteractionInfo, UsageTotals
from swecli.store.sqlite.database import Database, driver
from swecli.store.tables.columns import clean_text, shared, values
from swecli.store.tables.sessions import InteractionRow, MessageRow, RequestRow, SessionRow

RUNNING, INTERRUPTED = "running", "interrupted"
_INTERACTION = shared(InteractionInfo, InteractionRow, "shown", "cited")


def read_back(db: sqlmodel.Session, pairs: Sequence[tuple[Any, Any]], names: Sequence[str]) -> None:
    """Insert or update rows, and copy the stored values into their models: a resumed session sends the same."""
    db.add_all([row for row, _ in pairs])
    db.flush()
    for row, model in pairs:
        db.refresh(row, names)
        for name in names:
            setattr(model, name, getattr(row, name))


def message_row(session_id: str, message: ChatMessage) -> MessageRow:
    """Return a new row for the message, without its calls."""
    return MessageRow(session_id=session_id, role=message.role.value, **values(message, MESSAGE))


def interaction_of(row: InteractionRow) -> InteractionInfo:
    """Convert a row to the turn's record."""
    names: dict[str, Any] = {"shown": tuple(row.shown or ()), "cited": tuple(row.cited or ())}
    return InteractionInfo(**names, **values(row, _INTERACTION))


def find_row(db: sqlmodel.Session, ref: str) -> SessionRow:
    """Return the row of the session that `find_session` finds. Raises BadInput."""
    return db.exec(select(SessionRow).filter_by(id=find_session(driver(db), clean_text(ref), ""))).one()


def load_session(database: Database, ref: str | None, directory: str, newest: int) -> Session:
    """Load a session, see `read_session`; turns of dead processes are marked as interrupted first. Raises BadInput if
    none or several match `ref`, DamagedDatabase for a corrupt row."""
    with report_damage(), database.reading() if database.only_read else database.transaction() as db:
        session_id = find_session(driver(db), ref and clean_text(ref), directory)
        if not database.only_read:
            _settle_interrupted(db, session_id)
        return read_session(driver(db), session_id, newest)


@contextmanager
def report_damage() -> Iterator[None]:
    """Raise DamagedDatabase for a corrupt time, role or JSON value, which SQLite's own checks do not find."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise DamagedDatabase(
            f"The session cannot be read: {' '.join(str(error).split())}.",
            "Resume another; a copy of the file may help.",
        ) from error


def find_turn(db: sqlmodel.Session, session_id: str, number: int | None) -> InteractionRow | None:
    """Return the row of an interaction, or None."""
    return db.exec(select(InteractionRow).filter_by(session_id=session_id, number=number)).first()


def _settle_interrupted(db: sqlmodel.Session, session_id: str) -> None:
    """Mark running turns of dead processes as interrupted. A partial answer becomes a message, unless the whole answer
    was stored later."""
    for turn in db.exec(select(InteractionRow).filter_by(session_id=session_id, status=RUNNING)).all():
        if is_running_elsewhere(turn.pid):
            continue
        newest = db.exec(sqlmodel.select(func.max(MessageRow.id)).filter_by(session_id=session_id)).one()
        if turn.partial and (newest or 0) <= turn.partial_after:
            message = ChatMessage(Role.ASSISTANT, turn.partial, interaction=turn.number, status="partial")
            db.add(message_row(session_id, message))
            counted = sqlmodel.update(SessionRow).filter_by(id=session_id)
            db.exec(counted.values(messages=col(SessionRow.messages) + 1))
        turn.status, turn.pending, turn.partial = INTERRUPTED, True, ""


def is_running_elsewhere(pid: int) -> bool:
    """Return whether another process with that id is alive."""
    if pid <= 0 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def totals(db: sqlmodel.Session, session_id: str) -> UsageTotals:
    """Sum the usage of a session's requests. The cost is None if that of any request is unknown."""
    by_purpose = spent_by_purpose(db, col(RequestRow.session_id) == session_id)
    return replace(sum(by_purpose.values(), UsageTotals()), by_purpose=by_purpose)


def spent_by_purpose(db: sqlmodel.Session, *where: ColumnElement[bool]) -> dict[str, UsageTotals]:
    """Sum the usage of these requests by purpose. A request without any tokens, because nobody answered, costs
    nothing."""
    buckets = [col(getattr(RequestRow, name)) for name in Usage.__slots__]
    unknown = func.count().filter(col(RequestRow.cost).is_(None), sqlalchemy.or_(*(one > 0 for one in buckets)))
    figures: list[Any] = [func.count(), unknown, func.sum(col(RequestRow.cost)), *(func.sum(one) for one in buckets)]
    which = sqlalchemy.select(col(RequestRow.purpose), *figures).where(*where)
    rows = db.connection().execute(which.group_by(RequestRow.purpose).order_by(RequestRow.purpose)).all()
    return {
        row[0]: UsageTotals(Usage(*map(int, row[4:])), None if row[2] else float(row[3] or 0), row[1]) for row in rows
    }
