"""The rows of undo: what each turn changed of files, and what was taken back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlmodel import Field

from swecli.store.tables.columns import CleanJson, CleanText, Number, UtcTime, now
from swecli.store.tables.sessions import COUNTING, Row


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
