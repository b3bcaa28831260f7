"""Whole sessions, turn by turn: a session that is missing is said before anything is learned."""

from __future__ import annotations

import pytest

from swecli.models.errors import BadInput
from swecli.playbook.learning.backfill import study
from tests.support.runtime import make_runtime, run_turn


async def test_nothing_is_learned_when_one_of_the_sessions_is_missing() -> None:
    runtime = make_runtime(["Noted."])
    await run_turn(runtime, "remember that answers are short", learn=False)
    session = runtime.sessions.current_session
    assert session is not None
    with pytest.raises(BadInput, match="no session"):
        [one async for one in study(runtime.learning, [session.id, "nowhere"])]
    assert session.playbook.bullets == {}
    found = [one async for one in study(runtime.learning, [session.id], epochs=2)]
    assert [(one.interaction, one.epoch) for one in found] == [(1, 1), (1, 2)]
    assert len(runtime.sessions.playbook.load(session).bullets) == 1
