"""The rows of the playbook: bullets, evidence, changes, what it did in each turn, and reflections."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index, UniqueConstraint, text
from sqlmodel import Field

from swecli.store.tables.columns import CleanJson, CleanText, Number, UtcTime, now
from swecli.store.tables.sessions import COUNTING, Row


class BulletRow(Row, table=True):
    """A strategy. `session_id` and `project` say where it belongs when its scope is narrower than the user."""

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
    created_at: datetime = Field(default_factory=now, sa_type=UtcTime)
    updated_at: datetime | None = Field(default=None, sa_type=UtcTime)
    last_used: datetime | None = Field(default=None, sa_type=UtcTime)
    verified_at: datetime | None = Field(default=None, sa_type=UtcTime)
    stale: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    vouched_at: datetime | None = Field(default=None, sa_type=UtcTime)
    when: str = Field(default="", sa_type=CleanText, sa_column_kwargs={"server_default": ""})
    belief: Any = Field(default=None, sa_type=CleanJson, sa_column_kwargs={"server_default": "null"})
    uses: int = Field(default=0, sa_type=Number, sa_column_kwargs={"server_default": "0"})


class EvidenceRow(Row, table=True):
    """Why a bullet is believed; `delta` is the change that brought it, and takes it away when undone. A verdict has a
    `kind` ("outcome", "tag", "before" for what older versions had counted), the `tag` it counts as, and the three
    `factors` it multiplied; a row of the kind "faded" counts turns in which its score held it back."""

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
    factors: Any = Field(default=None, sa_type=CleanJson, sa_column_kwargs={"server_default": "null"})
    forget: float = Field(default=0.0, sa_column_kwargs={"server_default": "0"})


class DeltaRow(Row, table=True):
    """A change of the playbook with all that is needed to take it back, and to bring it back then. `reach` is its
    bullets' widest scope; `turned` counts on with every change that is taken back or brought back, 0 for one that
    always stood; `kept` is what was seen of strategies that go with it, `judged` how a marked turn stood before and
    after."""

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
    created_at: datetime = Field(default_factory=now, sa_type=UtcTime)
    turned: int = Field(default=0, sa_type=Number, sa_column_kwargs={"server_default": "0"})
    kept: Any = Field(default=None, sa_type=CleanJson, sa_column_kwargs={"server_default": "null"})
    judged: Any = Field(default=None, sa_type=CleanJson, sa_column_kwargs={"server_default": "null"})


class ReflectionRow(Row, table=True):
    """One try at learning from an interaction; `final` when there will be no other."""

    __tablename__ = "reflection"
    __table_args__ = (Index("ix_reflection_interaction", "session_id", "interaction"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(sa_type=Number)
    status: str = Field(sa_type=CleanText)
    final: bool = True


class TurnRow(Row, table=True):
    """What one turn shows about the strategies in it. `good` is NULL while nothing shows how it went."""

    __tablename__ = "playbook_turn"
    __table_args__ = (UniqueConstraint("session_id", "interaction"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(sa_type=Number)
    good: bool | None = None
    weight: float = 0.0
    signal: str = Field(default="", sa_type=CleanText)
    topic: str = Field(default="", sa_type=CleanText)
    withheld: Any = Field(default=None, sa_type=CleanJson)


class SwitchRow(Row, table=True):
    """A project in which the playbook is switched off."""

    __tablename__ = "playbook_switch"

    project: str = Field(primary_key=True, sa_type=CleanText)


class ChoiceRow(Row, table=True):
    """How a turn's strategies were chosen, as `Chosen.to_json` gives it."""

    __tablename__ = "playbook_choice"

    session_id: str = Field(primary_key=True, foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(primary_key=True, sa_type=Number)
    choice: Any = Field(default=None, sa_type=CleanJson)


class CheckRow(Row, table=True):
    """How a check command last ended in a workspace, in any session; `failing` are the lines that name what fails."""

    __tablename__ = "playbook_check"

    project: str = Field(primary_key=True, sa_type=CleanText)
    command: str = Field(primary_key=True, sa_type=CleanText)
    passed: bool = False
    failing: Any = Field(default=None, sa_type=CleanJson)


class LearnedRow(Row, table=True):
    """A figure that scoring keeps by name: a reflector's insight and habit, the odds of one kind of turn."""

    __tablename__ = "playbook_learned"

    name: str = Field(primary_key=True, sa_type=CleanText)
    value: Any = Field(default=None, sa_type=CleanJson)
