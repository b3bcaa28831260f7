"""The first message of a session in plain statements: the same rows as by SQLModel, and never in an unusual file."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.models.message import ChatMessage, Role
from swecli.models.session import Session, uuid7
from swecli.models.window import WindowSpec
from swecli.store.first_write import SHAPE, first_write
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
from swecli.store.sqlite.migrations import STEPS

AT = datetime(2026, 11, 1, 12, 30, 45, 120000, tzinfo=UTC)


def new_session(window: str = "5+3") -> Session:
    spec = WindowSpec.parse(window)
    return Session(uuid7(), "/project/ü", AT, AT, model="openai/gpt-4.1", window=spec, project="/project")


def rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    """What is stored, without the columns that differ from session to session."""
    with sqlite3.connect(path) as db:
        db.row_factory = sqlite3.Row
        found = {
            table: db.execute(f"SELECT * FROM {table}").fetchall() for table in ("session", "message", "interaction")
        }
    return {
        table: [{name: row[name] for name in row.keys() if name not in ("id", "session_id")} for row in these]  # noqa: SIM118
        for table, these in found.items()
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    open_database(tmp_path / "swecli.db").close()
    return tmp_path / "swecli.db"


@settings(max_examples=5)
@given(
    content=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1),
    window=st.sampled_from(["5+3", "full", "auto", "7"]),
)
@pytest.mark.slow
def test_the_rows_are_those_of_the_store(tmp_path_factory: pytest.TempPathFactory, content: str, window: str) -> None:
    folder, session = tmp_path_factory.mktemp("rows"), new_session(window)
    databases = [folder / "plain.db", folder / "store.db"]
    for one in databases:
        open_database(one).close()
    with first_write(databases[0], session, ChatMessage(Role.USER, content, created_at=AT)) as written:
        assert written
    database = open_database(databases[1])
    sessions = SessionManager(database)
    sessions.use(new_session(window))
    sessions._commit(ChatMessage(Role.USER, content, created_at=AT), opens=True)
    database.close()
    assert rows(databases[0]) == rows(databases[1])


def test_it_knows_the_newest_shape() -> None:
    assert len(STEPS) == SHAPE


def test_the_store_goes_on_with_it(path: Path) -> None:
    session, message = new_session(), ChatMessage(Role.USER, "remember this")
    with first_write(path, session, message) as written:
        assert written
        database = open_database(path)
        sessions = SessionManager(database)
        sessions.use(session, message)
    asked = sessions.begin_interaction("remember this", "remember this, please")
    assert (asked.id, asked.interaction) == (1, 1)
    sessions.append(ChatMessage(Role.ASSISTANT, "I shall."))
    sessions.finish_interaction("done")
    assert [hit.snippet for hit in sessions.search("remember")] == ["remember this"]
    database.close()
    stored = rows(path)
    assert [row["content"] for row in stored["message"]] == ["remember this", "I shall."]
    assert stored["message"][0]["sent"] == "remember this, please"


@pytest.mark.parametrize("fault", ["missing", "memory", "foreign", "old", "damaged", "no text", "locked"])
def test_an_unusual_file_is_left_alone(path: Path, fault: str) -> None:
    location: Path | str = path
    other: sqlite3.Connection | None = None
    match fault:
        case "missing":
            path.unlink()
        case "memory":
            location = ":memory:"
        case "foreign" | "old":
            with sqlite3.connect(path) as db:
                db.execute("PRAGMA application_id = 7" if fault == "foreign" else "PRAGMA user_version = 3")
        case "damaged":
            path.write_bytes(path.read_bytes()[:100] + b"\xff" * 8000)
        case "locked":
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
    text = "no \0 text" if fault == "no text" else "hello"
    with first_write(location, new_session(), ChatMessage(Role.USER, text)) as written:
        assert not written
    if other is not None:
        other.close()
    if fault in ("foreign", "old", "no text", "locked"):
        assert rows(path)["message"] == []
