"""Test the learning loop: a turn changes the stored playbook, with evidence, and turns sent the
change."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.models.errors import Unavailable
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from tests.support.runtime import NO, User, calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel


async def test_a_taught_strategy_is_in_the_next_request_and_has_evidence() -> None:
    runtime = make_runtime(["Noted.", "Yes."])
    events = await run_turn(runtime, "remember that the tests run with `pytest -q`")
    learned = next(e for e in events if isinstance(e, PlaybookUpdated))
    assert len(learned.added) == 1
    await run_turn(runtime, "hello")
    model = runtime.agent.model
    assert isinstance(model, ScriptedModel)
    assert "pytest -q" not in str(model.requests[0].messages[0]["content"])
    assert model.requests[1].messages[0] == model.requests[0].messages[0], "the head is unchanged"
    assert f"Strategy [{learned.added[0]}] is new" in str(model.requests[1].messages[-1]["content"])
    assert "pytest -q" in str(model.requests[1].messages[-1]["content"])
    evidence = runtime.sessions.playbook.evidence(learned.added[0])
    assert "pytest -q" in evidence[0].quote


async def test_a_correction_blames_no_cited_strategy_by_a_rule() -> None:
    Path("Makefile").write_text("check:\n\ttrue\n")
    runtime = make_runtime(["Noted.", "I ran it, as [P-1] says.", "Sorry."])
    await run_turn(runtime, "remember that the tests run with `make check`")
    await run_turn(runtime, "run the tests")
    await run_turn(runtime, "no, that was wrong")
    bullet = runtime.sessions.playbook.get("P-1")
    assert bullet is not None
    assert bullet.harmful == 0
    turn = runtime.sessions.turns.turn(runtime.sessions.session.id, 2)
    assert turn is not None
    assert (turn.good, turn.mark) == (None, "")


async def test_a_user_mark_judges_the_turn_and_no_cited_strategy_and_undo_reverts_it() -> None:
    runtime = make_runtime(["Noted.", "Done, see [P-1]."])
    await run_turn(runtime, "remember that answers are short")
    await run_turn(runtime, "hello")
    before = runtime.sessions.playbook.get("P-1")
    session, store = runtime.sessions.session, runtime.sessions.playbook
    await runtime.learning.mark(True)
    marked = runtime.sessions.turns.turn(session.id, 2)
    assert marked is not None
    assert (marked.mark, marked.good) == ("good", True)
    assert store.get("P-1") == before
    store.undo(session)
    unmarked = runtime.sessions.turns.turn(session.id, 2)
    assert unmarked is not None
    assert (unmarked.mark, unmarked.good) == ("", None)


async def test_lessons_of_the_rules_are_reported_even_if_the_reflection_fails() -> None:
    """A refused command triggers a reflection too; it fails, and both the lesson and the failure are reported."""
    answers = iter([calls(("run_command", {"command": "make"})), "As you wish."])
    no = User([NO])
    runtime = make_runtime(
        lambda r: Unavailable("gone") if r.purpose == "reflect" else next(answers), no
    )
    events = await run_turn(runtime, "remember that the build is `ninja`. Build it.")
    learned = [e for e in events if isinstance(e, PlaybookUpdated)]
    failed = [e for e in events if isinstance(e, ReflectionFailed)]
    assert learned
    assert learned[0].added
    assert [e.kept for e in failed] == [True]
    session = runtime.sessions.current_session
    assert session is not None
    assert runtime.sessions.turns.pending(session.id), "the reflection is retried at the next start"


async def test_a_turn_is_reflected_on_only_once() -> None:
    runtime = make_runtime(["Noted."])
    await run_turn(runtime, "remember that answers are short")
    await runtime.learning.learn(1)
    session = runtime.sessions.current_session
    assert session is not None
    assert len(session.playbook.bullets) == 1
    assert not runtime.sessions.turns.pending(session.id)


@pytest.mark.slow
async def test_a_taught_strategy_is_in_the_requests_of_the_next_session() -> None:
    runtime = make_runtime(["Noted.", "Hello."])
    await run_turn(runtime, "remember that answers are short")
    runtime.new_session()
    await run_turn(runtime, "hi")
    assert "Answers are short" in runtime.agent.model.requests[-1].messages[0]["content"]  # type: ignore[attr-defined]
