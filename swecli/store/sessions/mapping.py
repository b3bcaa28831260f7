"""Sessions read from the database, and rows to models and back: field by field of the same name, so that a new one
needs its table and its model, and no line here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import Any

import sqlmodel
from sqlalchemy import func
from sqlalchemy.types import TypeDecorator
from sqlmodel import col, select

from swecli.models.errors import DamagedDatabase
from swecli.models.message import ChatMessage, RequestRecord, Role, ToolCall, Usage
from swecli.models.session import Session
from swecli.models.window import WindowSpec
from swecli.redact import redact
from swecli.store.records import InteractionInfo
from swecli.store.sessions.queries import find_row
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import UtcTime, clean_text, shared, values
from swecli.store.tables.sessions import CallRow, InteractionRow, MessageRow, RequestRow, SessionRow

RUNNING, INTERRUPTED = "running", "interrupted"
_MESSAGE = shared(ChatMessage, MessageRow, "id", "role")
_CALL = shared(ToolCall, CallRow, "id")
_RESULT = tuple(name for name in _CALL if name not in ("name", "parameters"))
_SESSION = shared(Session, SessionRow, "messages", "interactions", "cost")  # a row counts for itself
_SETTINGS = tuple(name for name in _SESSION if name not in ("id", "project", "parent_id", "created_at", "updated_at"))
_REQUEST = shared(RequestRecord, RequestRow)
_USAGE = shared(Usage, RequestRow)
_INTERACTION = shared(InteractionInfo, InteractionRow, "shown", "cited")


def _clean(model: Any, names: Sequence[str], table: Any) -> None:
    """Make values what they will be when they are read back: as the table's columns clean them."""
    for name in names:
        column = table.__table__.columns[name].type
        if isinstance(column, TypeDecorator) and not isinstance(column, UtcTime):  # a time keeps its zone
            setattr(model, name, column.process_bind_param(getattr(model, name), None))  # type: ignore[arg-type]  # ours need no dialect


def clean_call(call: ToolCall) -> None:
    """Make the call what it will be when it is read back."""
    call.id = clean_text(call.id)
    _clean(call, _CALL, CallRow)


def clean_message(message: ChatMessage) -> None:
    """Make the message, with its calls, what it will be when it is read back: a resumed session sends the same."""
    _clean(message, _MESSAGE, MessageRow)
    for call in message.tool_calls:
        clean_call(call)


def message_row(session_id: str, message: ChatMessage) -> MessageRow:
    """A new row for the message; its calls have rows of their own."""
    return MessageRow(session_id=session_id, role=message.role.value, **values(message, _MESSAGE))


def _message_of(row: MessageRow, calls: Sequence[CallRow]) -> ChatMessage:
    """The message with its calls, in their order."""
    called = [ToolCall(id=call.call_id, **values(call, _CALL)) for call in calls]
    return ChatMessage(role=Role(row.role), id=row.id, tool_calls=called, **values(row, _MESSAGE))


def call_row(session_id: str, message_id: int, call: ToolCall) -> CallRow:
    """A new row for the call."""
    return CallRow(message_id=message_id, session_id=session_id, call_id=call.id, **values(call, _CALL))


def fill_call(row: CallRow, call: ToolCall) -> None:
    """Write what became of the call into its row."""
    for name in _RESULT:
        setattr(row, name, getattr(call, name))


def session_row(session: Session) -> SessionRow:
    """A new row for a session that has no message yet."""
    names: dict[str, Any] = {"directory": session.working_directory, "window_spec": str(session.window)}
    return SessionRow(**names, **values(session, _SESSION))


def fill_settings(row: SessionRow, session: Session) -> None:
    """Write what can be set of a session into its row."""
    row.window_spec = str(session.window)
    for name in _SETTINGS:
        setattr(row, name, getattr(session, name))


def session_of(row: SessionRow, messages: list[ChatMessage]) -> Session:
    """The session with those of its messages."""
    counts = {"interactions": row.interactions, "cost": row.cost, "messages": messages}
    names = {"working_directory": row.directory, "window": window_of(row.window_spec), "title": redact(row.title)}
    return Session(**values(row, _SESSION) | counts | names)


def window_of(text: str) -> WindowSpec:
    """The window's setting; the default where the text says nothing that this version understands."""
    try:
        return WindowSpec.parse(text)
    except ValueError:
        return WindowSpec()


def request_row(session_id: str, record: RequestRecord) -> RequestRow:
    """A new row for a request."""
    return RequestRow(session_id=session_id, **values(record, _REQUEST), **values(record.usage, _USAGE))


def request_of(row: RequestRow) -> RequestRecord:
    """The request as it was recorded."""
    extra = {"extra": row.extra if isinstance(row.extra, dict) else {}}
    return RequestRecord(usage=Usage(**values(row, _USAGE)), **values(row, _REQUEST) | extra)


def interaction_of(row: InteractionRow) -> InteractionInfo:
    """The turn's record."""
    names: dict[str, Any] = {"shown": tuple(row.shown or ()), "cited": tuple(row.cited or ())}
    return InteractionInfo(**names, **values(row, _INTERACTION))


def load_session(database: Database, ref: str | None, directory: str, newest: int) -> Session:
    """A session with its newest interactions; one that a dead process left running is marked as interrupted. Raises
    BadInput when none is meant by `ref`, or more than one; DamagedDatabase when a row holds what was never written."""
    with _legible(), database.reading() if database.only_read else database.transaction() as db:
        row = find_row(db, ref, directory)
        if not database.only_read:
            _settle(db, row.id)
        first = row.interactions - max(1, newest) + 1
        return session_of(row, read_messages(db, row.id, first if first > 1 else 0, row.interactions))


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
    return [_message_of(row, of.get(row.id or 0, [])) for row in rows]


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
        db.add(message_row(turn.session_id, message))
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
