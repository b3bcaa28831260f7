"""Rows to models and back: sessions, messages, calls, requests, interactions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import cast

from swecli.models.message import ChatMessage, Purpose, RequestRecord, Role, ToolCall, Usage
from swecli.models.session import Session
from swecli.models.window import WindowSpec
from swecli.redact import redact
from swecli.store.records import InteractionInfo
from swecli.store.tables.columns import clamp, clean_json, clean_text
from swecli.store.tables.sessions import CallRow, InteractionRow, MessageRow, RequestRow, SessionRow, UsageColumns

FIRST_QUERY = 200  # characters of the first question kept for lists


def first_query(content: str) -> str:
    """What a list shows of a session without a title. A secret that reaches over the cut is seen whole."""
    return redact(content[: 50 * FIRST_QUERY])[:FIRST_QUERY]


def clean_call(call: ToolCall) -> None:
    """Make the call what it will be when it is read back."""
    call.id, call.name = clean_text(call.id), clean_text(call.name)
    call.parameters = clean_json(call.parameters)
    call.result, call.error = _clean(call.result), _clean(call.error)
    call.decision, call.reason = clean_text(call.decision), clean_text(call.reason)
    call.exit_code = None if call.exit_code is None else clamp(call.exit_code)
    call.duration_ms = None if call.duration_ms is None else clamp(call.duration_ms)


def clean_message(message: ChatMessage) -> None:
    """Make the message, with its calls, what it will be when it is read back: a resumed session sends the same."""
    message.content, message.reasoning = clean_text(message.content), clean_text(message.reasoning)
    message.sent, message.status = _clean(message.sent), clean_text(message.status)
    message.tokens = None if message.tokens is None else clamp(message.tokens)
    for call in message.tool_calls:
        clean_call(call)


def _clean(text: str | None) -> str | None:
    return None if text is None else clean_text(text)


def message_row(session_id: str, message: ChatMessage) -> MessageRow:
    """A new row for the message; its calls have rows of their own."""
    return MessageRow(
        session_id=session_id,
        interaction=message.interaction,
        role=message.role.value,
        content=message.content,
        sent=message.sent,
        reasoning=message.reasoning,
        tokens=message.tokens,
        encoding=message.encoding,
        blocks=message.blocks,
        is_summary=message.is_summary,
        status=message.status,
        created_at=message.created_at,
    )


def message_of(row: MessageRow, calls: Sequence[CallRow]) -> ChatMessage:
    """The message with its calls, in their order."""
    return ChatMessage(
        role=Role(row.role),
        content=row.content,
        tool_calls=[call_of(call) for call in calls],
        id=row.id,
        interaction=row.interaction,
        sent=row.sent,
        reasoning=row.reasoning,
        tokens=row.tokens,
        encoding=row.encoding,
        blocks=row.blocks,
        is_summary=row.is_summary,
        status=row.status,
        created_at=row.created_at,
    )


def call_row(session_id: str, message_id: int, call: ToolCall) -> CallRow:
    """A new row for the call."""
    row = CallRow(message_id=message_id, session_id=session_id, call_id=call.id, name=call.name)
    row.parameters = call.parameters
    fill_call(row, call)
    return row


def fill_call(row: CallRow, call: ToolCall) -> None:
    """Write what became of the call into its row."""
    row.result, row.error, row.approved = call.result, call.error, call.approved
    row.decision, row.reason = call.decision, call.reason
    row.exit_code, row.duration_ms, row.tokens = call.exit_code, call.duration_ms, call.tokens


def call_of(row: CallRow) -> ToolCall:
    """The call with what became of it."""
    return ToolCall(
        id=row.call_id,
        name=row.name,
        parameters=row.parameters,
        result=row.result,
        error=row.error,
        approved=row.approved,
        decision=row.decision,
        reason=row.reason,
        exit_code=row.exit_code,
        duration_ms=row.duration_ms,
        tokens=row.tokens,
    )


# columns of a session that its model has under the same name; `messages` is a count in one and a list in the other
_SAME = (SessionRow.model_fields.keys() & {field.name for field in fields(Session)}) - {"messages"}


def session_row(session: Session) -> SessionRow:
    """A new row for a session that has no message yet."""
    same = {name: getattr(session, name) for name in _SAME}
    return SessionRow(directory=session.working_directory, window_spec=str(session.window), **same)


def session_of(row: SessionRow, messages: list[ChatMessage]) -> Session:
    """The session with those of its messages."""
    same = {name: getattr(row, name) for name in _SAME} | {"title": redact(row.title)}
    window = window_of(row.window_spec)
    return Session(working_directory=row.directory, messages=messages, window=window, **same)


def window_of(text: str) -> WindowSpec:
    """The window's setting; the default where the text says nothing that this version understands."""
    try:
        return WindowSpec.parse(text)
    except ValueError:
        return WindowSpec()


def request_row(session_id: str, record: RequestRecord) -> RequestRow:
    """A new row for a request."""
    usage = record.usage
    return RequestRow(
        session_id=session_id,
        model=record.model,
        purpose=record.purpose,
        interaction=record.interaction,
        step=record.step,
        duration_ms=record.duration_ms,
        extra=record.extra,
        cost=record.cost,
        input=usage.input,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        output=usage.output,
        reasoning=usage.reasoning,
    )


def request_of(row: RequestRow) -> RequestRecord:
    """The request as it was recorded."""
    purpose = cast("Purpose", row.purpose)
    extra = row.extra if isinstance(row.extra, dict) else {}
    usage = usage_of(row)
    return RequestRecord(row.model, purpose, row.interaction, row.step, usage, row.cost, row.duration_ms, extra)


def usage_of(row: UsageColumns) -> Usage:
    """The five buckets."""
    return Usage(row.input, row.cache_read, row.cache_write, row.output, row.reasoning)


def interaction_of(row: InteractionRow) -> InteractionInfo:
    """The turn's record."""
    return InteractionInfo(
        session_id=row.session_id,
        number=row.number,
        status=row.status,
        started_at=row.started_at,
        finished_at=row.finished_at,
        shown=tuple(row.shown or ()),
        cited=tuple(row.cited or ()),
        mark=row.mark,
        why=row.why,
        pending=row.pending,
    )
