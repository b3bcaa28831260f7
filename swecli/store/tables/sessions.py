"""The tables of sessions. Rows are not used outside the store."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import registry
from sqlmodel import Field, Session, SQLModel, select

from swecli.models.context import Reduction, RetainedFact
from swecli.models.message import CallStatus, ChatMessage, Effects, RequestRecord, ToolCall
from swecli.models.notes import notes_from_json, notes_to_json
from swecli.models.session import Session as StoredSession
from swecli.store.journal.values import (
    read_added_folders,
    read_rules,
    read_tuple,
    write_added_folders,
)
from swecli.store.tables.columns import (
    Arguments,
    CleanJson,
    CleanText,
    Money,
    Number,
    UtcTime,
    converted,
)

COUNTING = {"sqlite_autoincrement": True}  # numbers are not reused after a deletion


class Row(SQLModel, registry=registry()):
    """Base of all tables, with its own metadata: tables of other SQLModel users in this process are not included."""

    model_config = {
        "defer_build": True
    }  # rows are not validated; building validators would cost start-up time

    # the model that a row stores, and the columns that hold no field of it under the same name
    stores: ClassVar[type | None] = None
    other_columns: ClassVar[frozenset[str]] = frozenset()
    # whether it is also read or written without SQLModel, by the journal's plain tables
    in_journal: ClassVar[bool] = True

    @classmethod
    def stored_fields(cls) -> tuple[str, ...]:
        """Return the columns that hold a field of the stored model."""
        if cls.stores is None:
            return ()
        return tuple(name for name in cls.model_fields if name not in cls.other_columns)


class SessionPart(Row):
    """A row that belongs to a session."""

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)


class SessionRow(Row, table=True):
    """A session with the counters shown in lists. `cost` is NULL once the cost of any request is unknown; `subfolder`
    is NULL for one that works in no folder: a review, a task."""

    __tablename__ = "session"
    __table_args__ = (
        Index("ix_session_directory", "directory", "updated_at"),
        Index("ix_session_project", "project", "updated_at"),
        COUNTING,
    )
    stores = StoredSession
    other_columns = frozenset({"number", "directory", "window_spec", "messages", "first_query"})

    number: int | None = Field(default=None, primary_key=True, sa_type=Number)
    id: str = Field(sa_type=CleanText, unique=True)
    directory: str = Field(default="", sa_type=CleanText)
    project: str = Field(default="", sa_type=CleanText)
    title: str = Field(default="", sa_type=CleanText)
    model: str = Field(default="", sa_type=CleanText)
    parent_id: str | None = Field(default=None, sa_type=CleanText)
    window_spec: str = Field(default="", sa_type=CleanText)
    window_start: int = Field(default=1, sa_type=Number)
    interactions: int = Field(default=0, sa_type=Number)
    messages: int = Field(default=0, sa_type=Number)
    cost: float | None = Field(default=0.0, sa_type=Money)
    first_query: str = Field(default="", sa_type=CleanText)
    allowed: Any = Field(default=None, sa_type=CleanJson, sa_column_kwargs=converted(read_rules))
    folders: Any = Field(
        default=None,
        sa_type=CleanJson,
        sa_column_kwargs={
            "server_default": "null",
            **converted(read_added_folders, write_added_folders),
        },
    )
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)
    updated_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime, index=True)
    subfolder: str | None = Field(default=None, sa_type=CleanText)


class MessageRow(SessionPart, table=True):
    """A message. A larger `id` is a newer message."""

    __tablename__ = "message"
    __table_args__ = (
        Index("ix_message_session", "session_id", "id"),
        Index("ix_message_interaction", "session_id", "interaction"),
        COUNTING,
    )
    stores = ChatMessage
    other_columns = frozenset({"id", "session_id", "role"})

    interaction: int = Field(default=0, sa_type=Number)
    role: str = Field(sa_type=CleanText)
    content: str = Field(default="", sa_type=CleanText)
    sent: str | None = Field(default=None, sa_type=CleanText)
    reasoning: str = Field(default="", sa_type=CleanText)
    tokens: int | None = Field(default=None, sa_type=Number)
    status: str = Field(default="complete", sa_type=CleanText)
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)
    encoding: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    blocks: Any = Field(default=None, sa_type=CleanJson)
    images: Any = Field(default=None, sa_type=CleanJson)
    notes: Any = Field(
        default=None,
        sa_type=CleanJson,
        sa_column_kwargs=converted(notes_from_json, notes_to_json),
    )
    ended_jobs: Any = Field(
        default=None,
        sa_type=CleanJson,
        sa_column_kwargs={"server_default": "null", **converted(read_tuple)},
    )
    goal: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})


class CallRow(Row, table=True):
    """A tool call. Calls of a message are ordered by `id`; a provider may use a `call_id` twice in a session."""

    __tablename__ = "tool_call"
    __table_args__ = (Index("ix_tool_call_session", "session_id", "call_id"),)
    stores = ToolCall
    other_columns = frozenset({"id", "message_id", "session_id", "call_id"})

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    message_id: int = Field(foreign_key="message.id", sa_type=Number, index=True)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    call_id: str = Field(sa_type=CleanText)
    name: str = Field(sa_type=CleanText)
    parameters: Any = Field(default=None, sa_type=Arguments)
    result: str | None = Field(default=None, sa_type=CleanText)
    status: str = Field(
        default=CallStatus.RUNNING,
        sa_type=CleanText,
        sa_column_kwargs={"server_default": CallStatus.RUNNING, **converted(CallStatus)},
    )
    error: str | None = Field(default=None, sa_type=CleanText)
    approved: bool | None = None
    decision: str = Field(default="", sa_type=CleanText)
    reason: str = Field(default="", sa_type=CleanText)
    exit_code: int | None = Field(default=None, sa_type=Number)
    duration_ms: int | None = Field(default=None, sa_type=Number)
    tokens: int | None = Field(default=None, sa_type=Number)
    effects: Any = Field(
        default=None,
        sa_type=CleanJson,
        sa_column_kwargs=converted(Effects.from_json, Effects.to_json),
    )
    ended_jobs: Any = Field(
        default=None,
        sa_type=CleanJson,
        sa_column_kwargs={"server_default": "null", **converted(read_tuple)},
    )


class FullResultRow(Row, table=True):
    """The full text of a truncated result; in a table of its own, so that it is not loaded with the session."""

    __tablename__ = "full_result"

    call: int = Field(primary_key=True, foreign_key="tool_call.id", sa_type=Number)
    text: str = Field(sa_type=CleanText)


class RequestRow(Row, table=True):
    """A request to a model, with its tokens in five categories and its cost."""

    __tablename__ = "model_request"
    stores = RequestRecord
    other_columns = frozenset(
        {"id", "session_id", "created_at"}
        | {"input", "cache_read", "cache_write", "output", "reasoning"}  # of its usage
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText, index=True)
    model: str = Field(sa_type=CleanText)
    purpose: str = Field(sa_type=CleanText)
    interaction: int = Field(default=0, sa_type=Number)
    step: int = Field(default=0, sa_type=Number)
    input: int = Field(default=0, sa_type=Number)
    cache_read: int = Field(default=0, sa_type=Number)
    cache_write: int = Field(default=0, sa_type=Number)
    output: int = Field(default=0, sa_type=Number)
    reasoning: int = Field(default=0, sa_type=Number)
    cost: float | None = Field(default=None, sa_type=Money)
    duration_ms: int = Field(default=0, sa_type=Number)
    extra: Any = Field(default=None, sa_type=CleanJson)
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)


class InteractionRow(SessionPart, table=True):
    """A turn. `pending` until its reflection is done; `pid` is the process that runs it; `partial` is the answer so far
    after the message `partial_after`, saved periodically; `window_spec` and `window_start` are the session's at its
    start."""

    __tablename__ = "interaction"
    __table_args__ = (
        UniqueConstraint("session_id", "number"),
        Index("ix_interaction_pending", "pending", "session_id"),
        Index("ix_interaction_status", "session_id", "status"),
    )

    number: int = Field(sa_type=Number)
    status: str = Field(default="running", sa_type=CleanText)
    pid: int = Field(default=0, sa_type=Number)
    pending: bool = False
    shown: Any = Field(default=None, sa_type=CleanJson)
    cited: Any = Field(default=None, sa_type=CleanJson)
    mark: str = Field(default="", sa_type=CleanText)
    why: str = Field(default="", sa_type=CleanText)
    started_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcTime)
    partial: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    partial_after: int = Field(default=0, sa_type=Number, sa_column_kwargs={"server_default": "0"})
    window_spec: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    window_start: int = Field(default=1, sa_type=Number, sa_column_kwargs={"server_default": "1"})

    @classmethod
    def find(cls, db: Session, session_id: str, number: int | None) -> InteractionRow | None:
        """Return the row of an interaction, or None."""
        return db.exec(select(cls).filter_by(session_id=session_id, number=number)).first()


class ReductionRow(Row, table=True):
    """A change of content that was already sent, or the start of an epoch (`opens`). Requests are a function of these
    rows and the messages."""

    __tablename__ = "reduction"
    __table_args__ = (
        Index("ix_reduction_session", "session_id", "undone", "opens", "number"),
        COUNTING,
    )
    stores = Reduction
    other_columns = frozenset(
        {"number", "session_id", "opens", "undone", "epoch", "edits", "created_at"}
    )

    number: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    how: str = Field(sa_type=CleanText)
    opens: bool = False
    undone: bool = False
    interaction: int = Field(default=0, sa_type=Number)
    step: int = Field(default=0, sa_type=Number)
    before: int = Field(default=0, sa_type=Number)
    after: int = Field(default=0, sa_type=Number)
    detail: str = Field(default="", sa_type=CleanText)
    epoch: Any = Field(default=None, sa_type=CleanJson)
    edits: Any = Field(default=None, sa_type=CleanJson)
    hold_turns: int = Field(default=0, sa_type=Number)
    hold_tokens: int = Field(default=0, sa_type=Number)
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)


class SurvivorRow(SessionPart, table=True):
    """A retained fact, unique by kind and key; the kind `pin` is a pinned interaction."""

    __tablename__ = "survivor"
    __table_args__ = (UniqueConstraint("session_id", "kind", "key"),)
    stores = RetainedFact
    other_columns = frozenset({"id", "session_id", "created_at"})

    kind: str = Field(sa_type=CleanText)
    key: str = Field(sa_type=CleanText)
    text: str = Field(default="", sa_type=CleanText)
    interaction: int = Field(default=0, sa_type=Number)
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)


class TranscriptLineRow(SessionPart, table=True):
    """A raw line of an imported transcript, since the session does not contain all of it."""

    __tablename__ = "transcript_line"
    in_journal = False
    __table_args__ = (UniqueConstraint("session_id", "line"),)

    line: int = Field(sa_type=Number)
    text: str = Field(sa_type=CleanText)
