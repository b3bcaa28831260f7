"""Scores worked out from what is stored."""

from __future__ import annotations

from swecli.models.playbook import Delta, Evidence, Op, Tag
from swecli.playbook.score import PRIOR, vouched_for
from swecli.playbook.standing import standings_of
from swecli.store.records import TurnRecord


def record(number: int, good: bool | None = True, *cited: str) -> TurnRecord:
    return TurnRecord("s", number, shown=cited, cited=cited, good=good, weight=1.0, topic="tests")


def tagged(number: int, name: str, tag: Tag, source: str = "command") -> Delta:
    op = Op("TAG", name, tag, evidence=(Evidence(source, "why"),))
    return Delta(f"d{number}{name}{tag}", (op,), "rules", "s", number)


def test_what_goes_well_is_worth_more_than_what_does_not() -> None:
    records = [r for n in range(0, 40, 2) for r in (record(n, True, "P-1"), record(n + 1, False, "P-2"))]
    deltas = [d for n in range(0, 40, 2) for d in (tagged(n, "P-1", "helpful"), tagged(n + 1, "P-2", "harmful"))]
    standings = standings_of(records, deltas)
    assert standings.of("P-1").score > PRIOR.score > standings.of("P-2").score
    assert standings.of("P-2").standing != "good"
    assert standings.of("P-1").tags == 20


def test_a_verdict_on_the_turn_before_counts_there() -> None:
    records = [record(1, False, "P-1"), record(2, True)]
    found = standings_of(records, [tagged(2, "P-1", "harmful", "correction")])
    assert found.of("P-1").tags == 1
    assert found.of("P-1").expected < PRIOR.expected


def test_what_nobody_knows_does_not_count() -> None:
    assert standings_of([record(1, None, "P-1")], [tagged(1, "P-1", "harmful")]).beliefs == {}


def test_the_users_word_for_a_strategy_forgets_what_spoke_against_it_and_keeps_what_spoke_for_it() -> None:
    bad = standings_of([record(n, False, "P-1") for n in range(5)], [tagged(n, "P-1", "harmful") for n in range(5)])
    good = standings_of([record(n, True, "P-1") for n in range(5)], [tagged(n, "P-1", "helpful") for n in range(5)])
    assert vouched_for(bad, "P-1").of("P-1") == PRIOR
    assert vouched_for(bad, "P-1").topics == bad.topics
    assert vouched_for(good, "P-1") == good
