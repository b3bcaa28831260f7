"""Test that no request contains more interactions than the window allows, whatever happens to learning."""

from __future__ import annotations

import pytest

from swecli.models.window_spec import WindowSpec
from tests.support.runtime import catch_up, make_runtime, run_turn
from tests.support.window_runs import REFLECTORS, make_project, run_window

MOST = {"5+3": 8, "3": 3, "1": 1}


@pytest.mark.parametrize(
    ("window", "reflector"),
    [
        pytest.param(
            window,
            reflector,
            marks=() if (window, reflector) == ("1", "never answers") else pytest.mark.slow,
        )
        for window in MOST
        for reflector in REFLECTORS
    ],
)
async def test_no_request_contains_more_turns_than_size_and_slack(
    window: str, reflector: str
) -> None:
    make_project()
    found = await run_window(window, reflector, turns=16)
    assert found.most == MOST[window]
    assert found.broken == found.announced, (
        "each change of the prefix has a row, and each row is a change"
    )
    assert found.refused == []
    assert (found.waiting > 0) == (reflector in ("fails", "never answers")), (
        "turns without a reflection are pending"
    )


@pytest.mark.slow
async def test_an_automatic_window_is_cut_only_at_its_upper_bound() -> None:
    make_project()
    found = await run_window("auto", "none", turns=25)
    assert found.most == 10
    assert found.broken == found.announced <= 4


async def test_turns_outside_the_window_are_reflected_on_from_the_store() -> None:
    runtime = make_runtime(["Done."] * 6, window=WindowSpec(1), reflect_with_model=False)
    await run_turn(runtime, "remember that commits are signed", learn=False)
    for number in range(4):
        await run_turn(runtime, f"question {number}", learn=False)
    session = runtime.sessions.current_session
    assert session is not None
    assert runtime.agent.prepare("now").request.window[0] > 1, "the first turn left the window"
    runtime.close()
    later = make_runtime(
        ["Done."], resume=session.id, window=WindowSpec(1), reflect_with_model=False
    )
    await catch_up(later)
    known = later.sessions.current_session
    assert known is not None
    assert any(
        "commits are signed" in bullet.content.casefold()
        for bullet in known.get_playbook().live_bullets()
    )
    assert later.learning.pending() == []
    later.close()
