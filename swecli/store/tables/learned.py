"""The tables of the playbook and of reviews. Rows are not used outside the store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Index, UniqueConstraint, text
from sqlmodel import Field, Session, select

from swecli.models.playbook import AppliedDelta, Bullet, Delta, Evidence, Op
from swecli.store.reading import BULLET, TIMES
from swecli.store.tables.columns import CleanJson, CleanText, Number, UtcTime, values
from swecli.store.tables.sessions import COUNTING, Row

_DERIVED = {
    "helpful",
    "harmful",
    "neutral",
    "uses",
    "last_used",
    "verified_at",
    "stale",
}  # not undone


class BulletRow(Row, table=True):
    """A strategy. `session_id` and `project` are its owners, if its scope is narrower than the user. `judged` is what
    the counts `helpful` and `harmful` count (see `store.playbook.counts`), null until its evidence was read."""

    __tablename__ = "bullet"
    __table_args__ = (
        Index("ix_bullet_session", "session_id", "scope"),
        Index("ix_bullet_project", "project", "scope"),
        Index("ix_bullet_vouched", "vouched_at", sqlite_where=text("vouched_at IS NOT NULL")),
        COUNTING,
    )

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
    anchors: Any = Field(default=None, sa_type=CleanJson)
    created_at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)
    updated_at: datetime | None = Field(default=None, sa_type=UtcTime)
    last_used: datetime | None = Field(default=None, sa_type=UtcTime)
    verified_at: datetime | None = Field(default=None, sa_type=UtcTime)
    stale: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    vouched_at: datetime | None = Field(default=None, sa_type=UtcTime)
    when: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    judged: Any = Field(
        default=None, sa_type=CleanJson, sa_column_kwargs={"server_default": "null"}
    )
    uses: int = Field(default=0, sa_type=Number, sa_column_kwargs={"server_default": "0"})

    def to_bullet(self) -> Bullet:
        anchors = tuple(self.anchors or ())
        return Bullet(id=f"P-{self.number}", **values(self, BULLET) | {"anchors": anchors})

    def snapshot(self) -> dict[str, Any]:
        """Return the row as JSON for `restore`, without the derived columns."""
        whole = self.to_bullet().to_json() | values(self, ("session_id", "project"))
        return {name: value for name, value in whole.items() if name not in _DERIVED}

    def restore(self, value: Mapping[str, Any]) -> None:
        """Write a snapshot into the row; derived columns keep their values."""
        known = {*BULLET, "session_id", "project"} - _DERIVED
        for name in known & value.keys():  # a snapshot of an older version may differ in its fields
            setattr(self, name, _parse(name, value[name]))


class EvidenceRow(Row, table=True):
    """Evidence on a bullet, added and removed with its `delta`. A verdict has a `kind` ("outcome", "tag", "before" for
    imported counts), the `tag` it counts as and the `effect` that a reflector saw; "faded" counts the turns that held
    the bullet back."""

    __tablename__ = "evidence"

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

    def to_applied(self) -> AppliedDelta:
        """Return the row as a delta, without verdicts."""
        same = values(self, self.shared_with(Delta, "ops", "refused"))
        delta = Delta(ops=tuple(map(_parse_op, self.ops)), refused=tuple(self.refused), **same)
        return AppliedDelta(delta, tuple(self.before), tuple(self.added), self.undone)


def _parse_op(op: Mapping[str, Any]) -> Op:
    fields = {
        n: tuple(item) if isinstance(item, list) else item
        for n, item in op.get("fields", {}).items()
    }
    evidence = (
        Evidence(**{n: _parse(n, item) for n, item in one.items()})
        for one in op.get("evidence", ())
    )
    return Op(op["op"], op.get("bullet_id", ""), fields, tuple(evidence))


def _parse(name: str, value: Any) -> Any:
    return datetime.fromisoformat(value) if value and name in TIMES else value


class ReflectionRow(Row, table=True):
    """One reflection on an interaction; `final` if it is not retried."""

    __tablename__ = "reflection"
    __table_args__ = (Index("ix_reflection_interaction", "session_id", "interaction"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(sa_type=Number)
    status: str = Field(sa_type=CleanText)
    final: bool = True


class TurnRow(Row, table=True):
    """The outcome of a turn and its `reason` in words; `good` is NULL while it is unknown. `judged` is how a reflector
    judged its exchange, `judged_why` the reason."""

    __tablename__ = "playbook_turn"
    __table_args__ = (UniqueConstraint("session_id", "interaction"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(sa_type=Number)
    good: bool | None = None
    weight: float = 0.0
    signal: str = Field(default="", sa_type=CleanText)
    reason: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    topic: str = Field(default="", sa_type=CleanText)
    judged: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    judged_why: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})

    @classmethod
    def find(cls, db: Session, session_id: str, interaction: int) -> TurnRow:
        """Return the row of a turn, a new one if there is none."""
        place: dict[str, Any] = {"session_id": session_id, "interaction": interaction}
        return db.exec(select(cls).filter_by(**place)).first() or cls(**place)

    @classmethod
    def record(cls, db: Session, session_id: str, interaction: int, **known: Any) -> None:
        """Set columns of a turn's record."""
        db.add(row := cls.find(db, session_id, interaction))
        for name, value in known.items():
            setattr(row, name, list(value) if isinstance(value, (tuple, frozenset)) else value)


class ChoiceRow(Row, table=True):
    """The selection of a turn, as `Selection.to_json` returns it."""

    __tablename__ = "playbook_choice"

    session_id: str = Field(primary_key=True, foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(primary_key=True, sa_type=Number)
    choice: Any = Field(default=None, sa_type=CleanJson)


class CheckRow(Row, table=True):
    """The result of a check command at the end of a turn; `failing` are the lines that name a failure. One that is
    `undone_by` an undo of the turn's files tells nothing about the project."""

    __tablename__ = "check_result"
    __table_args__ = (Index("ix_check_result", "project", "undone_by", "command", "id"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    project: str = Field(default="", sa_type=CleanText)
    command: str = Field(default="", sa_type=CleanText)
    session_id: str = Field(default="", sa_type=CleanText)
    interaction: int = Field(default=0, sa_type=Number)
    passed: bool = False
    failing: Any = Field(default=None, sa_type=CleanJson)
    undone_by: int = Field(default=0, sa_type=Number)


class FindingRow(Row, table=True):
    """A finding, once for each project and fingerprint. `fixes` counts how often it, or one like it, was fixed; `more`
    holds what no query asks for: verdict, judgement, symbol, aliases, source."""

    __tablename__ = "finding"
    __table_args__ = (
        UniqueConstraint("project", "fingerprint"),
        Index("ix_finding_state", "project", "state", "path"),
        COUNTING,
    )

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
    __table_args__ = (Index("ix_finding_change", "finding"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    finding: int = Field(foreign_key="finding.number", sa_type=Number)
    before: str = Field(default="", sa_type=CleanText)
    after: str = Field(default="", sa_type=CleanText)
    cause: str = Field(default="", sa_type=CleanText)
    by: str = Field(default="", sa_type=CleanText)
    why: str = Field(default="", sa_type=CleanText)
    at: datetime = Field(default_factory=UtcTime.now, sa_type=UtcTime)
