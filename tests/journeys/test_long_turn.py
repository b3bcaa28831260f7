"""A turn of sixty calls ends well in any window, and whatever becomes of its summaries."""

from __future__ import annotations

import pytest

from tests.support.long_turns import CALLS, CONDENSERS, run_long_turn


@pytest.mark.parametrize(
    ("context_window", "most"),
    [(8_192, 45), pytest.param(16_384, 25, marks=pytest.mark.slow), pytest.param(32_768, 8, marks=pytest.mark.slow),
     pytest.param(131_072, 0, marks=pytest.mark.slow)],
)  # fmt: skip
async def test_sixty_calls_end_without_an_error(context_window: int, most: int) -> None:
    found = await run_long_turn(context_window)
    assert found.end == "done"
    assert found.illegal == []
    assert sum(found.rungs.values()) <= most
    assert found.asked <= 12, "no summary after summary"
    if "condense" in found.rungs:
        assert "Files changed: found.txt" in found.system, "what the turn itself changed survives its condensing"
        assert "mend the leak in f1" in found.system


@pytest.mark.parametrize(
    "condenser",
    [pytest.param(name, marks=() if name == "fails three times" else pytest.mark.slow) for name in CONDENSERS],
)
async def test_whatever_the_condenser_does_the_turn_goes_on(condenser: str) -> None:
    found = await run_long_turn(16_384, CONDENSERS[condenser])
    assert found.end == "done"
    assert found.requests - found.asked == CALLS + 1
    said = [line for line in found.notices if "condens" in line]
    assert len(said) <= 2, "reported once, and once more when it goes on"
    assert bool(said) == (condenser != "works")
    if not condenser.startswith("fails"):  # whether one more is asked for depends on how much is left to do
        assert ("condense" in found.rungs) == (condenser == "works")
