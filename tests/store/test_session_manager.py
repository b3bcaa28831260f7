"""Test the current session and its copy in the database."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from swecli.models.errors import BadInput, BusyElsewhere, ContinuedElsewhere, StoreError
from swecli.models.message import (
    INTERRUPTED_RESULT,
    CallStatus,
    ChatMessage,
    RequestRecord,
    Role,
    ToolCall,
    Usage,
)
from swecli.models.playbook import Delta, Op
from swecli.models.window_spec import WindowSpec
from swecli.store.records import UnfinishedTurn
from swecli.store.session_manager import SessionManager
from swecli.store.sqlite.database import Database
from swecli.store.tables.sessions import InteractionRow
from tests.store.conftest import mark
from tests.support.stored import stored_calls


def answer(manager: SessionManager, text: str = "done", *calls: ToolCall) -> ChatMessage:
    return manager.append(ChatMessage(Role.ASSISTANT, text, list(calls)))


def turn(manager: SessionManager, query: str) -> None:
    manager.begin_interaction(query)
    answer(manager)
    manager.finish_interaction("done")


def test_nothing_is_written_before_the_first_message(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test", title="early")
    manager.rename("late")
    manager.set_window(WindowSpec(2))
    manager.set_model("openai/x")
    assert manager.catalog.list_sessions() == []
    manager.begin_interaction("hello")
    [info] = manager.catalog.list_sessions()
    assert (info.title, info.model, info.directory, info.first_query) == (
        "late",
        "openai/x",
        "/p",
        "hello",
    )
    assert manager.resume(None, "/p").window == WindowSpec(2)


def test_a_message_is_committed_before_the_function_returns(
    manager: SessionManager, database: Database
) -> None:
    manager.start("/p", "scripted/test")
    message = manager.begin_interaction("hello", sent_text="hello with files")
    other = SessionManager(database).resume(None, "/p")
    assert other.messages == [message]
    assert (message.id, message.interaction, message.sent) == (1, 1, "hello with files")


def test_interactions_are_numbered_from_one(manager: SessionManager) -> None:
    session = manager.start("/p", "scripted/test")
    for number in (1, 2, 3):
        assert manager.begin_interaction("q").interaction == number
        assert answer(manager).interaction == number
    assert session.interactions == 3
    assert len(session.to_api_messages(window_size=2)) == 4


def test_a_call_has_no_result_until_it_is_recorded(
    manager: SessionManager, database: Database
) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("run it")
    call = ToolCall("c1", "run_command", {"command": "true"})
    answer(manager, "", call)
    assert (
        SessionManager(database).resume(None, "/p").to_api_messages()[-1]["content"]
        == INTERRUPTED_RESULT
    )
    call.result, call.approved, call.decision, call.exit_code, call.duration_ms = (
        "fine",
        True,
        "user",
        0,
        12,
    )
    manager.record_call(call)
    assert SessionManager(database).resume(None, "/p").messages[-1].tool_calls == [call]
    assert stored_calls(manager, 1) == [call]


def test_a_reused_call_id_means_the_newest_call(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    for number in (1, 2):
        manager.begin_interaction("q")
        call = ToolCall("call_0", "read_file", {})
        answer(manager, "", call)
        call.result = f"result {number}"
        manager.record_call(call)
        assert manager.read_result("call_0") == f"result {number}"
    assert [call.result for call in stored_calls(manager, 1)] == ["result 1"]


def test_a_call_can_be_recorded_after_a_resume(manager: SessionManager, database: Database) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    answer(manager, "", ToolCall("c1", "read_file", {}))
    other = SessionManager(database)
    call = other.resume(None, "/p").messages[-1].tool_calls[0]
    call.result = "late"
    other.record_call(call)
    assert manager.read_result("c1") == "late"


def test_recording_an_unknown_call_is_refused(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    with pytest.raises(BadInput, match="no call 'c9'"):
        manager.record_call(ToolCall("c9", "read_file", {}))


def test_read_result_returns_the_whole_result_of_a_cut_call(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    long, short, open_ = (ToolCall(name, "read_file", {}) for name in ("long", "short", "open"))
    answer(manager, "", long, short, open_)
    long.result, short.result = "cut", "whole"
    manager.record_call(long, "all of it " * 1000)
    manager.record_call(long, "all of it, again")
    manager.record_call(short)
    assert manager.read_result("long") == "all of it, again"
    assert manager.read_result("short") == "whole"
    assert manager.read_result("open") is None
    assert manager.read_result("none") is None
    assert stored_calls(manager, 1)[0].result == "cut"


def test_results_of_other_sessions_are_not_read(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    call = ToolCall("c1", "read_file", {})
    answer(manager, "", call)
    call.result = "private"
    manager.record_call(call)
    manager.start("/p", "scripted/test")
    assert manager.read_result("c1") is None


@pytest.mark.slow
def test_resume_loads_the_newest_interactions_and_the_rest_on_demand(
    manager: SessionManager,
) -> None:
    manager.start("/p", "scripted/test")
    for number in range(1, 21):
        turn(manager, f"q{number}")
    session = manager.resume(None, "/p", window_hint=5)
    assert session.interactions == 20
    assert [group[0].content for group in session.group_by_interaction()] == [
        "q16",
        "q17",
        "q18",
        "q19",
        "q20",
    ]
    manager.load_back_to(18)
    assert len(session.messages) == 10
    manager.load_back_to(3)
    assert [group[0].content for group in session.group_by_interaction()] == [
        f"q{n}" for n in range(3, 21)
    ]
    manager.load_back_to(1)
    assert len(session.to_api_messages()) == 40
    assert manager.begin_interaction("next").interaction == 21


@pytest.mark.parametrize("window", ["5", "full", "14"])
def test_a_session_in_use_keeps_the_turns_in_memory_that_a_resumed_one_loads(
    manager: SessionManager, window: str
) -> None:
    session = manager.start("/p", "scripted/test")
    manager.set_window(WindowSpec.parse(window))
    for number in range(1, 21):
        turn(manager, f"q{number}")
        if number == 2:
            manager.context.pin(session, 1)
        manager.unload_old_turns()
    recent_ids = [message.id for message in session.messages]
    pinned = [message.content for message in session.context.pinned.get(1, session.messages[:2])]
    resumed = manager.resume(session.id, "/p")
    assert recent_ids == [message.id for message in resumed.messages]
    assert pinned == ["q1", "done"]
    manager.load_back_to(1)
    assert len(resumed.messages) == 40


def test_after_one_unknown_price_the_cost_is_unknown(manager: SessionManager) -> None:
    session = manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    costs = []
    for price in (0.25, 0.5, None, 1.0):
        manager.record_request(RequestRecord("m", "turn", 1, 1, Usage(10, output=2), price, 5))
        costs.append(session.cost)
    assert costs == [0.25, 0.75, None, None]
    assert manager.catalog.list_sessions()[0].cost is None
    assert manager.resume(None, "/p").cost is None


def test_totals_are_summed_by_purpose(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    assert (manager.totals().cost, manager.totals().requests) == (0.0, 0)
    manager.record_request(RequestRecord("m", "turn", 1, 1, Usage(10, 20, 30, 40, 50), 0.5, 5))
    manager.record_request(RequestRecord("m", "turn", 1, 2, Usage(1, 1, 1, 1, 1), 0.25, 5))
    manager.record_request(RequestRecord("m", "reflect", 1, 1, Usage(input=7), None, 5))
    totals = manager.totals()
    assert totals.usage == Usage(18, 21, 31, 41, 51)
    assert (totals.cost, totals.requests) == (None, 3)
    assert totals.by_purpose["turn"].cost == 0.75
    assert totals.by_purpose["reflect"].cost is None


def test_a_finished_interaction_has_a_record(manager: SessionManager) -> None:
    session = manager.start("/p", "scripted/test")
    manager.playbook.apply(Delta("d", (Op("ADD", fields={"content": "use uv"}),), "user"), session)
    manager.begin_interaction("q")
    running = manager.turns.turn(manager.session.id, 1)
    assert running
    assert (running.status, manager.turns.pending()) == ("running", [])
    manager.finish_interaction("done", shown_names=["P-1", "P-2"], cited=["P-1"])
    info = manager.turns.turn(manager.session.id, 1)
    assert info
    assert (info.status, info.shown, info.cited, len(manager.turns.pending())) == (
        "done",
        ("P-1", "P-2"),
        ("P-1",),
        1,
    )
    used = session.playbook.bullets["P-1"].last_used
    assert used
    bullet = manager.playbook.get("P-1")
    assert bullet
    assert bullet.last_used == used
    assert manager.turns.turn(manager.session.id, 2) is None


def test_a_mark_is_stored_with_the_reason_of_the_user(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    turn(manager, "q")
    for word, why in (("bad", "wrong file"), ("good", "")):
        mark(manager, 1, word, why)
        info = manager.turns.turn(manager.session.id, 1)
        assert info
        assert (info.mark, info.why) == (word, why)
    with pytest.raises(BadInput, match="no turn T7"):
        mark(manager, 7, "good")


def test_finishing_an_interaction_that_was_not_begun_is_refused(manager: SessionManager) -> None:
    with pytest.raises(BadInput, match="No session"):
        manager.finish_interaction("done")
    manager.start("/p", "scripted/test")
    with pytest.raises(BadInput, match="no interaction 0"):
        manager.finish_interaction("done")


def set_owner(database: Database, pid: int) -> None:
    with database.transaction() as db:
        db.connection().execute(InteractionRow.__table__.update().values(pid=pid))  # type: ignore[attr-defined]


def test_a_turn_of_a_dead_process_is_interrupted_and_pending_reflection(
    manager: SessionManager,
) -> None:
    session = manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    dead = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    set_owner(manager.database, int(dead.stdout))
    manager.resume(None, "/p")
    info = manager.turns.turn(manager.session.id, 1)
    assert info
    assert info.status == "interrupted"
    assert [p.interaction for p in manager.turns.pending(session.id)] == [1]


def test_a_turn_of_a_running_process_stays_running(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    set_owner(manager.database, os.getppid())
    manager.resume(None, "/p")
    info = manager.turns.turn(manager.session.id, 1)
    assert info
    assert info.status == "running"


def test_a_turn_after_turns_of_another_program_is_refused_until_these_are_loaded(
    manager: SessionManager, database: Database
) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("mine")
    other = SessionManager(database)
    other.resume(None, "/p")
    assert other.begin_interaction("theirs").interaction == 2
    with pytest.raises(ContinuedElsewhere):
        manager.begin_interaction("mine again")
    assert answer(other).interaction == 2
    assert [m.content for m in manager.resume(None, "/p").messages] == ["mine", "theirs", "done"]
    assert manager.begin_interaction("mine again").interaction == 3
    with pytest.raises(ContinuedElsewhere):
        other.begin_interaction("theirs again")


def test_a_turn_after_one_that_was_undone_and_replaced_elsewhere_is_refused(
    manager: SessionManager, database: Database
) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("first")
    manager.begin_interaction("second")
    other = SessionManager(database)
    session = other.resume(None, "/p")
    other.undo.begin_undo(session, 2, ("conversation",), (), ())
    other.resume(None, "/p")
    other.begin_interaction("second, again")
    assert other.session.interactions == manager.session.interactions
    with pytest.raises(ContinuedElsewhere):
        manager.begin_interaction("third")
    with pytest.raises(ContinuedElsewhere):
        manager.undo.begin_undo(manager.session, 2, ("conversation",), (), ())


def test_title_window_and_model_are_loaded_on_resume(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("q")
    manager.rename("new\0title")
    manager.set_window(WindowSpec(4, 2))
    manager.set_model("anthropic/x")
    session = manager.resume("NEW\ufffdtitle", "/elsewhere")
    assert (session.window, session.window_start, session.model) == (
        WindowSpec(4, 2),
        1,
        "anthropic/x",
    )
    assert session.title == "new\ufffdtitle"


def test_a_new_session_has_the_strategies_of_its_project(manager: SessionManager) -> None:
    first = manager.start("/p", "scripted/test")
    fields = {"content": "run the tests with tox", "scope": "project"}
    manager.playbook.apply(Delta("d", (Op("ADD", fields=fields),), "user"), first)
    assert [b.content for b in manager.start("/p", "scripted/test").playbook.live_bullets()] == [
        "run the tests with tox"
    ]
    assert manager.start("/q", "scripted/test").playbook.live_bullets() == []
    assert len(manager.start("/q", "scripted/test", project="/p").playbook.live_bullets()) == 1


def test_an_unfinished_answer_is_loaded_only_after_its_process_ended(
    manager: SessionManager, database: Database
) -> None:
    session = manager.start("/p", "scripted/test")
    asked = manager.begin_interaction("run it")
    call = ToolCall("c1", "run_command", {"command": "make"})
    message = answer(manager, "Making.", call)
    manager.save_unfinished(
        UnfinishedTurn(
            session.id, 1, "It is m", message.id or 0, {"c1": ("cut", "the whole output")}
        )
    )
    # The row belongs to a process that has ended; its pid is this test's own.
    other = SessionManager(database).resume(None, "/p")
    assert [(m.content, m.status) for m in other.messages[1:]] == [
        ("Making.", "complete"),
        ("It is m", "partial"),
    ]
    [cut_off] = other.messages[1].tool_calls
    assert (cut_off.result, cut_off.status) == ("cut", CallStatus.INTERRUPTED)
    assert SessionManager(database).catalog.list_sessions()[0].messages == 3
    assert manager.read_result("c1") == "the whole output"
    call.result = "fine"
    manager.record_call(call)
    assert manager.read_result("c1") == "fine"
    assert asked.interaction == 1


def test_saving_an_unfinished_turn_late_does_not_change_a_finished_one(
    manager: SessionManager, database: Database
) -> None:
    session = manager.start("/p", "scripted/test")
    asked = manager.begin_interaction("run it")
    call = ToolCall("c1", "run_command", {"command": "make"})
    answer(manager, "Making.", call)
    call.result = "fine"
    call.status = CallStatus.FINISHED
    manager.record_call(call)
    late = UnfinishedTurn(session.id, 1, "Mak", asked.id or 0, {"c1": ("cut", "whole")})
    manager.save_unfinished(late)
    assert [m.content for m in SessionManager(database).resume(None, "/p").messages] == [
        "run it",
        "Making.",
    ]
    manager.finish_interaction("done")
    manager.save_unfinished(late)
    assert manager.read_result("c1") == "fine"
    assert [m.content for m in SessionManager(database).resume(None, "/p").messages] == [
        "run it",
        "Making.",
    ]


def test_a_stored_query_becomes_the_next_turn(manager: SessionManager, database: Database) -> None:
    session = manager.start("/p", "scripted/test")
    turn(manager, "first")

    manager.store_query("second")
    assert (session.interactions, len(session.messages)) == (1, 2)
    assert SessionManager(database).resume(None, "/p").messages[-1].content == "second"
    message = manager.begin_interaction(
        "second", sent_text="second, with files", tokens=4, encoding="x"
    )
    assert SessionManager(database).resume(None, "/p").messages == [*session.messages[:-1], message]
    assert (message.interaction, session.interactions) == (2, 2)


def test_a_dropped_query_is_deleted(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    manager.store_query("never mind")
    manager.drop_query()
    manager.drop_query()
    assert manager.catalog.list_sessions() == []
    turn(manager, "first")
    manager.store_query("never mind")
    manager.drop_query()
    [info] = manager.catalog.list_sessions()
    assert (info.interactions, info.messages) == (1, 2)
    assert manager.begin_interaction("second").interaction == 2


def test_a_stored_query_without_a_turn_is_interrupted(manager: SessionManager) -> None:
    session = manager.start("/p", "scripted/test")
    manager.store_query("with a file that is gone")
    manager.store_query("another")
    assert manager.begin_interaction("a third").interaction == 3
    assert [message.content for message in session.messages] == [
        "with a file that is gone",
        "another",
        "a third",
    ]
    assert [info.status for n in (1, 2) if (info := manager.turns.turn(manager.session.id, n))] == [
        "interrupted"
    ] * 2


def test_a_session_that_is_not_stored_is_no_damage(manager: SessionManager) -> None:
    manager.start("/p", "scripted/test")
    with pytest.raises(BadInput, match="There is no session") as refused:
        manager.read_whole()
    assert refused.value.exit_code == 42
    assert not isinstance(refused.value, StoreError)


def test_a_turn_that_runs_in_another_process_is_waited_for_unless_that_process_is_dead(
    manager: SessionManager, database: Database
) -> None:
    manager.start("/p", "scripted/test")
    manager.begin_interaction("theirs")
    manager.finish_interaction("done")
    with subprocess.Popen(["sleep", "60"]) as process:
        running = "UPDATE interaction SET status = 'running', pid = ?"
        with database.write() as db:
            db.execute(running, (process.pid,))
        with pytest.raises(BusyElsewhere, match="T1 of this session runs in another swecli"):
            manager.begin_interaction("mine")
        # nobody has the session open: another program got the process's id
        manager.enter()
        assert manager.begin_interaction("mine").interaction == 2
        process.kill()
    manager.leave()


def test_folders_whose_names_are_not_utf8_have_sessions_and_rules_of_their_own(
    manager: SessionManager,
) -> None:
    one, other = (os.fsdecode(name) for name in (b"/d\xfcr", b"/d\xfdr"))
    turn_in_one = manager.start(one, "scripted/test")
    manager.begin_interaction("in one")
    manager.set_allowed(one, ["run(make)"])
    assert manager.allowed_in(one) == ("run(make)",)
    assert manager.allowed_in(other) == ()
    assert [info.id for info in manager.catalog.list_sessions(one)] == [turn_in_one.id]
    assert manager.catalog.list_sessions(other) == []
    with pytest.raises(BadInput, match="no session in this directory"):
        manager.resume(None, other)
    assert manager.resume(None, one).id == turn_in_one.id
