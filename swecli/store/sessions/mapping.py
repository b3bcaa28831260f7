"""Sessions read from the database, and rows to models and back: field by field of the same name, so that a new one
needs its table and its model, and no line here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any

import sqlalchemy
import sqlmodel
from sqlalchemy import ColumnElement, func
from sqlmodel import col, select

from swecli.models.errors import BadInput, DamagedDatabase
from swecli.models.message import ChatMessage, RequestRecord, Role, ToolCall, Usage
from swecli.models.session import Session
from swecli.models.window import WindowSpec
from swecli.redact import redact
from swecli.store.records import InteractionInfo, Spent
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import clean_text, shared, values
from swecli.store.tables.sessions import CallRow, InteractionRow, MessageRow, RequestRow, SessionRow

RUNNING, INTERRUPTED = "running", "interrupted"
MESSAGE = shared(ChatMessage, MessageRow, "id", "role")
CALL = shared(ToolCall, CallRow, "id")
SESSION = shared(Session, SessionRow, "messages", "interactions", "cost")  # a row counts for itself
REQUEST = shared(RequestRecord, RequestRow)
USAGE = shared(Usage, RequestRow)
_INTERACTION = shared(InteractionInfo, InteractionRow, "shown", "cited")
NEWEST_SESSION = (col(SessionRow.updated_at).desc(), col(SessionRow.number).desc())


def read_back(db: sqlmodel.Session, pairs: Sequence[tuple[Any, Any]], names: Sequence[str]) -> None:
    """Write rows, each with its model, and make the models what they are for a reader: a resumed session sends the
    same."""
    db.add_all([row for row, _ in pairs])
    db.flush()
    for row, model in pairs:
        db.refresh(row, names)
        for name in names:
            setattr(model, name, getattr(row, name))


def message_row(session_id: str, message: ChatMessage) -> MessageRow:
    """A new row for the message; its calls have rows of their own."""
    return MessageRow(session_id=session_id, role=message.role.value, **values(message, MESSAGE))


def _session_of(row: SessionRow, messages: list[ChatMessage]) -> Session:
    """The session with those of its messages."""
    counts = {"interactions": row.interactions, "cost": row.cost, "messages": messages}
    names = {"working_directory": row.directory, "window": window_of(row.window_spec), "title": redact(row.title)}
    return Session(**values(row, SESSION) | counts | names)


def window_of(text: str) -> WindowSpec:
    """The window's setting; the default where the text is nothing that this version understands."""
    try:
        return WindowSpec.parse(text)
    except ValueError:
        return WindowSpec()


def request_of(row: RequestRow) -> RequestRecord:
    """The request as it was recorded."""
    extra = {"extra": row.extra if isinstance(row.extra, dict) else {}}
    return RequestRecord(usage=Usage(**values(row, USAGE)), **values(row, REQUEST) | extra)


def interaction_of(row: InteractionRow) -> InteractionInfo:
    """The turn's record."""
    names: dict[str, Any] = {"shown": tuple(row.shown or ()), "cited": tuple(row.cited or ())}
    return InteractionInfo(**names, **values(row, _INTERACTION))


def find_row(db: sqlmodel.Session, ref: str | None, directory: str) -> SessionRow:
    """The session that `ref` means: an id, a title, or the unique beginning of an id; None or "" for the newest of
    the directory. Raises BadInput."""
    if not ref:
        newest = select(SessionRow).filter_by(directory=directory).order_by(*NEWEST_SESSION)
        if (row := db.exec(newest.limit(1)).first()) is None:
            raise BadInput("There is no session in this directory yet.", "Start one: swecli")
        return row
    ref = clean_text(ref.strip())
    for condition in (
        col(SessionRow.id) == ref.lower(),
        func.lower(col(SessionRow.title)) == func.lower(ref),
        col(SessionRow.id).startswith(ref.lower(), autoescape=True),
    ):
        rows = db.exec(select(SessionRow).where(condition).order_by(col(SessionRow.number).desc()).limit(4)).all()
        if len(rows) == 1:
            return rows[0]
        if rows:
            ids = ", ".join(row.id for row in rows[:3]) + (", …" if len(rows) > 3 else "")
            raise BadInput(f"{ref!r} matches more than one session.", f"Use one of: {ids}.")
    raise BadInput(f"There is no session {ref!r}.", "See: swecli sessions list")


def load_session(database: Database, ref: str | None, directory: str, newest: int) -> Session:
    """A session with its newest interactions; one that a dead process left running is marked as interrupted. Raises
    BadInput when none is meant by `ref`, or more than one; DamagedDatabase when a row holds what was never written."""
    with _legible(), database.reading() if database.only_read else database.transaction() as db:
        row = find_row(db, ref, directory)
        if not database.only_read:
            _settle(db, row)
        first = row.interactions - max(1, newest) + 1
        return _session_of(row, _read_messages(db, row.id, first if first > 1 else 0, row.interactions))


def load_messages(database: Database, session_id: str, first: int, last: int) -> list[ChatMessage]:
    """The messages of the interactions from `first` to `last`, in order. Raises DamagedDatabase."""
    with _legible(), database.reading() as db:
        return _read_messages(db, session_id, first, last)


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
    return db.exec(select(InteractionRow).filter_by(session_id=session_id, number=number)).first()


def _read_messages(db: sqlmodel.Session, session_id: str, first: int, last: int) -> list[ChatMessage]:
    """The messages of those interactions, within a transaction."""
    theirs = (col(MessageRow.session_id) == session_id, col(MessageRow.interaction).between(first, last))
    rows = db.exec(select(MessageRow).where(*theirs).order_by(col(MessageRow.id))).all()
    which = select(CallRow).join(MessageRow, col(CallRow.message_id) == col(MessageRow.id)).where(*theirs)
    calls = db.exec(which.order_by(col(CallRow.message_id), col(CallRow.id))).all()
    of = {message: list(group) for message, group in groupby(calls, key=lambda call: call.message_id)}
    return [
        ChatMessage(
            role=Role(row.role),
            id=row.id,
            tool_calls=[ToolCall(id=call.call_id, **values(call, CALL)) for call in of.get(row.id or 0, ())],
            **values(row, MESSAGE),
        )
        for row in rows
    ]


def _settle(db: sqlmodel.Session, row: SessionRow) -> None:
    """Mark what a dead process left running; what it had of an answer becomes a message, unless the answer was stored
    whole after that."""
    for turn in db.exec(select(InteractionRow).filter_by(session_id=row.id, status=RUNNING)).all():
        if runs_elsewhere(turn.pid):
            continue
        newest = db.exec(sqlmodel.select(func.max(MessageRow.id)).filter_by(session_id=row.id)).one()
        if turn.partial and (newest or 0) <= turn.partial_after:
            message = ChatMessage(Role.ASSISTANT, turn.partial, interaction=turn.number, status="partial")
            db.add(message_row(row.id, message))
            row.messages += 1
        turn.status, turn.pending, turn.partial = INTERRUPTED, True, ""


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


def totals(db: sqlmodel.Session, session_id: str) -> Spent:
    """What a session's requests took, within a transaction. A sum of which a part is unknown is unknown."""
    by_purpose = spent_by_purpose(db, col(RequestRow.session_id) == session_id)
    return replace(sum(by_purpose.values(), Spent()), by_purpose=by_purpose)


def spent_by_purpose(db: sqlmodel.Session, *where: ColumnElement[bool]) -> dict[str, Spent]:
    """What these requests took, within a transaction. One that used no token, because nobody answered, cost nothing."""
    buckets = [col(getattr(RequestRow, name)) for name in Usage.__slots__]
    unknown = func.count().filter(col(RequestRow.cost).is_(None), sqlalchemy.or_(*(one > 0 for one in buckets)))
    figures: list[Any] = [func.count(), unknown, func.sum(col(RequestRow.cost)), *(func.sum(one) for one in buckets)]
    which = sqlalchemy.select(col(RequestRow.purpose), *figures).where(*where)
    rows = db.connection().execute(which.group_by(RequestRow.purpose).order_by(RequestRow.purpose)).all()
    return {row[0]: Spent(Usage(*map(int, row[4:])), None if row[2] else float(row[3] or 0), row[1]) for row in rows}
