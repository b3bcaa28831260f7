"""Rows to models and back, field by field of the same name: a new one needs its table and its model, and no line here.

Where a name or a shape differs, it stands below by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy.types import TypeDecorator

from swecli.models.message import ChatMessage, RequestRecord, Role, ToolCall, Usage
from swecli.models.session import Session
from swecli.models.window import WindowSpec
from swecli.redact import redact
from swecli.store.records import InteractionInfo
from swecli.store.tables.columns import UtcTime, clean_text, shared, values
from swecli.store.tables.sessions import CallRow, InteractionRow, MessageRow, RequestRow, SessionRow

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


def message_of(row: MessageRow, calls: Sequence[CallRow]) -> ChatMessage:
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
