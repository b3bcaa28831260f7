"""Test that each behaviour that was reported of services ends as it should."""

from __future__ import annotations

import pytest

from lab.services.behaviours import BEHAVIOURS, Behaviour, play
from swecli.llm import retries

pytestmark = pytest.mark.slow
NAMES = [f"{one.what} ({one.reported})" for one in BEHAVIOURS]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "_FIRST_WAIT", 0.0)


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=NAMES)
async def test_a_reported_behaviour_ends_as_it_should(behaviour: Behaviour) -> None:
    ending = await play(behaviour)
    assert ending.refusals == ()
    assert ending.is_right(behaviour), ending


def test_no_behaviour_is_listed_twice() -> None:
    assert len(NAMES) == len(set(NAMES))
    assert len(BEHAVIOURS) >= 60
