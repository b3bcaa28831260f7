"""Test summing requests by model, cause, tool and day."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.models.message import ChatMessage, Purpose, RequestRecord, Role, ToolCall, Usage
from swecli.store.session_manager import SessionManager
from swecli.store.spending import daily_spending, session_spending
from tests.support.databases import open_database

TODAY = date(2026, 3, 10)


def record_request(
    sessions: SessionManager, model: str, purpose: Purpose, cost: float | None, usage: Usage
) -> None:
    sessions.record_request(RequestRecord(model, purpose, 1, 1, usage, cost, 900))


def record_call(
    sessions: SessionManager,
    name: str,
    tokens: int | None,
    error: str | None = None,
    approved: bool | None = None,
) -> None:
    call = ToolCall(name, name, {}, result="x", tokens=tokens, error=error, approved=approved)
    sessions.append(ChatMessage(Role.ASSISTANT, "", [call]))
    sessions.record_call(call)


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[SessionManager]:
    manager = SessionManager(open_database(tmp_path / "swecli.db"))
    manager.start("/p", "a/large")
    manager.begin_interaction("hello")
    yield manager
    manager.database.close()


def move_to_day(sessions: SessionManager, day: date) -> None:
    """Set the time of all requests and messages so far to noon, local time, of that day."""
    noon = datetime(day.year, day.month, day.day, 12).timestamp()
    path = sessions.database.path
    assert path is not None
    with closing(sqlite3.connect(path)) as db, db:
        for table in ("model_request", "message"):
            db.execute(
                f"UPDATE {table} SET created_at = datetime(?, 'unixepoch') WHERE created_at > '2026-06'",
                (noon,),
            )


def test_the_spending_of_a_session_is_summed_by_model_cause_and_tool(
    sessions: SessionManager,
) -> None:
    record_request(
        sessions, "a/large", "turn", 0.5, Usage(input=100, cache_read=900, output=20, reasoning=5)
    )
    record_request(sessions, "a/large", "condense", 0.25, Usage(input=50, output=10))
    record_request(sessions, "b/small", "reflect", None, Usage(input=30, output=1))
    record_call(sessions, "read_file", 700)
    record_call(sessions, "read_file", 300, error="no such file")
    record_call(sessions, "todo", None)
    current = sessions.current_session
    assert current is not None
    spending = session_spending(sessions.database, current.id)
    large, small = spending["models"]
    assert large == {
        "name": "a/large",
        "requests": 2,
        "sent": 1050,
        "cached": 900,
        "received": 35,
        "cost": 0.75,
        "known_cost": 0.75,
        "unpriced": 0,
    }
    assert (small["name"], small["cost"]) == ("b/small", None)
    assert [(one["name"], one["sent"]) for one in spending["causes"]] == [
        ("turn", 1000),
        ("condense", 50),
        ("reflect", 30),
    ]
    assert spending["tools"] == [
        {"name": "read_file", "calls": 2, "refused": 0, "failed": 1, "tokens": 1000},
        {"name": "todo", "calls": 1, "refused": 0, "failed": 0, "tokens": 0},
    ]
    assert session_spending(sessions.database, "another")["models"] == []


def test_calls_that_the_user_refused_or_stopped_did_not_fail(sessions: SessionManager) -> None:
    record_call(sessions, "edit_file", 10, error="The user refused this call.", approved=False)
    record_call(sessions, "edit_file", 10, error="cancelled")
    record_call(sessions, "edit_file", 10, error="old_text is not in the file", approved=True)
    current = sessions.current_session
    assert current is not None
    [edits] = session_spending(sessions.database, current.id)["tools"]
    assert (edits["calls"], edits["refused"], edits["failed"]) == (3, 1, 1)


def test_a_request_without_an_answer_does_not_make_the_cost_unknown(
    sessions: SessionManager,
) -> None:
    record_request(sessions, "a/large", "turn", 0.5, Usage(input=100))
    record_request(sessions, "a/large", "turn", None, Usage())
    assert daily_spending(sessions.database, 1, date.today())["total"]["cost"] == 0.5


def test_days_are_in_local_time_and_none_is_left_out(sessions: SessionManager) -> None:
    record_request(sessions, "a/large", "turn", 0.5, Usage(input=100))
    move_to_day(sessions, TODAY - timedelta(2))
    record_request(sessions, "a/large", "turn", 0.25, Usage(input=40))
    move_to_day(sessions, TODAY)
    spending = daily_spending(sessions.database, 3, TODAY)
    assert [(day["name"], day["sent"], day["cost"]) for day in spending["days"]] == [
        ("2026-03-08", 100, 0.5),
        ("2026-03-09", 0, 0.0),
        ("2026-03-10", 40, 0.25),
    ]
    assert (
        spending["total"]["sessions"],
        spending["total"]["turns"],
        spending["total"]["sent"],
    ) == (
        1,
        1,
        140,
    )
    assert [day["sent"] for day in daily_spending(sessions.database, 2, TODAY)["days"]] == [0, 40]


def test_days_without_requests_sum_to_zero(sessions: SessionManager) -> None:
    spending = daily_spending(sessions.database, 30, TODAY)
    assert (spending["total"]["requests"], spending["total"]["sent"], spending["models"]) == (
        0,
        0,
        [],
    )


@pytest.mark.parametrize("days", [0, -1, 367])
def test_a_number_of_days_outside_1_to_366_is_refused(sessions: SessionManager, days: int) -> None:
    with pytest.raises(BadInput, match="from 1 to 366"):
        daily_spending(sessions.database, days, TODAY)
