"""The tables of the playbook: its bullets, their evidence and their deltas. Rows are not used outside the store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Index, inspect, text
from sqlmodel import Field

from swecli.models.doubts import Doubt
from swecli.models.playbook import Bullet, Delta, Evidence
from swecli.store.journal.values import read_tuple, values
from swecli.store.tables.columns import CleanJson, CleanText, Number, UtcTime, converted
from swecli.store.tables.sessions import COUNTING, Row

# columns that a snapshot leaves out: they are computed from the evidence, and an undo keeps them
_DERIVED = {
    "helpful",
    "harmful",
    "neutral",
    "uses",
    "last_used",
    "verified_at",
    "stale",
}


class BulletRow(Row, table=True):
    """A strategy. `session_id` and `project` are its owners, if its scope is narrower than the user."""

    __tablename__ = "bullet"
    __table_args__ = (
        Index("ix_bullet_session", "session_id", "scope"),
        Index("ix_bullet_project", "project", "scope"),
        Index("ix_bullet_vouched", "vouched_at", sqlite_where=text("vouched_at IS NOT NULL")),
        COUNTING,
    )
    stores = Bullet
    other_columns = frozenset({"number", "session_id", "project"})

    number: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(default="", sa_type=CleanText)
    project: str = Field(default="", sa_type=CleanText)
    content: str = Field(sa_type=CleanText)
    section: str = Field(default="general", sa_type=CleanText)
    kind: str = Field(default="strategy", sa_type=CleanText)
    scope: str = Field(default="session", sa_type=CleanText)
    state: str = Field(default="active", sa_type=CleanText)
    trust: str = Field(default="reasoning", sa_type=CleanText)
    helpful: int = Field(default=0, sa_type=Number)
    harmful: int = Field(default=0, sa_type=Number)
    neutral: int = Field(default=0, sa_type=Number)
    anchors: Any = Field(default=None, sa_type=CleanJson, sa_column_kwargs=converted(read_tuple))
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)
    updated_at: datetime | None = Field(default=None, sa_type=UtcTime)
    last_used: datetime | None = Field(default=None, sa_type=UtcTime)
    verified_at: datetime | None = Field(default=None, sa_type=UtcTime)
    stale: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    vouched_at: datetime | None = Field(default=None, sa_type=UtcTime)
    when: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    uses: int = Field(default=0, sa_type=Number, sa_column_kwargs={"server_default": "0"})
    doubt: str = Field(
        default=Doubt.NONE,
        sa_type=CleanText,
        sa_column_kwargs={"server_default": ""} | converted(Doubt),
    )
    replaces: Any = Field(
        default=None,
        sa_type=CleanJson,
        sa_column_kwargs={"server_default": "null"} | converted(read_tuple),
    )
    paths: Any = Field(
        default=None,
        sa_type=CleanJson,
        sa_column_kwargs={"server_default": "null"} | converted(read_tuple),
    )

    def to_bullet(self) -> Bullet:
        fields = values(self, self.stored_fields()) | {"doubt": Doubt(self.doubt)}
        fields |= {name: read_tuple(fields[name]) for name in ("anchors", "replaces", "paths")}
        return Bullet(id=f"P-{self.number}", **fields)

    def snapshot(self) -> dict[str, Any]:
        """Return the row as JSON for `restore`, without the derived columns."""
        whole = self.to_bullet().to_json() | values(self, ("session_id", "project"))
        return {name: value for name, value in whole.items() if name not in _DERIVED}

    def restore(self, value: Mapping[str, Any]) -> None:
        """Write a snapshot into the row; derived columns keep their values."""
        names = {*self.stored_fields(), "session_id", "project"} - _DERIVED
        columns = inspect(type(self)).columns
        for name in names & value.keys():  # a snapshot of an older version may differ in its fields
            stored_value = value[name]
            is_time = stored_value and isinstance(columns[name].type, UtcTime)
            setattr(self, name, datetime.fromisoformat(stored_value) if is_time else stored_value)


class EvidenceRow(Row, table=True):
    """Evidence on a bullet, added and removed with its `delta`. A verdict has a `kind` ("outcome", "tag"), the `tag` it
    counts as and the `effect` that a reflector saw. 0.2.0 also stored "before" for imported counts, and "faded"."""

    __tablename__ = "evidence"
    stores = Evidence
    other_columns = frozenset({"id", "bullet", "delta", "kind", "tag", "effect"})

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    bullet: int = Field(foreign_key="bullet.number", sa_type=Number, index=True)
    delta: int | None = Field(default=None, sa_type=Number, index=True)
    source: str = Field(default="", sa_type=CleanText)
    quote: str = Field(default="", sa_type=CleanText)
    session_id: str = Field(default="", sa_type=CleanText)
    interaction: int | None = Field(default=None, sa_type=Number)
    call_id: str = Field(default="", sa_type=CleanText)
    trust: str = Field(default="reasoning", sa_type=CleanText)
    created_at: datetime | None = Field(default=None, sa_type=UtcTime)
    kind: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    tag: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    effect: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    is_consent: bool = Field(default=False, sa_column_kwargs={"server_default": "0"})


class DeltaRow(Row, table=True):
    """A delta with the snapshots for undo (`before`) and redo (`kept`). `reach` is its bullets' widest scope; `turned`
    numbers undos and redos (0: none); `judged` is the outcome of a marked turn before and after."""

    __tablename__ = "delta"
    __table_args__ = (
        Index("ix_delta_session", "session_id", "number"),
        Index("ix_delta_turn", "session_id", "interaction"),
        Index("ix_delta_undone", "undone", sqlite_where=text("undone = 1")),
        Index("ix_delta_reach", "reach", "project", "number"),
        Index("ix_delta_turned", "turned"),
        COUNTING,
    )
    stores = Delta
    other_columns = frozenset(
        {"number", "project", "reach", "ops", "refused", "before", "added", "undone"}
        | {"turned", "kept", "judged"}
    )

    number: int | None = Field(default=None, primary_key=True, sa_type=Number)
    id: str = Field(sa_type=CleanText, unique=True)
    session_id: str = Field(default="", sa_type=CleanText)
    project: str = Field(default="", sa_type=CleanText)
    reach: str = Field(default="session", sa_type=CleanText)
    author: str = Field(default="", sa_type=CleanText)
    interaction: int | None = Field(default=None, sa_type=Number)
    reason: str = Field(default="", sa_type=CleanText)
    ops: Any = Field(default=None, sa_type=CleanJson)
    refused: Any = Field(default=None, sa_type=CleanJson)
    before: Any = Field(default=None, sa_type=CleanJson)
    added: Any = Field(default=None, sa_type=CleanJson)
    undone: bool = False
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)
    turned: int = Field(default=0, sa_type=Number, sa_column_kwargs={"server_default": "0"})
    kept: Any = Field(default=None, sa_type=CleanJson, sa_column_kwargs={"server_default": "null"})
    judged: Any = Field(
        default=None, sa_type=CleanJson, sa_column_kwargs={"server_default": "null"}
    )
