"""The tables of what is known of turns besides their messages. Rows are not used outside the store."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, Session, select

from swecli.store.tables.columns import CleanJson, CleanText, Number
from swecli.store.tables.sessions import Row


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
    def record(cls, db: Session, session_id: str, interaction: int, **values: Any) -> None:
        """Set columns of a turn's record."""
        row = cls.find(db, session_id, interaction)
        for name, value in values.items():
            setattr(row, name, value)
        db.add(row)


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


class LearnedRow(Row, table=True):
    """A value that learning remembers, by name."""

    __tablename__ = "playbook_learned"

    name: str = Field(primary_key=True, sa_type=CleanText)
    value: Any = Field(default=None, sa_type=CleanJson)
