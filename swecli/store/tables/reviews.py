"""The tables of reviews and their findings. Rows are not used outside the store."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field

from swecli.models.finding import Finding
from swecli.store.tables.columns import CleanJson, CleanText, Number, UtcTime
from swecli.store.tables.sessions import COUNTING, Row


class FindingRow(Row, table=True):
    """A finding, once for each project and fingerprint. `fixes` counts how often it, or one like it, was fixed; `more`
    holds what no query asks for: verdict, judgement, symbol, aliases, source."""

    __tablename__ = "finding"
    in_journal = False
    __table_args__ = (
        UniqueConstraint("project", "fingerprint"),
        Index("ix_finding_state", "project", "state", "path"),
        COUNTING,
    )
    stores = Finding
    other_columns = frozenset({"number", "project", "fixes", "more", "created_at"})

    number: int | None = Field(default=None, primary_key=True, sa_type=Number)
    project: str = Field(sa_type=CleanText)
    fingerprint: str = Field(sa_type=CleanText)
    path: str = Field(sa_type=CleanText)
    line: int = Field(default=1, sa_type=Number)
    end_line: int | None = Field(default=None, sa_type=Number)
    kind: str = Field(default="smell", sa_type=CleanText)
    code_smell_type: str = Field(default="", sa_type=CleanText)
    severity: str = Field(default="medium", sa_type=CleanText)
    message: str = Field(default="", sa_type=CleanText)
    improvement: str = Field(default="", sa_type=CleanText)
    suggestion: str = Field(default="", sa_type=CleanText)
    evidence: str = Field(default="", sa_type=CleanText)
    verified: bool | None = None
    why: str = Field(default="", sa_type=CleanText)
    state: str = Field(default="open", sa_type=CleanText)
    reason: str = Field(default="", sa_type=CleanText)
    anchor: str = Field(default="", sa_type=CleanText)
    file_hash: str = Field(default="", sa_type=CleanText)
    block: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    loop: int = Field(default=0, sa_type=Number)
    fixes: int = Field(default=0, sa_type=Number)
    more: Any = Field(default=None, sa_type=CleanJson)
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)


class ReviewRow(Row, table=True):
    """A review, with all that going on after a kill needs besides its session's messages."""

    __tablename__ = "review"
    in_journal = False
    __table_args__ = (Index("ix_review_project", "project", "number"), COUNTING)

    number: int | None = Field(default=None, primary_key=True, sa_type=Number)
    project: str = Field(sa_type=CleanText)
    session_id: str = Field(default="", sa_type=CleanText)
    spec: Any = Field(default=None, sa_type=CleanJson)
    label: str = Field(default="", sa_type=CleanText)
    prompt: str = Field(default="", sa_type=CleanText)
    status: str = Field(default="running", sa_type=CleanText)
    loops: int = Field(default=0, sa_type=Number)
    total: int = Field(default=0, sa_type=Number)
    seen: Any = Field(default=None, sa_type=CleanJson)
    lost: Any = Field(default=None, sa_type=CleanJson)
    spent: Any = Field(default=None, sa_type=CleanJson)
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)


class ReviewFindingRow(Row, table=True):
    """That a review reported a finding: under which key, first in which loop, and how often."""

    __tablename__ = "review_finding"
    in_journal = False
    __table_args__ = (UniqueConstraint("review", "path", "line", "code_smell_type"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    review: int = Field(foreign_key="review.number", sa_type=Number)
    finding: int = Field(foreign_key="finding.number", sa_type=Number, index=True)
    path: str = Field(sa_type=CleanText)
    line: int = Field(sa_type=Number)
    code_smell_type: str = Field(sa_type=CleanText)
    loop: int = Field(default=0, sa_type=Number)
    times: int = Field(default=1, sa_type=Number)


class FindingChangeRow(Row, table=True):
    """That a finding changed its state: who, on what, why."""

    __tablename__ = "finding_change"
    in_journal = False
    __table_args__ = (Index("ix_finding_change", "finding"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    finding: int = Field(foreign_key="finding.number", sa_type=Number)
    before: str = Field(default="", sa_type=CleanText)
    after: str = Field(default="", sa_type=CleanText)
    cause: str = Field(default="", sa_type=CleanText)
    by: str = Field(default="", sa_type=CleanText)
    why: str = Field(default="", sa_type=CleanText)
    at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)
