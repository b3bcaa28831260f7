"""Fixtures for the store: a database on disk or in memory, a session manager and a statement counter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from swecli.models.playbook import Delta
from swecli.store.records import TurnLessons
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import Database
from tests.support.databases import open_database

Counter = Callable[[Database], AbstractContextManager[list[str]]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the test's database."""
    return tmp_path / "data" / "swecli.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    """Open a new database on disk."""
    opened = open_database(path)
    yield opened
    opened.close()


@pytest.fixture
def memory() -> Iterator[Database]:
    """Open a new database in memory."""
    opened = open_database(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def manager(database: Database) -> SessionManager:
    """Return a session manager without a session."""
    return SessionManager(database)


@pytest.fixture
def statements() -> Counter:
    """Return a context manager that lists the statements sent to a database."""

    @contextmanager
    def count_statements(database: Database) -> Iterator[list[str]]:
        sent: list[str] = []

        def note(statement: str) -> None:
            if not statement.startswith("--"):  # of a trigger
                sent.append(statement)

        database.connection.set_trace_callback(note)
        try:
            yield sent
        finally:
            database.connection.set_trace_callback(None)

    return count_statements


def mark(manager: SessionManager, interaction: int, word: str, why: str = "") -> None:
    """Store the user's mark on a turn, as a reflection does."""
    session = manager.current_session
    assert session is not None
    delta = Delta(
        f"{word}-{session.id}-{interaction}", (), "rules", session.id, interaction, f"mark {word}"
    )
    manager.playbook.record_lessons(session, TurnLessons(interaction, delta, mark=word, why=why))
