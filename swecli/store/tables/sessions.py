"""The rows, as tables. They never leave this folder."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from swecli.store.tables.columns import CleanJson, CleanText, Money, Number, UtcTime, now

COUNTING = {"sqlite_autoincrement": True}  # a number once given is never given again, also after a deletion


class Row(SQLModel, registry=registry()):
    """Base of all tables, with a catalogue of its own: whatever else in the process uses SQLModel stays out."""

    model_config = {"defer_build": True}  # rows are not validated: their validators would only cost time at each start


class SessionRow(Row, table=True):
    """A session with the counters a list shows, so that no list has to count. `cost` is NULL once any is unknown."""

    __tablename__ = "session"
    __table_args__ = (Index("ix_session_directory", "directory", "updated_at"), COUNTING)

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
    created_at: datetime = Field(default_factory=now, sa_type=UtcTime)
    updated_at: datetime = Field(default_factory=now, sa_type=UtcTime, index=True)


class MessageRow(Row, table=True):
    """A message; `id` counts up, so that newest first needs no other order."""

    __tablename__ = "message"
    __table_args__ = (
        Index("ix_message_session", "session_id", "id"),
        Index("ix_message_interaction", "session_id", "interaction"),
        COUNTING,
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(default=0, sa_type=Number)
    role: str = Field(sa_type=CleanText)
    content: str = Field(default="", sa_type=CleanText)
    sent: str | None = Field(default=None, sa_type=CleanText)
    reasoning: str = Field(default="", sa_type=CleanText)
    tokens: int | None = Field(default=None, sa_type=Number)
    status: str = Field(default="complete", sa_type=CleanText)
    created_at: datetime = Field(default_factory=now, sa_type=UtcTime)
    encoding: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    blocks: Any = Field(default=None, sa_type=CleanJson)
    images: Any = Field(default=None, sa_type=CleanJson)


class CallRow(Row, table=True):
    """A tool call. Its order within a message is its `id`'s; providers may use a `call_id` twice in a session."""

    __tablename__ = "tool_call"
    __table_args__ = (Index("ix_tool_call_session", "session_id", "call_id"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    message_id: int = Field(foreign_key="message.id", sa_type=Number, index=True)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    call_id: str = Field(sa_type=CleanText)
    name: str = Field(sa_type=CleanText)
    parameters: Any = Field(default=None, sa_type=CleanJson)
    result: str | None = Field(default=None, sa_type=CleanText)
    error: str | None = Field(default=None, sa_type=CleanText)
    approved: bool | None = None
    decision: str = Field(default="", sa_type=CleanText)
    reason: str = Field(default="", sa_type=CleanText)
    exit_code: int | None = Field(default=None, sa_type=Number)
    duration_ms: int | None = Field(default=None, sa_type=Number)
    tokens: int | None = Field(default=None, sa_type=Number)


class FullResultRow(Row, table=True):
    """A result longer than what the model got. Apart from the call, so that loading a session leaves it out."""

    __tablename__ = "full_result"

    call: int = Field(primary_key=True, foreign_key="tool_call.id", sa_type=Number)
    text: str = Field(sa_type=CleanText)


class RequestRow(Row, table=True):
    """A request to a model, with its tokens in five buckets and what they cost."""

    __tablename__ = "model_request"

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
    created_at: datetime = Field(default_factory=now, sa_type=UtcTime)


class InteractionRow(Row, table=True):
    """A turn's record. `pending` while its reflection is still to be made; `pid` of the process that ran it; `partial`
    is what the model had answered behind the message `partial_after` when it was last looked, while the turn runs;
    `window_spec` and `window_start` are the session's when it began."""

    __tablename__ = "interaction"
    __table_args__ = (
        UniqueConstraint("session_id", "number"),
        Index("ix_interaction_pending", "pending", "session_id"),
        Index("ix_interaction_status", "session_id", "status"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    number: int = Field(sa_type=Number)
    status: str = Field(default="running", sa_type=CleanText)
    pid: int = Field(default=0, sa_type=Number)
    pending: bool = False
    shown: Any = Field(default=None, sa_type=CleanJson)
    cited: Any = Field(default=None, sa_type=CleanJson)
    mark: str = Field(default="", sa_type=CleanText)
    why: str = Field(default="", sa_type=CleanText)
    started_at: datetime = Field(default_factory=now, sa_type=UtcTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcTime)
    partial: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    partial_after: int = Field(default=0, sa_type=Number, sa_column_kwargs={"server_default": "0"})
    window_spec: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    window_start: int = Field(default=1, sa_type=Number, sa_column_kwargs={"server_default": "1"})


class ReductionRow(Row, table=True):
    """What changed bytes already sent, or began an epoch (`opens`). What is sent is a function of these rows and the
    messages."""

    __tablename__ = "reduction"
    __table_args__ = (Index("ix_reduction_session", "session_id", "undone", "opens", "number"), COUNTING)

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
    created_at: datetime = Field(default_factory=now, sa_type=UtcTime)


class SurvivorRow(Row, table=True):
    """What outlives every reduction, one of each kind and key; `kind` pin is a pinned interaction."""

    __tablename__ = "survivor"
    __table_args__ = (UniqueConstraint("session_id", "kind", "key"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    kind: str = Field(sa_type=CleanText)
    key: str = Field(sa_type=CleanText)
    text: str = Field(default="", sa_type=CleanText)
    interaction: int = Field(default=0, sa_type=Number)
    created_at: datetime = Field(default_factory=now, sa_type=UtcTime)


class TranscriptLineRow(Row, table=True):
    """A line of another tool's transcript as it was read: the session that it became leaves some of it out."""

    __tablename__ = "transcript_line"
    __table_args__ = (UniqueConstraint("session_id", "line"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    line: int = Field(sa_type=Number)
    text: str = Field(sa_type=CleanText)


class FileChangeRow(Row, table=True):
    """One path before and after a turn, or before and after an undo where `made_by` names one. `before` and `after`
    are digests of file versions, empty where nothing is there (mode 0) or for a folder; `undone_by` is the undo that
    took it back, 0 where it still applies."""

    __tablename__ = "file_change"
    __table_args__ = (Index("ix_file_change_session", "session_id", "interaction"), COUNTING)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(default=0, sa_type=Number)
    path: str = Field(sa_type=CleanText)
    before: str = Field(default="", sa_type=CleanText)
    before_mode: int = Field(default=0, sa_type=Number)
    after: str = Field(default="", sa_type=CleanText)
    after_mode: int = Field(default=0, sa_type=Number)
    made_by: int = Field(default=0, sa_type=Number)
    undone_by: int = Field(default=0, sa_type=Number)


class UndoRow(Row, table=True):
    """An undo of the turns from `first` to `last`, which left the session with so many `interactions`. `taken` is what
    a redo needs; `open` while it may be redone."""

    __tablename__ = "undo"
    __table_args__ = (Index("ix_undo_session", "session_id", "open"), COUNTING)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    first: int = Field(default=0, sa_type=Number)
    last: int = Field(default=0, sa_type=Number)
    interactions: int = Field(default=0, sa_type=Number)
    taken: Any = Field(default=None, sa_type=CleanJson)
    open: bool = True
    created_at: datetime = Field(default_factory=now, sa_type=UtcTime)
