"""Test forking, exporting and deleting whole sessions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.models.message import CallStatus, ChatMessage, RequestRecord, Role, ToolCall, Usage
from swecli.models.playbook import Delta, Evidence, Op
from swecli.models.session import Session
from swecli.store.session_files.importing import import_session
from swecli.store.session_manager import SessionManager
from tests.store.conftest import mark
from tests.support.databases import open_database


def store_session(manager: SessionManager, title: str = "main") -> str:
    """Store a session of three interactions with a call each, strategies of two scopes and costs; return its id."""
    session = manager.start("/p", "scripted/test", title=title)
    for number in (1, 2, 3):
        manager.begin_interaction(f"question {number}")
        call = ToolCall(f"c{number}", "read_file", {"n": number})
        manager.append(ChatMessage(Role.ASSISTANT, f"answer {number}", [call]))
        call.result = "cut"
        manager.record_call(call, f"whole {number}")
        manager.record_request(RequestRecord("m", "turn", number, 1, Usage(1), 0.5, 1))
        manager.finish_interaction("done")
    evidence = (Evidence("user", "said so"),)
    ops = tuple(
        Op("ADD", fields={"content": scope, "scope": scope}, evidence=evidence)
        for scope in ("session", "project")
    )
    manager.playbook.apply(Delta(f"d-{session.id}", ops, "user"), session)
    return session.id


def test_a_fork_continues_independently_of_the_original(manager: SessionManager) -> None:
    first = store_session(manager)
    fork = manager.fork()
    assert (fork.parent_id, fork.title, fork.interactions, fork.cost) == (
        first,
        "main (fork)",
        3,
        0.0,
    )
    assert manager.begin_interaction("only here").interaction == 4
    assert manager.read_result("c2") == "whole 2"
    old = manager.resume(first, "/p")
    assert old.interactions == 3
    assert [m.content for m in old.messages] == [m.content for m in fork.messages[:6]]
    assert manager.database.check() == []


def test_each_fork_of_a_session_has_a_title_of_its_own(manager: SessionManager) -> None:
    first = store_session(manager)
    titles = []
    for _ in range(3):
        manager.resume(first, "/p")
        titles.append(manager.fork().title)
    assert titles == ["main (fork)", "main (fork 2)", "main (fork 3)"]


def ends(session: Session) -> list[object]:
    """Return the jobs whose end each message tells, and how its calls ended."""
    return [
        (message.ended_jobs, [(call.status, call.ended_jobs) for call in message.tool_calls])
        for message in session.messages
    ]


def test_how_calls_and_jobs_ended_is_kept_by_fork_export_import_undo_and_redo(
    manager: SessionManager, tmp_path: Path
) -> None:
    job = "job 1 (make)"
    session = manager.start("/p", "scripted/test")
    manager.begin_interaction("question", ended_jobs=(job,))
    made = [ToolCall(status, "run_command") for status in CallStatus]
    manager.append(ChatMessage(Role.ASSISTANT, "", made))
    for call in made[1:]:  # the first runs when the program ends
        call.status = CallStatus(call.id)
        call.result = "text"
        call.ended_jobs = (job,)
        manager.record_call(call)
    session = manager.resume(session.id, "/p")
    calls = [(status, (job,)) for status in CallStatus if status != "running"]
    stored = [((job,), []), ((), [(CallStatus.INTERRUPTED, ()), *calls])]
    assert ends(session) == stored

    other = SessionManager(open_database(tmp_path / "other.db"))
    import_session(other.database, manager.archive.export(session.id))
    assert ends(other.resume(None, "/p")) == stored
    assert ends(manager.fork()) == stored
    session = manager.resume(session.id, "/p")
    undone = manager.undo.begin_undo(session, 1, ["conversation"], [], [])
    manager.undo.finish(undone, ())
    session = manager.resume(session.id, "/p")
    assert ends(session) == []
    manager.undo.finish(manager.undo.begin_redo(session, undone, []), ())
    assert ends(manager.resume(session.id, "/p")) == stored


def test_a_fork_can_end_with_an_earlier_turn(manager: SessionManager) -> None:
    store_session(manager)
    fork = manager.fork(upto=2)
    assert [m.content for m in fork.messages] == [
        "question 1",
        "answer 1",
        "question 2",
        "answer 2",
    ]
    assert [info.messages for info in manager.catalog.list_sessions()] == [4, 6]
    assert manager.turns.turn(manager.session.id, 3) is None
    assert manager.resume("main (fork)", "/p").id == fork.id


@pytest.mark.slow
def test_any_stored_session_can_be_forked(manager: SessionManager) -> None:
    first = store_session(manager)
    manager.start("/q", "scripted/test")
    manager.resume("main", "")
    assert manager.fork().parent_id == first


def test_a_fork_gets_copies_of_the_strategies_with_session_scope(manager: SessionManager) -> None:
    first = store_session(manager)
    fork = manager.fork()
    own = [bullet for bullet in fork.playbook.live_bullets() if bullet.scope == "session"]
    assert [(bullet.id, bullet.content) for bullet in own] == [("P-3", "session")]
    assert [item.quote for item in manager.playbook.evidence("P-3")] == ["said so"]
    manager.playbook.apply(Delta("gone", (Op("REMOVE", "P-3"),), "user"), fork)
    assert len(manager.resume(first, "/p").playbook.live_bullets()) == 2


def test_a_session_without_messages_cannot_be_forked(manager: SessionManager) -> None:
    with pytest.raises(BadInput):
        manager.fork()
    manager.start("/p", "scripted/test")
    with pytest.raises(BadInput):
        manager.fork()


@pytest.mark.slow
def test_deleting_a_session_deletes_only_what_belongs_to_it(manager: SessionManager) -> None:
    first = store_session(manager, "gone")
    second = store_session(manager, "stays")
    assert manager.delete("gone") == first
    assert [info.id for info in manager.catalog.list_sessions()] == [second]
    assert {hit.session_id for hit in manager.catalog.search("question")} == {second}
    assert manager.playbook.get("P-1") is None
    bullet = manager.playbook.get("P-2")
    assert bullet
    assert bullet.scope == "project"
    assert [p.session_id for p in manager.turns.pending()] == [second] * 3
    assert manager.database.check() == []


def test_an_unknown_session_cannot_be_deleted(manager: SessionManager) -> None:
    store_session(manager)
    with pytest.raises(BadInput, match="There is no session"):
        manager.delete("unknown")
    assert len(manager.catalog.list_sessions()) == 1


def test_an_export_is_json_with_everything_of_the_session(manager: SessionManager) -> None:
    session = store_session(manager)
    mark(manager, 2, "bad", "wrong")
    manager.start("/q", "scripted/test")
    whole = json.loads(json.dumps(manager.archive.export("main"), allow_nan=False))
    assert (whole["id"], whole["title"], whole["directory"], whole["cost"]) == (
        session,
        "main",
        "/p",
        1.5,
    )
    assert [message["content"] for message in whole["messages"]] == [
        f"{kind} {number}" for number in (1, 2, 3) for kind in ("question", "answer")
    ]
    assert whole["messages"][1]["tool_calls"][0]["parameters"] == {"n": 1}
    assert [(turn["number"], turn["status"], turn["why"]) for turn in whole["interactions"]] == [
        (1, "done", ""),
        (2, "done", "wrong"),
        (3, "done", ""),
    ]
    assert [bullet["id"] for bullet in whole["playbook"]] == ["P-1", "P-2"]
    assert whole["totals"]["cost"] == 1.5
    with pytest.raises(BadInput):
        manager.archive.export("unknown")
