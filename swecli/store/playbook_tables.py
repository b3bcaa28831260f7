"""The rows of what the playbook did in each turn, of reflections not applied yet, and of where it is switched off."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from swecli.store.tables.columns import CleanJson, CleanText, Number, UtcTime
from swecli.store.tables.sessions import Row, UsageColumns


def _now() -> datetime:
    return datetime.now(UTC)


class TurnRow(Row, table=True):
    """What one turn says about the strategies in it. `good` is NULL while nothing told how it went."""

    __tablename__ = "playbook_turn"
    __table_args__ = (UniqueConstraint("session_id", "interaction"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(sa_type=Number)
    good: bool | None = None
    weight: float = 0.0
    signal: str = Field(default="", sa_type=CleanText)
    topic: str = Field(default="", sa_type=CleanText)
    contradicted: Any = Field(default=None, sa_type=CleanJson)
    unknown: Any = Field(default=None, sa_type=CleanJson)
    errors: int = Field(default=0, sa_type=Number)
    ablation: str = Field(default="", sa_type=CleanText)
    withheld: Any = Field(default=None, sa_type=CleanJson)
    seed: int = Field(default=0, sa_type=Number)
    created_at: datetime = Field(default_factory=_now, sa_type=UtcTime)


class DraftRow(UsageColumns, Row, table=True):
    """What a reflection came to and is not applied yet: a program killed here asks no model a second time."""

    __tablename__ = "reflection_draft"
    __table_args__ = (UniqueConstraint("session_id", "interaction"),)

    id: int | None = Field(default=None, primary_key=True, sa_type=Number)
    session_id: str = Field(foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(sa_type=Number)
    delta: Any = Field(default=None, sa_type=CleanJson)
    lines: Any = Field(default=None, sa_type=CleanJson)
    refused: Any = Field(default=None, sa_type=CleanJson)
    author: str = Field(default="", sa_type=CleanText)
    failure: str | None = Field(default=None, sa_type=CleanText)
    requests: int = Field(default=0, sa_type=Number)
    errors: int = Field(default=0, sa_type=Number)
    created_at: datetime = Field(default_factory=_now, sa_type=UtcTime)


class SwitchRow(Row, table=True):
    """A project in which the playbook is switched off."""

    __tablename__ = "playbook_switch"

    project: str = Field(primary_key=True, sa_type=CleanText)
    created_at: datetime = Field(default_factory=_now, sa_type=UtcTime)


class ChoiceRow(Row, table=True):
    """How a turn's strategies were chosen, as `Chosen.to_json` says it."""

    __tablename__ = "playbook_choice"

    session_id: str = Field(primary_key=True, foreign_key="session.id", sa_type=CleanText)
    interaction: int = Field(primary_key=True, sa_type=Number)
    choice: Any = Field(default=None, sa_type=CleanJson)


class StandingRow(Row, table=True):
    """What the strategies of a project are worth by its turns up to one of them: `upto` is that turn's row, `latest`
    when it began. `era` counts changes of the past; `state` is "" when they reached what was covered."""

    __tablename__ = "playbook_standing"

    project: str = Field(primary_key=True, sa_type=CleanText)
    era: int = Field(default=0, sa_type=Number)
    upto: int = Field(default=0, sa_type=Number)
    latest: datetime = Field(default_factory=_now, sa_type=UtcTime)
    state: str = Field(default="", sa_type=CleanText)


PLAYBOOK_TABLES = (TurnRow, DraftRow, SwitchRow, ChoiceRow, StandingRow)
