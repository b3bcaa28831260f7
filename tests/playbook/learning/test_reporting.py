"""What came of a reflection, in lines."""

from __future__ import annotations

from swecli.models.learning_events import PlaybookUpdated
from swecli.models.playbook import AppliedDelta, Bullet, Delta, Op
from swecli.models.session import Session
from swecli.playbook.describe import lines_of
from swecli.playbook.learning.reporting import price, still_possible, told_of
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


def test_nothing_is_called_learned_that_speaks_of_what_is_gone() -> None:
    ops = (Op("TAG", "P-1", "harmful"), Op("MERGE", "P-2", into="P-1"), Op("TAG", "P-2", "helpful"))
    draft = Draft("s", 1, Delta("d", ops, "rules"), lines_of(Delta("d", ops, "rules")))
    session = Session("s", "/p")
    session.playbook.bullets["P-2"] = Bullet("P-2", "x")
    left = still_possible(draft, session)
    assert left.delta is not None
    assert left.delta.ops == ops[2:]
    assert left.lines == lines_of(left.delta)
    assert len(left.refused) == 2
