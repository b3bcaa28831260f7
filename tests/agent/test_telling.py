"""What came of a reflection, in lines."""

from __future__ import annotations

from swecli.agent.telling import price, told_of
from swecli.models.events import PlaybookUpdated
from swecli.models.playbook import AppliedDelta, Delta, Op
from swecli.store.records import Draft


def test_money_is_always_said_and_nothing_for_nothing_never() -> None:
    assert told_of(Draft("s", 1), None) == []
    [event] = told_of(Draft("s", 1, author="some/model", cost=0.02, requests=1), None)
    assert isinstance(event, PlaybookUpdated)
    assert (event.lines, event.cost) == (("some/model saw nothing to learn in T1",), 0.02)
    assert (price(None), price(0.5)) == ("price unknown", "$0.5000")


def test_what_the_user_took_back_before_is_not_told_as_new() -> None:
    delta = Delta("d", (Op("ADD", fields={"content": "x"}),), "rules")
    draft = Draft("s", 1, delta, ("+ x",))
    assert told_of(draft, None) == []
    [event] = told_of(draft, AppliedDelta(delta, {"P-1": None}, ("P-1",)))
    assert isinstance(event, PlaybookUpdated)
    assert (event.lines, event.added) == (("+ x",), ("P-1",))
