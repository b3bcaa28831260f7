"""Test that reading and writing a session costs the same however long it is, and that damaged rows are reported."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest

from swecli.models.errors import DamagedDatabase
from swecli.models.message import ChatMessage, RequestRecord, Role, ToolCall, Usage
from swecli.models.playbook import Delta, Op
from swecli.store.journal.reader import Reader
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import Database
from swecli.store.tables.sessions import (
    CallRow,
    InteractionRow,
    MessageRow,
    ReductionRow,
    SessionRow,
)

Counter = Callable[[Database], AbstractContextManager[list[str]]]


def store_long_session(manager: SessionManager, messages: int) -> None:
    """Store a session of that many messages in one transaction."""
    session = manager.start("/p", "scripted/test", title=f"of {messages}")
    manager.begin_interaction("the first question")
    count_statements = messages // 2
    with manager.database.transaction() as db:
        for number in range(2, count_statements + 1):
            db.add(InteractionRow(session_id=session.id, number=number, status="done"))
            question = MessageRow(
                session_id=session.id, interaction=number, role="user", content=f"question {number}"
            )
            reply = MessageRow(
                session_id=session.id, interaction=number, role="assistant", content="common answer"
            )
            db.add_all([question, reply])
            db.flush()
            db.add(
                CallRow(
                    session_id=session.id,
                    message_id=reply.id or 0,
                    call_id=f"c{number}",
                    name="t",
                    parameters={},
                )
            )
        row = db.get(SessionRow, 1)
        assert row
        row.interactions, row.messages = count_statements, messages
    manager.resume(None, "/p")


def actions(manager: SessionManager) -> dict[str, Callable[[], object]]:
    call = ToolCall("new", "read_file", {"path": "x"}, result="text")
    session = manager.current_session
    assert session
    delta = Delta("d", (Op("ADD", fields={"content": "x"}),), "user")
    return {
        "begin": lambda: manager.begin_interaction("go on"),
        "append": lambda: manager.append(ChatMessage(Role.ASSISTANT, "", [call])),
        "record_call": lambda: manager.record_call(call, "the full text"),
        "record_request": lambda: manager.record_request(
            RequestRecord("m", "turn", 1, 1, Usage(1), 0.1, 1)
        ),
        "read_result": lambda: manager.read_result("new"),
        "apply": lambda: manager.playbook.apply(delta, session),
        "finish": lambda: manager.finish_interaction("done", shown_names=["P-1"], cited=["P-1"]),
        "pending": lambda: manager.turns.pending(),
        "totals": lambda: manager.totals(),
        "list": lambda: manager.catalog.list_sessions("/p"),
        "search": lambda: manager.catalog.search("common"),
        "resume": lambda: manager.resume(None, "/p", window_hint=2),
        "back": lambda: manager.load_back_to(1),
        "undo": lambda: manager.playbook.undo(session),
    }


def count_statements(manager: SessionManager, statements: Counter) -> dict[str, int]:
    counted = {}
    for name, action in actions(manager).items():
        with statements(manager.database) as sent:
            action()
        counted[name] = len(sent)
    return counted


@pytest.mark.slow
def test_the_number_of_statements_does_not_depend_on_the_length_of_the_session(
    manager: SessionManager, memory: Database, statements: Counter
) -> None:
    other = SessionManager(memory)
    store_long_session(manager, 10)
    store_long_session(other, 2000)
    short = count_statements(manager, statements)
    long = count_statements(other, statements)
    assert short == long


def test_every_write_is_one_transaction(manager: SessionManager, statements: Counter) -> None:
    store_long_session(manager, 10)
    single = ("begin", "append", "record_call", "record_request", "apply", "finish", "mark", "undo")
    for name, action in actions(manager).items():
        with statements(manager.database) as sent:
            action()
        if name in single:
            assert sum(statement.startswith("BEGIN IMMEDIATE") for statement in sent) == 1, name
            assert sent[0] == "BEGIN IMMEDIATE"


def test_reads_begin_no_write_transaction(manager: SessionManager, statements: Counter) -> None:
    store_long_session(manager, 10)
    for name in ("list", "search", "totals", "pending", "read_result"):
        with statements(manager.database) as sent:
            actions(manager)[name]()
        assert sent[0] == "BEGIN", name


@pytest.mark.parametrize("hint", [6, 9])
def test_resume_reads_only_the_rows_of_the_window(manager: SessionManager, hint: int) -> None:
    store_long_session(manager, 200)
    assert len(manager.resume(None, "/p", window_hint=hint).messages) == 2 * hint


def test_the_newest_rows_are_found_by_index(manager: SessionManager, statements: Counter) -> None:
    store_long_session(manager, 10)
    with statements(manager.database) as sent:
        manager.resume(None, "/p")
        manager.catalog.list_sessions("/p")
        manager.read_result("c2")
    reads = [
        statement
        for statement in sent
        if " FROM message" in statement or " FROM tool_call" in statement
    ]
    assert reads
    with manager.database.read() as db:
        for statement in reads:
            plan = db.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            assert not [row for row in plan if str(row[-1]).startswith("SCAN")], statement


def test_earlier_reductions_are_not_read(manager: SessionManager, path: Path) -> None:
    store_long_session(manager, 10)
    session = manager.session
    work = list[int]()
    for _ in range(2):
        with manager.database.transaction() as db:
            db.add_all(
                [ReductionRow(session_id=session.id, how="window", opens=True) for _ in range(500)]
            )
        with closing(sqlite3.connect(path)) as connection:
            steps = list[int]()
            connection.set_progress_handler(lambda: steps.append(1), 10)  # noqa: B023
            assert len(Reader(connection).reductions(session.id)) == 1
        work.append(len(steps))
    assert abs(work[1] - work[0]) <= 2, "steps of ten instructions of SQLite"


@pytest.mark.parametrize("damage", ["role = 'nobody'", "created_at = 'yesterday'", "notes = '[1]'"])
def test_an_invalid_row_is_reported_in_one_line(manager: SessionManager, damage: str) -> None:
    store_long_session(manager, 10)
    with manager.database.transaction() as db:
        db.connection().exec_driver_sql(f"UPDATE message SET {damage} WHERE id = 5")
    with pytest.raises(DamagedDatabase, match="cannot be read") as caught:
        manager.resume(None, "/p")
    assert "\n" not in str(caught.value)
