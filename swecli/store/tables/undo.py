"""The tables of changed files and of undos. Rows are not used outside the store."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlmodel import Field

from swecli.store.tables.columns import CleanJson, CleanText, FileName, Number, UtcTime
from swecli.store.tables.sessions import COUNTING, SessionPart


class FileChangeRow(SessionPart, table=True):
    """A path before and after a turn, or before and after the undo `made_by`. `before` and `after` are digests of file
    versions, empty for a missing file (mode 0) or a folder; `undone_by` is the undo that reverted it, 0 for none.
    `changed_by` is a `Changer`, "" in rows of older versions and of undos, `job` the number of the background command,
    0 for none."""

    __tablename__ = "file_change"
    __table_args__ = (Index("ix_file_change_session", "session_id", "interaction"), COUNTING)

    interaction: int = Field(default=0, sa_type=Number)
    path: str = Field(sa_type=FileName)
    before: str = Field(default="", sa_type=CleanText)
    before_mode: int = Field(default=0, sa_type=Number)
    after: str = Field(default="", sa_type=CleanText)
    after_mode: int = Field(default=0, sa_type=Number)
    made_by: int = Field(default=0, sa_type=Number)
    undone_by: int = Field(default=0, sa_type=Number)
    changed_by: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    job: int = Field(default=0, sa_type=Number, sa_column_kwargs={"server_default": "0"})


class LastingChangeRow(SessionPart, table=True):
    """A change by a turn that no undo takes back; `kind` is a `LastingKind`, which says what name and values are."""

    __tablename__ = "lasting_change"
    __table_args__ = (Index("ix_lasting_change_session", "session_id", "interaction"), COUNTING)

    interaction: int = Field(default=0, sa_type=Number)
    kind: str = Field(sa_type=CleanText)
    name: str = Field(default="", sa_type=FileName)
    before: str = Field(default="", sa_type=CleanText)
    after: str = Field(default="", sa_type=CleanText)


class UndoRow(SessionPart, table=True):
    """An undo of turns `first` to `last`, after which the session has `interactions`. `taken` is the data for a redo;
    `open` while a redo is possible. Until its files are restored `stage` says what is being done, by the process
    `pid`."""

    __tablename__ = "undo"
    in_journal = False
    __table_args__ = (Index("ix_undo_session", "session_id", "open"), COUNTING)

    first: int = Field(default=0, sa_type=Number)
    last: int = Field(default=0, sa_type=Number)
    interactions: int = Field(default=0, sa_type=Number)
    taken: Any = Field(default=None, sa_type=CleanJson)
    open: bool = True
    stage: str = Field(
        default="done", sa_type=CleanText, sa_column_kwargs={"server_default": "done"}
    )
    pid: int = Field(default=0, sa_type=Number, sa_column_kwargs={"server_default": "0"})
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)
