"""Test importing an export: completely or not at all, with the same content."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swecli.models.api_message import Image
from swecli.models.context import Edits, Epoch, Reduction, RetainedFact
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.message import ChatMessage, RequestRecord, Role, ToolCall, Usage
from swecli.models.playbook import Delta, Evidence, Op
from swecli.models.window_spec import WindowSpec
from swecli.store.session_files.importing import import_session
from swecli.store.session_manager import SessionManager
from swecli.store.tables.sessions import MessageRow
from swecli.store.tables.turns import TurnRow
from tests.store.conftest import mark
from tests.support.databases import open_database


def export_session() -> dict[str, Any]:
    """Return the export of a session with two turns, each with a call, a mark and a strategy of each scope."""
    manager = SessionManager(open_database("from.db"))
    session = manager.start("/a", "m/x", title="work", window=WindowSpec.parse("4+2"), project="/p")
    manager.begin_interaction("read ä", "read ä, with a file")
    call = ToolCall("c1", "read_file", {"path": "ä"})
    manager.append(ChatMessage(Role.ASSISTANT, "", [call], reasoning="hm"))
    call.result, call.duration_ms, call.approved = "text", 5, True
    manager.record_call(call)
    manager.append(ChatMessage(Role.ASSISTANT, "It says.", tokens=3))
    manager.finish_interaction("done", shown_names=["P-1"], cited=["P-1"])
    mark(manager, 1, "good", "right")
    manager.begin_interaction("again")
    manager.append(ChatMessage(Role.ASSISTANT, "hal", status="partial"))
    manager.finish_interaction("cancelled")
    for scope in ("session", "project", "user"):
        fields = {"content": f"for the {scope}", "scope": scope, "anchors": ("a.py",)}
        op = Op("ADD", fields=fields, evidence=(Evidence("user", "said"),))
        manager.playbook.apply(Delta(uuid7(), (op,), "user", session.id), session)
    whole = manager.archive.export(session.id)
    manager.database.close()
    value = json.loads(json.dumps(whole, default=str))
    assert isinstance(value, dict)
    return value


@pytest.mark.slow
def test_an_imported_session_has_the_content_of_the_export() -> None:
    whole = export_session()
    manager = SessionManager(open_database("to.db"))
    imported = import_session(manager.database, whole)
    assert imported.session_id == whole["id"]
    assert (imported.interactions, imported.messages, imported.strategies, imported.left_out) == (
        2,
        5,
        1,
        2,
    )
    again = json.loads(json.dumps(manager.archive.export(whole["id"]), default=str))
    assert again["messages"] == whole["messages"]
    assert again["interactions"] == whole["interactions"]
    assert [bullet["content"] for bullet in again["playbook"]] == ["for the session"]
    same = "id directory project title model window_spec window_start cost created_at updated_at first_query".split()  # noqa: SIM905
    assert {name: again[name] for name in same} == {name: whole[name] for name in same}
    manager.database.close()


def store_rich_session() -> SessionManager:
    """Store a session with everything that an export contains (requests, reductions, pins, whole results), after
    another one in its database; return its manager."""
    manager = SessionManager(open_database("from.db"))
    for directory in ("/before", "/a"):
        session = manager.start(directory, "m/x", project="/p")
        picture: Image = {
            "name": "p.png",
            "label": "[image 1x1]",
            "media_type": "image/png",
            "data": "aGk=",
        }
        manager.begin_interaction("first of all", images=[picture])
        fields = {"content": "only here", "scope": "session", "trust": "user"}
        manager.playbook.apply(
            Delta(uuid7(), (Op("ADD", fields=fields),), "user", session.id), session
        )
        [own] = session.playbook.bullets
        for number in (2, 3):
            manager.begin_interaction(f"question {number}")
            call = ToolCall("c1", "read_file", {"n": number})
            manager.append(ChatMessage(Role.ASSISTANT, "", [call], encoding="o200k"))
            call.result = "cut"
            manager.record_call(call, "the whole of it")
            usage = Usage(4000, 100, 10, 22, 3)
            manager.record_request(
                RequestRecord("m/x", "turn", number, 1, usage, 0.5, 7, {"counted": 4011})
            )
            manager.finish_interaction("done", shown_names=[own, "P-99"], cited=[own])
            with manager.database.transaction() as db:
                TurnRow.record(db, session.id, number, topic="tests")
            manager.context.keep(session, [RetainedFact("request", "1", "do it", number)])
        manager.context.add(
            session, Reduction("begin", 1, epoch=Epoch(1, "be brief", {own: "only here"}))
        )
        edits = Edits(replace={"1.2": {"content": "x"}})
        manager.context.add(session, Reduction("clear", 2, before=9, after=5, edits=edits))
        manager.context.pin(session, 1)
        manager.undo_reduction(9, 900)
    return manager


@pytest.mark.slow
def test_exporting_an_imported_session_gives_the_same_bytes() -> None:
    manager = store_rich_session()
    assert manager.current_session
    whole = manager.archive.export(manager.current_session.id)
    assert [row["number"] for row in whole["reductions"]] == [1, 2, 3]
    assert whole["reductions"][2]["detail"] == "R-2"
    assert whole["totals"]["usage"]["input"] == 8000
    assert whole["messages"][2]["tool_calls"][0]["full_result"] == "the whole of it"
    first = json.dumps(whole)
    fields = [name for name in MessageRow.model_fields if name in whole["messages"][0]]
    assert list(whole["messages"][0])[: len(fields)] == fields, "in the same order in every process"
    other = SessionManager(open_database("to.db"))
    import_session(other.database, json.loads(first))
    assert json.dumps(other.archive.export(whole["id"])) == first
    again, before = other.resume(whole["id"], ""), manager.resume(whole["id"], "")
    assert again.context.epoch == before.context.epoch
    assert (again.context.pins, again.context.facts) == (before.context.pins, before.context.facts)
    manager.database.close()
    other.database.close()


def test_an_imported_strategy_whose_id_is_taken_gets_a_new_one_in_its_turns_too() -> None:
    manager = store_rich_session()
    assert manager.current_session
    whole = json.loads(json.dumps(manager.archive.export(manager.current_session.id)))
    other = SessionManager(open_database("to.db"))
    mine = other.start("/b", "m/x", project="/q")
    for number in range(5):
        op = Op("ADD", fields={"content": f"mine {number}", "scope": "session"})
        other.playbook.apply(Delta(f"d{number}", (op,), "user", mine.id), mine)
    import_session(other.database, whole)
    again = other.archive.export(whole["id"])
    assert [bullet["id"] for bullet in again["playbook"]] == ["P-6"]
    assert again["messages"] == whole["messages"]
    other.database.close()
    manager.database.close()


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("reductions.0.epoch", {"first": 1}, "reductions.0.epoch"),
        ("reductions.1.edits", [1], "reductions.1.edits"),
    ],
)
def test_an_export_with_an_invalid_reduction_is_refused(path: str, value: Any, named: str) -> None:
    manager = store_rich_session()
    assert manager.current_session
    whole = json.loads(json.dumps(manager.archive.export(manager.current_session.id)))
    database = open_database("to.db")
    with pytest.raises(BadInput, match=named):
        import_session(database, with_value(whole, path, value))
    database.close()
    manager.database.close()


def test_an_imported_session_can_be_resumed_searched_and_sent_unchanged() -> None:
    whole = export_session()
    before = SessionManager(open_database("from.db"))
    after = SessionManager(open_database("to.db"))
    import_session(after.database, whole)
    left, right = before.resume(whole["id"], ""), after.resume("work", "")
    assert left.to_api_messages() == right.to_api_messages()
    assert (right.window, right.window_start, right.interactions) == (
        left.window,
        left.window_start,
        2,
    )
    assert [hit.session_id for hit in after.catalog.search("says")] == [whole["id"]]
    assert not after.turns.pending(whole["id"])
    after.begin_interaction("go on")
    assert after.resume(whole["id"], "").interactions == 3
    before.database.close()
    after.database.close()


def test_importing_a_session_that_exists_is_refused() -> None:
    whole = export_session()
    database = open_database("from.db")
    with pytest.raises(BadInput, match="already exists"):
        import_session(database, whole | {"title": "other"})
    assert SessionManager(database).catalog.list_sessions()[0].title == "work"
    database.close()


def with_value(whole: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy with the value at that path replaced, or deleted if None."""
    changed = copy.deepcopy(whole)
    *way, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    place: Any = changed
    for step in way:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("id", None, "id: Field required"),
        ("id", "x", "id: String should match"),
        ("messages", None, "messages: Field required"),
        ("messages.0.role", "tool", "messages.0.role"),
        ("messages.1.tool_calls.0.name", None, "messages.1.tool_calls.0.name: Field required"),
        ("messages.1.tool_calls.0.parameters", [], "messages.1.tool_calls.0.parameters"),
        ("messages.0.created_at", "yesterday", "messages.0.created_at"),
        ("messages.0.notes", [{"kind": "rumour"}], "notes of a message: 'rumour'"),
        ("messages.0.interaction", -1, "messages.0.interaction"),
        ("messages.0.interaction", 9, "belongs to no turn"),
        ("messages.4.interaction", 1, "is out of order"),
        ("messages.0.interaction", 2, "is out of order"),
        ("interactions.1.number", 3, "not numbered 1, 2, 3"),
        ("interactions.1", None, "belongs to no turn"),
        ("window_spec", "many", "'many' is not a window"),
        ("window_start", 0, "window_start"),
        ("playbook.0.kind", "wish", "playbook.0.kind"),
    ],
)
@pytest.mark.slow
def test_an_invalid_value_is_named_and_nothing_is_imported(
    path: str, value: Any, message: str
) -> None:
    database = open_database("to.db")
    with pytest.raises(BadInput, match=message):
        import_session(database, with_value(export_session(), path, value))
    assert SessionManager(database).catalog.list_sessions() == []
    database.close()


@pytest.mark.parametrize("value", [None, 5, "x", [], {}])
def test_json_that_is_not_an_export_is_refused(value: Any) -> None:
    database = open_database("to.db")
    with pytest.raises(BadInput, match="Not an export of a session"):
        import_session(database, value)
    database.close()


def test_invalid_characters_and_huge_numbers_are_cleaned_on_import() -> None:
    whole = with_value(export_session(), "messages.0.content", "a\x00b\ud800")
    whole = with_value(whole, "messages.1.tool_calls.0.exit_code", 10**30)
    manager = SessionManager(open_database("to.db"))
    import_session(manager.database, whole)
    message = manager.archive.export(whole["id"])["messages"][0]
    assert message["content"] == "a\ufffdb\ufffd"
    manager.database.close()


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=3,
)
paths = st.sampled_from(
    [
        *(
            f"messages.1.{name}"
            for name in ("role", "content", "tool_calls", "interaction", "sent", "tokens", "status")
        ),
        *(
            f"messages.1.tool_calls.0.{name}"
            for name in ("id", "parameters", "result", "exit_code", "duration_ms")
        ),
        *(f"interactions.0.{name}" for name in ("number", "status", "shown", "why", "finished_at")),
        *(
            f"playbook.0.{name}"
            for name in ("content", "scope", "helpful", "anchors", "created_at")
        ),
        *("title", "cost", "parent_id", "window_spec", "window_start", "updated_at", "first_query"),
    ]
)


@pytest.mark.slow
@settings(
    max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(path=paths, value=junk)
def test_an_export_with_any_value_is_refused_or_can_be_loaded(path: str, value: Any) -> None:
    whole = with_value(_load_export(), path, value) if value is not None else _load_export()
    database = open_database(":memory:")
    try:
        imported = import_session(database, whole)
    except BadInput:
        assert SessionManager(database).catalog.list_sessions() == []
    else:
        manager = SessionManager(database)
        manager.resume(imported.session_id, "")
        json.dumps(manager.archive.export(imported.session_id), default=str).encode("utf-8")
    database.close()


def _load_export() -> dict[str, Any]:
    if not Path("whole.json").exists():
        Path("whole.json").write_text(json.dumps(export_session()))
    value = json.loads(Path("whole.json").read_text())
    assert isinstance(value, dict)
    return value
