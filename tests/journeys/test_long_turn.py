"""Test that a turn of sixty calls finishes in any window, whether or not its summaries succeed."""

from __future__ import annotations

import pytest

from tests.support.long_turns import CALLS, CONDENSERS, run_long_turn

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("context_window", "most", "summaries"),
    [(8_192, 45, 8), pytest.param(16_384, 25, 4, marks=pytest.mark.slow),
     pytest.param(32_768, 8, 1, marks=pytest.mark.slow), pytest.param(131_072, 0, 0, marks=pytest.mark.slow)],
)  # fmt: skip
async def test_a_turn_of_sixty_calls_finishes_in_any_window(
    context_window: int, most: int, summaries: int
) -> None:
    found = await run_long_turn(context_window)
    assert found.end == "done"
    assert found.illegal == []
    assert sum(found.rungs.values()) <= most
    assert found.asked <= summaries, "no summary after summary"
    if "condense" in found.rungs:
        assert "Files changed: found.txt" in found.system, (
            "the facts of the running turn survive a summary"
        )
        assert "mend the leak in f1" in found.system


@pytest.mark.parametrize(
    ("condenser", "context_window"),
    [
        pytest.param(
            name,
            size,
            marks=() if name.startswith("fails") and size == 16_384 else pytest.mark.slow,
        )
        for name in CONDENSERS
        for size in (8_192, 16_384)
        if size == 8_192 or name == "works" or name.startswith("fails")
    ],
)
async def test_a_long_turn_finishes_whatever_the_condenser_answers(
    condenser: str, context_window: int
) -> None:
    found = await run_long_turn(context_window, CONDENSERS[condenser])
    assert found.end == "done"
    assert found.illegal == []
    assert found.requests - found.asked == CALLS + 1
    notes = [line for line in found.notices if "condens" in line]
    assert len(notes) <= 2, "reported at the first failure and at most once more"
    assert bool(notes) == (condenser != "works")
    assert ("condense" in found.rungs) == (condenser == "works" or condenser.startswith("fails"))
    if condenser.startswith("answers"):
        assert 4 <= found.asked <= 9, "retried as the conversation grows, with growing distance"
