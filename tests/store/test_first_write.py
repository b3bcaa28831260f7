"""Test storing the first message with plain SQL: it writes the same rows as SQLModel does, and refuses unusual
files."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swecli.models.context import Edits, Epoch, Reduction, RetainedFact, WindowSpec
from swecli.models.ids import uuid7
from swecli.models.message import ChatMessage, RequestRecord, Role, ToolCall, Usage
from swecli.models.playbook import Delta, Op
from swecli.models.session import Session
from swecli.store.first_write import FAILURES, SHAPE, open_early
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import open_database
from swecli.store.sqlite.migrations import STEPS

AT = datetime(2026, 11, 1, 12, 30, 45, 120000, tzinfo=UTC)


def new_session(window: str = "5+3") -> Session:
    spec = WindowSpec.parse(window)
    return Session(
        uuid7(), "/project/ü", AT, AT, model="openai/gpt-4.1", window=spec, project="/project"
    )


def stored_rows(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return all rows, without the columns that differ between sessions."""
    with sqlite3.connect(path) as db:
        db.row_factory = sqlite3.Row
        found = {
            table: db.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("session", "message", "interaction")
        }
    apart = ("id", "session_id", "finished_at")
    return {
        table: [{name: row[name] for name in row.keys() if name not in apart} for row in these]  # noqa: SIM118
        for table, these in found.items()
    }


def store_early(
    path: Path | str, session: Session | None, content: str, at: datetime = AT
) -> tuple[Session, ChatMessage]:
    """Store a message on the early path, in a new session, or in the newest one if `session` is None."""
    message = ChatMessage(Role.USER, content, created_at=at)
    with open_early(path) as store:
        begun = store.resume(None, "/project/ü") if session is None else store.start(session)
        store.store_query(message)
    return begun, message


@pytest.fixture
def path(tmp_path: Path) -> Path:
    open_database(tmp_path / "swecli.db").close()
    return tmp_path / "swecli.db"


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1)


@settings(max_examples=5)
@given(contents=st.tuples(TEXT, TEXT, TEXT), window=st.sampled_from(["5+3", "full", "auto", "7"]))
@pytest.mark.slow
def test_the_early_path_writes_the_same_rows_as_the_store(
    tmp_path_factory: pytest.TempPathFactory, contents: tuple[str, str, str], window: str
) -> None:
    """Covers a new session's first message and a later one."""
    folder, session, (first, answer, second) = (
        tmp_path_factory.mktemp("rows"),
        new_session(window),
        contents,
    )
    for early in (True, False):
        path = folder / f"{early}.db"
        open_database(path).close()
        later = AT + timedelta(minutes=2)
        if early:
            store_early(path, session, first)
        database = open_database(path)
        sessions = SessionManager(database)
        if not early:
            sessions.use(replace(session))
            sessions._commit(ChatMessage(Role.USER, first, created_at=AT), opens=True)
        sessions.resume(None, "/project/ü")
        sessions.append(ChatMessage(Role.ASSISTANT, answer, created_at=AT + timedelta(minutes=1)))
        sessions.finish_interaction("done")
        if not early:
            sessions._commit(ChatMessage(Role.USER, second, created_at=later), opens=True)
        database.close()
        if early:
            store_early(path, None, second, later)
    assert stored_rows(folder / "True.db") == stored_rows(folder / "False.db")


def test_the_early_path_supports_the_newest_schema() -> None:
    assert len(STEPS) == SHAPE


def test_the_store_continues_a_session_begun_on_the_early_path(path: Path) -> None:
    begun = store_early(path, new_session(), "remember this")
    database = open_database(path)
    sessions = SessionManager(database)
    sessions.use(*begun)
    sessions.store_query("remember this")  # It exists already.
    asked = sessions.begin_interaction("remember this", "remember this, please")
    assert (asked.id, asked.interaction) == (1, 1)
    sessions.append(ChatMessage(Role.ASSISTANT, "I shall."))
    sessions.finish_interaction("done")
    assert [hit.snippet for hit in sessions.search("remember")] == ["remember this"]
    database.close()
    stored = stored_rows(path)
    assert [row["content"] for row in stored["message"]] == ["remember this", "I shall."]
    assert stored["message"][0]["sent"] == "remember this, please"


@pytest.mark.parametrize(
    "fault", ["missing", "memory", "foreign", "old", "damaged", "no text", "locked"]
)
def test_the_early_path_refuses_an_unusual_file(path: Path, fault: str) -> None:
    location: Path | str = path
    other: sqlite3.Connection | None = None
    match fault:
        case "missing":
            path.unlink()
        case "memory":
            location = ":memory:"
        case "foreign" | "old":
            with sqlite3.connect(path) as db:
                db.execute(
                    "PRAGMA application_id = 7" if fault == "foreign" else "PRAGMA user_version = 3"
                )
        case "damaged":
            path.write_bytes(path.read_bytes()[:100] + b"\xff" * 8000)
        case "locked":
            other = sqlite3.connect(path, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
    text = "no \0 text" if fault == "no text" else "hello"
    with pytest.raises(FAILURES):
        store_early(location, new_session(), text)
    if other is not None:
        other.close()
    if fault in ("foreign", "old", "no text", "locked"):
        assert stored_rows(path)["message"] == []


@pytest.mark.parametrize("change", ["a turn runs", "a turn was stored", "it was deleted"])
def test_the_early_path_refuses_a_session_changed_by_another_process(
    path: Path, change: str
) -> None:
    database = open_database(path)
    sessions = SessionManager(database)
    sessions.use(new_session())
    sessions.begin_interaction("first")
    sessions.finish_interaction("done")
    with pytest.raises(FAILURES), open_early(path) as store:  # noqa: PT012
        store.resume(None, "/project/ü")
        if change == "it was deleted":
            SessionManager(database).delete(sessions.session.id)
        else:
            sessions.begin_interaction("second")
        if change == "a turn was stored":
            sessions.finish_interaction("done")
        store.store_query(ChatMessage(Role.USER, "mine"))
    assert "mine" not in [row["content"] for row in stored_rows(path)["message"]]
    sessions.database.close()


def test_the_early_path_reads_a_session_like_the_store(path: Path) -> None:
    database = open_database(path)
    sessions = SessionManager(database)
    session = sessions.use(new_session("2"))
    for number in range(1, 16):
        sessions.begin_interaction(f"question {number}")
        made = [
            ToolCall(f"call_{number}", "read_file", {"path": "a"}, result="text", approved=True)
        ]
        sessions.append(
            ChatMessage(
                Role.ASSISTANT, "answer", made, blocks={"origin": "x", "content": [{"n": number}]}
            )
        )
        sessions.finish_interaction("done")
        if number in (1, 4):
            opened = (
                Epoch(number, "system", {"P-1": "x"}, pins=(1,))
                if number == 4
                else Epoch(1, "system")
            )
            sessions.context.add(session, Reduction("window", number, epoch=opened))
    sessions.context.pin(session, 1)
    sessions.context.add(session, Reduction("clear", 9, edits=Edits(("9.1",))))
    sessions.context.keep(session, [RetainedFact("read", "a", "a", 2)])
    usage = RequestRecord("openai/gpt-4.1", "turn", 15, 1, Usage(10), 0.5, 7, {"counted": 12})
    sessions.record_request(usage)
    sessions.playbook.apply(
        Delta("d", (Op("ADD", fields={"content": "Run the linter."}),), "user"), session
    )
    read = sessions.resume(None, "/project/ü")
    database.close()
    with open_early(path) as store:
        assert store.resume(None, "/project/ü") == read
    assert [message.interaction for message in read.messages][::2] == list(range(4, 16))
