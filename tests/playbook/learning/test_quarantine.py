"""What seems to harm is set aside, and the user has the last word."""

from __future__ import annotations

from swecli.app import Runtime
from swecli.models.learning_events import PlaybookUpdated
from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.actions import ACTIONS
from swecli.playbook.desk import PlaybookDesk
from swecli.playbook.learning.quarantine import set_aside
from swecli.playbook.score import PRIOR
from tests.support.runtime import make_runtime, run_turn


def prepared() -> tuple[Runtime, Session, PlaybookDesk]:
    answers = [text for _ in range(30) for text in ("I did it as [P-1] says.", "Sorry.")]
    runtime = make_runtime(answers, reflect_with_model=False)
    session = runtime.sessions.current_session
    assert session is not None
    add = Op("ADD", fields={"content": "use tabs everywhere", "scope": "project"}, evidence=(Evidence("model", "so"),))
    runtime.sessions.playbook.apply(Delta("d", (add,), "rules"), session)
    return runtime, session, PlaybookDesk(runtime.sessions, session)


async def corrected(runtime: Runtime, times: int) -> list[PlaybookUpdated]:
    found = []
    for _ in range(times):
        await run_turn(runtime, "do it")
        found += [e for e in await run_turn(runtime, "no, that was wrong") if isinstance(e, PlaybookUpdated)]
    return found


def bullet(session: Session) -> Bullet:
    return session.playbook.bullets["P-1"]


async def test_a_strategy_that_is_corrected_again_and_again_is_set_aside_and_that_is_told() -> None:
    runtime, session, desk = prepared()
    events = await corrected(runtime, 8)
    assert bullet(session).state == "quarantined"
    lines = [line for event in events for line in event.lines if "set aside" in line]
    assert len(lines) == 1
    assert "harmful with" in lines[0]
    assert ACTIONS["review"].run(desk, []).value[0]["id"] == "P-1"


async def test_what_the_user_takes_back_in_is_in_prompts_again_and_set_aside_only_by_what_happens_then() -> None:
    runtime, session, desk = prepared()
    while bullet(session).state == "active":
        await corrected(runtime, 1)
    assert runtime.agent.prepare("do it").request.shown == ()
    ACTIONS["review"].run(desk, ["P-1", "use"])
    assert bullet(session).state == "active"
    assert runtime.agent.prepare("do it").request.shown == ("P-1",)
    assert any(
        "what spoke against it before counts no more" in line for line in ACTIONS["show"].run(desk, ["P-1"]).lines
    )
    assert set_aside(runtime.sessions, session, session.interactions) is None
    await corrected(runtime, 1)
    assert bullet(session).state == "active"
    assert "P-1" in runtime.agent.prepare("do it").request.shown
    await corrected(runtime, 8)
    assert bullet(session).state == "quarantined"


async def test_the_users_yes_counts_until_it_is_taken_back() -> None:
    runtime, session, desk = prepared()
    while bullet(session).state == "active":
        await corrected(runtime, 1)
    before = desk.standings()
    ACTIONS["restore"].run(desk, ["P-1"])
    assert desk.standings().of("P-1") == PRIOR
    ACTIONS["undo"].run(desk, [])
    assert desk.standings() == before
    ACTIONS["redo"].run(desk, [])
    assert desk.standings().of("P-1") == PRIOR


async def test_what_is_active_and_held_to_harm_waits_for_the_users_word() -> None:
    runtime, session, desk = prepared()
    while bullet(session).state == "active":
        await corrected(runtime, 1)
    ACTIONS["undo"].run(desk, [])
    assert ACTIONS["why"].run(desk, ["do", "it"]).rows[0][1] == "out"
    assert "use it, or remove it?" in ACTIONS["review"].run(desk, []).lines[1]
    ACTIONS["restore"].run(desk, ["P-1"])
    assert ACTIONS["why"].run(desk, ["do", "it"]).rows[0][1] == "in"


async def test_what_the_user_undid_is_not_done_again() -> None:
    runtime, session, desk = prepared()
    while bullet(session).state == "active":
        await corrected(runtime, 1)
    ACTIONS["undo"].run(desk, [])
    assert bullet(session).state == "active"
    await corrected(runtime, 2)
    assert bullet(session).state == "active"


async def test_one_correction_sets_nothing_aside() -> None:
    runtime, session, _ = prepared()
    await corrected(runtime, 1)
    assert (bullet(session).state, bullet(session).harmful) == ("active", 1)
