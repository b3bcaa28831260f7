"""Test that over a hundred turns in which only strategy counters change, earlier messages are sent byte for byte the
same."""

from __future__ import annotations

import json

import pytest

from swecli.app import Runtime
from swecli.models.playbook import Delta, Op, Tag, Verdict
from swecli.models.window_spec import WindowSpec
from swecli.store.records import TurnLessons
from tests.support.runtime import make_runtime, run_turn

pytestmark = pytest.mark.slow
TAUGHT = ("run all the tests after a change", "answer in short sentences", "keep the API stable")


def record_effect(runtime: Runtime, tag: Tag) -> None:
    """Store that the first strategy helped or hurt in the newest turn."""
    session = runtime.sessions.session
    number = session.interactions
    delta = Delta(f"effect {number}", (), "m", session.id, number, "turn")
    verdict = Verdict("P-1", "tag", tag, "m", "seen in the turn")
    runtime.sessions.playbook.record_lessons(session, TurnLessons(number, delta, (verdict,)))


@pytest.mark.parametrize("window", [WindowSpec(mode="full"), WindowSpec(5)], ids=["full", "5+3"])
async def test_tags_alone_do_not_change_the_sent_prefix(window: WindowSpec) -> None:
    runtime = make_runtime(lambda request: "Done, as [P-1] and [P-2] say.", window=window)
    session, store = runtime.sessions.current_session, runtime.sessions.playbook
    assert session is not None
    ops = tuple(
        Op("ADD", fields={"content": text, "scope": "project", "trust": "user"}) for text in TAUGHT
    )
    store.apply(Delta("taught", ops, "user"), session)
    changes, last = 0, ""
    for number in range(100):
        await run_turn(runtime, f"question {number}")
        record_effect(runtime, "helpful" if number % 3 else "harmful")
        request = runtime.agent.model.requests[-1]  # type: ignore[attr-defined]
        sent = json.dumps(request.messages, ensure_ascii=False)[:-1]
        changes += not sent.startswith(last)
        last = sent
    assert {op.op for row in store.log(session, 1000) for op in row.delta.ops} == {"ADD"}
    bullet = store.get("P-1")
    assert bullet is not None
    assert len(store.verdicts("P-1")) == 100
    assert bullet.helpful > bullet.harmful > 0
    reductions = [row for row in runtime.sessions.context.log(session) if row.how != "begin"]
    assert changes == len(reductions), "only the window changes the prefix, with a row"
    assert bool(reductions) is (window.mode != "full")
