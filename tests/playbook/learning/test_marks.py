"""The user's mark on a turn: counts once, can be taken back whole, and gives way to a newer one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from swecli.models.learning_events import PlaybookUpdated
from swecli.models.session import Session
from swecli.playbook.standing import believed
from tests.support.runtime import calls, make_runtime, run_turn


async def marked_once(answer: str = "Done, see [P-1].") -> tuple[Runtime, Session]:
    """A runtime with one strategy and a turn that used it."""
    runtime = make_runtime(lambda request: answer)
    await run_turn(runtime, "remember that answers are short")
    await run_turn(runtime, "hello")
    session = runtime.sessions.current_session
    assert session is not None
    return runtime, session


def state(runtime: Runtime, session: Session) -> Any:
    """All that a mark can change."""
    store = runtime.sessions.playbook
    info = runtime.sessions.interaction_info(2)
    assert info is not None
    return store.load(session).bullets, store.turns.of(session.id, 2), (info.mark, info.why), believed(store, session)


def counts(session: Session) -> tuple[int, int]:
    bullet = session.playbook.bullets["P-1"]
    return bullet.helpful, bullet.harmful


@pytest.mark.parametrize("answer", ["Done, see [P-1].", "Done."])
async def test_undo_of_a_mark_restores_the_turn_the_score_and_the_counts_and_redo_the_mark(answer: str) -> None:
    runtime, session = await marked_once(answer)
    before = state(runtime, session)
    await runtime.learning.mark(False, "too long")
    marked = state(runtime, session)
    assert marked[1].good is False
    assert marked[2] == ("bad", "too long")
    assert runtime.sessions.playbook.undo(session)[0].summary().startswith("mark bad T2")
    assert state(runtime, session) == before
    runtime.sessions.playbook.redo(session)
    assert state(runtime, session) == marked


async def test_a_mark_given_again_after_an_undo_counts_again() -> None:
    runtime, session = await marked_once()
    await runtime.learning.mark(False)
    marked = state(runtime, session)[1:]
    runtime.sessions.playbook.undo(session)
    events = await runtime.learning.mark(False)
    assert [line for e in events if isinstance(e, PlaybookUpdated) for line in e.lines] == [
        "P-1 harmful +1: you marked it bad"
    ]
    assert (counts(session), state(runtime, session)[1:]) == ((0, 1), marked)


async def test_the_same_mark_twice_counts_once_and_says_so() -> None:
    runtime, session = await marked_once()
    await runtime.learning.mark(False)
    before = state(runtime, session)
    events = await runtime.learning.mark(False)
    assert [e.lines[-1] for e in events if isinstance(e, PlaybookUpdated)] == ["T2 was marked bad before"]
    assert state(runtime, session) == before


async def test_a_changed_mind_takes_the_place_of_the_first_word_as_often_as_it_changes() -> None:
    runtime, session = await marked_once()
    await runtime.learning.mark(True)
    good = state(runtime, session)
    await runtime.learning.mark(False)
    assert counts(session) == (0, 1)
    bad = state(runtime, session)
    await runtime.learning.mark(True)
    assert (counts(session), state(runtime, session)[3]) == ((1, 0), good[3])
    runtime.sessions.playbook.undo(session)
    assert state(runtime, session) == bad
    runtime.sessions.playbook.undo(session)
    assert state(runtime, session) == good


async def test_a_later_word_on_the_turn_outlives_the_undo_of_its_mark() -> None:
    runtime, session = await marked_once()
    await runtime.learning.mark(True)
    runtime.sessions.playbook.turns.judge(session.id, 2, False, 1.0, "correction")
    runtime.sessions.playbook.undo(session)
    record = runtime.sessions.playbook.turns.of(session.id, 2)
    assert record is not None
    assert (record.good, record.signal) == (False, "correction")
    with pytest.raises(BadInput, match="T2 has been judged anew"):
        runtime.sessions.playbook.redo(session)


async def test_another_look_at_a_marked_turn_leaves_the_users_word() -> None:
    Path("test.sh").write_text("test -e made\n")
    run = ("run_command", {"command": "sh test.sh"})
    runtime = make_runtime([calls(run), calls(("run_command", {"command": "touch made"})), calls(run), "It passes."])
    await run_turn(runtime, "make it pass", learn=False)
    session = runtime.sessions.current_session
    assert session is not None
    await runtime.learning.mark(False)
    await runtime.learning.learn(1)
    record = runtime.sessions.playbook.turns.of(session.id, 1)
    assert record is not None
    assert (record.good, record.signal) == (False, "mark")


async def test_the_counts_of_a_mark_go_also_when_its_session_is_deleted() -> None:
    runtime, session = await marked_once()
    await runtime.learning.mark(False)
    runtime.new_session()
    new = runtime.sessions.current_session
    assert new is not None
    runtime.sessions.delete(session.id)
    runtime.sessions.playbook.undo(new)
    assert counts(new) == (0, 0)
    runtime.sessions.playbook.redo(new)
    assert counts(new) == (0, 1)
