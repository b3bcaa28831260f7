"""Figures of the store, in this process: storing a message durably; resuming, listing and searching among many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime

import sqlalchemy
from sqlmodel import Field, SQLModel, create_engine
from sqlmodel import Session as Transaction

from scripts.benchmarks.place import Place
from scripts.benchmarks.rows import Effort, Row, medians, timed
from scripts.benchmarks.stored import COMMON, RARE, long_session, many_sessions
from swecli.models.message import ChatMessage, Role
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import Database, open_database

TEXT = "The prices are read from the file, kept with tax, and rounded as late as can be. " * 6
FEW, MANY = 100, 10_000


class BareMessage(SQLModel, table=True):
    """The smallest row that a stored message needs."""

    id: int | None = Field(default=None, primary_key=True)
    session: str = Field(index=True)
    role: str
    content: str
    created_at: datetime


def storing(place: Place, effort: Effort) -> Iterator[Row]:
    """Yield the rows as they are measured."""
    with closing(open_database(place.folder / "append.db")) as database:
        append, bare = _append(database), _bare_insert(place)
        ours, least = medians(effort.inserts, timed(append), timed(bare))
    yield Row(
        "append one message, durable", "ms", ours, least, "a bare SQLModel insert, as durable", 3.0
    )
    yield from _among_many(place, effort)


def _append(database: Database) -> Callable[[], object]:
    sessions = SessionManager(database)
    sessions.start("/project", "demo")
    sessions.begin_interaction("what of the prices?")
    return lambda: sessions.append(ChatMessage(Role.ASSISTANT, TEXT))


def _bare_insert(place: Place) -> Callable[[], None]:
    engine = create_engine(f"sqlite:///{place.folder / 'bare-insert.db'}")

    @sqlalchemy.event.listens_for(engine, "connect")
    def durable(connection: sqlalchemy.engine.interfaces.DBAPIConnection, _: object) -> None:
        connection.cursor().execute("PRAGMA journal_mode = WAL")
        connection.cursor().execute("PRAGMA synchronous = FULL")

    SQLModel.metadata.create_all(engine)

    def insert() -> None:
        with Transaction(engine) as transaction:
            now = datetime.now(UTC)
            transaction.add(
                BareMessage(session="s", role="assistant", content=TEXT, created_at=now)
            )
            transaction.commit()

    return insert


def _among_many(place: Place, effort: Effort) -> Iterator[Row]:
    found = []
    for size in (MANY, FEW):
        path = place.folder / f"{size}.db"
        many_sessions(path, place.project, size)
        session = long_session(path, place.project, size)
        found.append((open_database(path), session))
    (large, _), (small, _) = found
    with closing(large), closing(small):
        asked = zip(
            *(_questions(SessionManager(database), session) for database, session in found),
            strict=True,
        )
        for (name, of_many), (_, of_few) in asked:
            ours, least = medians(effort.queries, timed(of_many), timed(of_few))
            yield Row(f"{name}, {MANY:,} rows", "ms", ours, least, f"{FEW} rows", 1.5)


def _questions(sessions: SessionManager, session: str) -> list[tuple[str, Callable[[], object]]]:
    """Return the measured queries by name."""
    return [
        ("resume a session", lambda: sessions.resume(session, "")),
        ("list 20 sessions", lambda: sessions.catalog.list_sessions(limit=20)),
        ("search a rare word", lambda: sessions.catalog.search(RARE)),
        ("search a common word", lambda: sessions.catalog.search(COMMON)),
    ]
