"""Test that stored rows are loaded unchanged."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swecli.models.message import CallStatus, ChatMessage, RequestRecord, Role, ToolCall, Usage
from swecli.models.notes import Label, Note, SituationNote, TextNote
from swecli.models.window_spec import WindowSpec
from swecli.store.journal.values import clean_json, clean_text
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import Database

TEXT = st.text(st.characters(codec=None), max_size=30) | st.sampled_from(
    ["修复这个错误", "a\0b", "\ud800", "\ud83d\ude00", "'\";--"]
)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
INTEGER = st.integers(-(2**70), 2**70)
MOMENT = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)
CALL = st.builds(
    ToolCall,
    id=TEXT,
    name=TEXT,
    parameters=st.dictionaries(TEXT, VALUE, max_size=3),
    result=st.none() | TEXT,
    # one that is running when the session is resumed was interrupted
    status=st.sampled_from([one for one in CallStatus if one is not CallStatus.RUNNING]),
    error=st.none() | TEXT,
    approved=st.none() | st.booleans(),
    decision=TEXT,
    reason=TEXT,
    exit_code=st.none() | INTEGER,
    duration_ms=st.none() | INTEGER,
)
MESSAGE = st.builds(
    ChatMessage,
    role=st.sampled_from([Role.ASSISTANT, Role.SYSTEM]),
    content=TEXT,
    tool_calls=st.lists(CALL, max_size=3),
    sent=st.none() | TEXT,
    reasoning=TEXT,
    tokens=st.none() | INTEGER,
    status=TEXT,
    created_at=MOMENT,
)
SLOW_SETTINGS = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@SLOW_SETTINGS
@given(
    query=TEXT,
    sent=st.none() | TEXT,
    notes=st.lists(
        st.builds(TextNote, TEXT) | st.builds(SituationNote, st.sampled_from(Label), TEXT)
    ),
    messages=st.lists(MESSAGE, max_size=4),
    title=TEXT,
    model=TEXT,
)
@pytest.mark.slow
def test_a_resumed_session_equals_the_stored_one(
    memory: Database,
    query: str,
    sent: str | None,
    notes: list[Note],
    messages: list[ChatMessage],
    title: str,
    model: str,
) -> None:
    manager = SessionManager(memory)
    live = manager.start("/p", model, title=title, window=WindowSpec(3, 2), project=title)
    manager.begin_interaction(query, sent, notes=notes)
    for message in messages:
        manager.append(message)
    resumed = SessionManager(manager.database).resume(live.id, "/elsewhere")
    assert resumed == live
    assert resumed.to_api_messages() == live.to_api_messages()


@SLOW_SETTINGS
@given(message=MESSAGE)
@pytest.mark.slow
def test_a_message_is_stored_unchanged_except_for_cleaning(
    memory: Database, message: ChatMessage
) -> None:
    manager = SessionManager(memory)
    session = manager.start("/p", "scripted/test")
    content, parameters = (
        clean_text(message.content),
        [clean_json(call.parameters) for call in message.tool_calls],
    )
    manager.append(message)
    [read] = manager.resume(session.id, "/p").messages
    assert read.content == content
    assert [call.parameters for call in read.tool_calls] == parameters


def test_parameters_with_huge_numbers_are_loaded_unchanged(memory: Database) -> None:
    manager = SessionManager(memory)
    manager.start("/p", "scripted/test")
    numbers = {"n": 10**400, "small": -(2**63), "x": 0.1, "i": math.inf}
    manager.append(ChatMessage(Role.ASSISTANT, "", [ToolCall("a", "t", numbers)]))
    [read] = manager.resume(None, "/p").messages
    assert read.tool_calls[0].parameters == numbers | {"i": None}


def test_times_are_stored_in_utc(memory: Database) -> None:
    manager = SessionManager(memory)
    manager.start("/p", "scripted/test")
    noon = datetime(2030, 1, 1, 12, tzinfo=timezone(timedelta(hours=5)))
    manager.append(ChatMessage(Role.ASSISTANT, "x", created_at=noon))
    [read] = manager.resume(None, "/p").messages
    assert read.created_at == noon
    assert read.created_at.tzinfo is UTC


@given(st.integers(1, 1000), st.integers(0, 1000), st.sampled_from(["fixed", "full", "auto"]))
def test_a_window_is_parsed_from_its_text(size: int, slack: int, mode: str) -> None:
    spec = WindowSpec(size, slack) if mode == "fixed" else WindowSpec.parse(mode)
    assert WindowSpec.parse(str(spec)) == spec


def test_recorded_usage_is_in_the_totals(memory: Database) -> None:
    manager = SessionManager(memory)
    manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    manager.record_request(
        RequestRecord("m", "reflect", 1, 2, Usage(1, 2, 3, 4, 5), 0.5, 10, {"estimated": True})
    )
    assert manager.totals().by_purpose["reflect"].usage == Usage(1, 2, 3, 4, 5)
