"""Create databases of a given size quickly, with many rows per transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy
from sqlmodel import Session as Transaction
from sqlmodel import SQLModel

from swecli.models.context import Epoch
from swecli.models.ids import uuid7
from swecli.models.message import Role
from swecli.models.window_spec import WindowSpec
from swecli.store.sqlite.database import open_database
from swecli.store.tables.sessions import InteractionRow, MessageRow, ReductionRow, SessionRow

RARE, COMMON = "quokka", "prices"
ANSWER = " They are kept with tax, and rounded as late as can be." * 8
SYSTEM = "You work in the user's terminal. " * 100
TURNS_OF_AN_EPOCH = 4
_BEGAN = datetime(2025, 1, 1, tzinfo=UTC)


def long_session(database: Path, directory: Path, messages: int) -> str:
    """Store one session of that many messages, the newest of its directory; return its id."""
    return _put(database, directory, sessions=1, messages=messages)


def many_sessions(database: Path, directory: Path, sessions: int) -> None:
    """Store that many sessions of one message each."""
    _put(database, directory, sessions=sessions, messages=1)


def _put(path: Path, directory: Path, *, sessions: int, messages: int) -> str:
    made = [_session(directory, number, messages) for number in range(sessions)]
    database = open_database(path)
    try:
        with database.transaction() as db:
            _insert(db, "number", made)
            _insert(db, "id", [row for session in made for row in _interactions(session)])
            _insert(db, "id", [row for session in made for row in _messages(session, messages)])
            _insert(db, "number", [row for session in made for row in _epochs(session)])
    finally:
        database.close()
    return made[-1].id


def _insert(db: Transaction, key: str, rows: Sequence[SQLModel]) -> None:
    """Insert all rows in one statement with keys from the database, ten times as fast as one by one."""
    db.connection().execute(
        sqlalchemy.insert(type(rows[0])), [row.model_dump(exclude={key}) for row in rows]
    )


def _session(directory: Path, number: int, messages: int) -> SessionRow:
    at = _BEGAN + timedelta(minutes=number)
    here = str(directory)
    return SessionRow(
        id=uuid7(), directory=here, project=here, created_at=at, updated_at=at, title=f"work {number}",
        window_spec=str(WindowSpec()), messages=messages, interactions=(messages + 1) // 2,
    )  # fmt: skip


def _interactions(row: SessionRow) -> list[InteractionRow]:
    return [
        InteractionRow(session_id=row.id, number=n + 1, status="done")
        for n in range(row.interactions)
    ]


def _epochs(row: SessionRow) -> list[ReductionRow]:
    """Return an epoch for every four turns, as a window of 5+3 has."""
    made = []
    for first in range(1, row.interactions + 1, TURNS_OF_AN_EPOCH):
        epoch = asdict(Epoch(first, SYSTEM, {"P-1": "Run make check."}, spec="5+3"))
        made.append(
            ReductionRow(
                session_id=row.id, how="window", opens=True, interaction=first + 4, epoch=epoch
            )
        )
    return made


def _messages(row: SessionRow, count: int) -> list[MessageRow]:
    """Return alternating questions and answers, each with the common word; a session of several messages begins with
    the rare one."""
    made = []
    for n in range(count):
        asks = n % 2 == 0
        text = (
            f"The {COMMON} of module {n % 97}, question {n}. {RARE if n == 0 and count > 1 else ''}"
        )
        made.append(
            MessageRow(
                session_id=row.id,
                interaction=n // 2 + 1,
                role=Role.USER if asks else Role.ASSISTANT,
                content=text if asks else text + ANSWER,
                created_at=row.created_at,
            )
        )
    return made
