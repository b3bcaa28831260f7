"""What a bullet is worth: beliefs move with outcomes, and with tags only as far as they depart from habit."""

from __future__ import annotations

import json
import math
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.errors import BadInput
from swecli.playbook.score import (
    FURTHEST,
    PRIOR,
    Belief,
    Citation,
    Habit,
    Outcome,
    Standings,
    after,
    sigmoid,
    topic_of,
)

TAGS = st.sampled_from(["helpful", "harmful", "neutral", None])
CITED = st.lists(st.builds(Citation, st.sampled_from(["P-1", "P-2", "P-3", "P-4"]), TAGS), max_size=5)
OUTCOMES = st.builds(
    Outcome,
    topic=st.sampled_from(["tests", "build"]),
    good=st.sampled_from([True, False, None]),
    weight=st.floats(0, 1),
    cited=CITED.map(tuple),
    reflector=st.sampled_from(["rules", "model"]),
)
HISTORIES = st.lists(OUTCOMES, max_size=30)


def played(history: list[Outcome]) -> Standings:
    return reduce(after, history, Standings())


def turns(count: int, good: bool, *cited: Citation, weight: float = 1.0) -> list[Outcome]:
    return [Outcome("tests", good, weight, cited)] * count


@given(HISTORIES)
def test_beliefs_stay_probabilities_that_can_still_change(history: list[Outcome]) -> None:
    for belief in played(history).beliefs.values():
        shares = (belief.harmful, belief.inert, belief.helpful)
        assert math.isclose(sum(shares), 1)
        assert all(0 < share < 1 for share in shares)
        assert -1 <= belief.expected <= 1
        assert 0 <= belief.deviation <= 1


@given(HISTORIES)
def test_the_standings_survive_being_written_down(history: list[Outcome]) -> None:
    standings = played(history)
    assert Standings.from_json(json.loads(json.dumps(standings.to_json()))) == standings


@given(HISTORIES, OUTCOMES, st.randoms())
def test_the_order_of_citations_within_a_turn_does_not_matter(history: list[Outcome], last: Outcome, chance) -> None:
    cited = list({citation.bullet_id: citation for citation in last.cited}.values())
    chance.shuffle(cited)
    shuffled = Outcome(last.topic, last.good, last.weight, tuple(cited), last.reflector)
    one, other = after(played(history), last), after(played(history), shuffled)
    for name, belief in one.beliefs.items():
        assert belief.expected == pytest.approx(other.of(name).expected)


@given(HISTORIES, OUTCOMES)
def test_a_turn_moves_the_bullets_it_cites_and_no_others(history: list[Outcome], last: Outcome) -> None:
    before = played(history)
    cited = {citation.bullet_id for citation in last.cited}
    now = after(before, last)
    assert {name: belief for name, belief in now.beliefs.items() if name not in cited} == {
        name: belief for name, belief in before.beliefs.items() if name not in cited
    }
    if last.good is None:
        assert now == before


@given(HISTORIES, st.sampled_from(["helpful", "harmful", "neutral"]), st.booleans())
def test_success_never_looks_worse_for_a_bullet_than_failure(history: list[Outcome], tag, alone: bool) -> None:
    before = played(history)
    cited = (Citation("P-1"),) if alone else (Citation("P-1"), Citation("P-2"))
    good, bad = (after(before, Outcome("tests", good, 1.0, cited)).of("P-1") for good in (True, False))
    assert good.expected >= bad.expected


def test_a_new_bullet_is_held_to_help_rather_than_to_harm() -> None:
    assert (PRIOR.expected, PRIOR.standing) == (pytest.approx(0.2), "good")
    assert PRIOR.score == pytest.approx(0.2 + 0.15 * PRIOR.deviation)
    assert Standings().of("P-9") is PRIOR


def test_one_turn_moves_by_the_formula() -> None:
    """By hand: base 0, prior (.2, .4, .4), success, no tag; then 1.2 % of the prior come back."""
    chances = (sigmoid(-0.8), 0.5, sigmoid(0.8))
    weighed = [p * chance for p, chance in zip((0.2, 0.4, 0.4), chances, strict=True)]
    now = played(turns(1, True, Citation("P-1")))
    assert now.of("P-1").helpful == pytest.approx(0.988 * weighed[2] / sum(weighed) + 0.012 * 0.4)
    assert now.topics["tests"] == pytest.approx(0.25 * (1 - sigmoid(0.8 * 0.2)))


def test_a_tag_that_this_reflector_always_gives_says_little() -> None:
    praised = turns(40, True, Citation("P-1", "helpful"))
    flattered = after(played(praised), Outcome("tests", True, 1.0, (Citation("P-2", "helpful"),))).of("P-2")
    unusual = after(played(praised), Outcome("tests", True, 1.0, (Citation("P-2", "harmful"),))).of("P-2")
    untagged = after(played(praised), Outcome("tests", True, 1.0, (Citation("P-2"),))).of("P-2")
    assert flattered.helpful - untagged.helpful < 0.1
    assert unusual.harmful - untagged.harmful > 0.3


def test_habits_are_the_reflectors_own() -> None:
    praised = played(turns(40, True, Citation("P-1", "helpful")))
    assert praised.habits["rules"].frequency("helpful", True) > 0.9
    other = Outcome("tests", True, 1.0, (Citation("P-2", "helpful"),), reflector="a model")
    same = Outcome("tests", True, 1.0, (Citation("P-2", "helpful"),))
    assert after(praised, other).of("P-2").helpful > after(praised, same).of("P-2").helpful


def test_a_judges_word_moves_less_than_a_test() -> None:
    tests, judge = (played(turns(5, False, Citation("P-1"), weight=w)).of("P-1").expected for w in (1.0, 0.2))
    assert tests < judge < PRIOR.expected


def test_a_hard_topic_does_not_ruin_the_bullets_that_are_used_there() -> None:
    known_as_hard = played([Outcome("tests", False, 1.0)] * 30)
    fresh = after(Standings(), Outcome("tests", False, 1.0, (Citation("P-1"),))).of("P-1")
    forgiven = after(known_as_hard, Outcome("tests", False, 1.0, (Citation("P-1"),))).of("P-1")
    assert known_as_hard.topics["tests"] < -1.5
    assert fresh.expected < forgiven.expected < PRIOR.expected


def test_a_base_rate_never_becomes_certainty() -> None:
    topics = played([Outcome("tests", True, 1.0)] * 3000).topics
    assert 3 < topics["tests"] <= FURTHEST


def test_repeated_harm_leads_to_quarantine_and_then_to_a_proposal() -> None:
    history: list[Outcome] = []
    seen = []
    for number in range(24):  # another bullet does well on the same topic
        history += [
            Outcome("tests", True, 1.0, (Citation("P-2", "helpful"),)),
            Outcome("tests", False, 1.0, (Citation("P-1", "harmful" if number % 2 else None),)),
        ]
        standing = played(history).of("P-1").standing
        seen += [standing] if standing not in seen else []
    assert seen == ["good", "not selected", "quarantined", "proposed for deletion"]
    assert played(history).of("P-2").standing == "good"


def test_nothing_is_quarantined_before_its_second_verdict() -> None:
    doomed = Belief(0.95, 0.03, 0.02, tags=1)
    assert doomed.standing == "not selected"
    assert Belief(0.95, 0.03, 0.02, tags=2).standing == "proposed for deletion"
    assert Belief(0.7, 0.2, 0.1, tags=2).standing == "quarantined"
    assert played(turns(9, False, Citation("P-1", "neutral"))).of("P-1").tags == 0


def test_a_bullet_that_turned_harmful_is_found_out() -> None:
    believed = [*turns(60, True, Citation("P-1", "helpful")), *turns(60, True)]
    assert played(believed).of("P-1").standing == "good"
    assert played([*believed, *turns(12, False, Citation("P-1", "harmful"))]).of("P-1").standing != "good"


@pytest.mark.parametrize("weight", [-0.1, 1.1, math.nan])
def test_a_weight_is_a_share(weight: float) -> None:
    with pytest.raises(ValueError, match="0 to 1"):
        after(Standings(), Outcome("tests", True, weight))


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        {},
        {"version": 1, "beliefs": {"P-1": [0.5, 0.5, 0.5, 1]}, "topics": {}, "habits": {}},
        {"version": 1, "beliefs": {"P-1": [0.2, 0.4, 0.4]}, "topics": {}, "habits": {}},
        {"version": 1, "beliefs": {"P-1": [0.2, 0.4, 0.4, -1]}, "topics": {}, "habits": {}},
        {"version": 1, "beliefs": {"P-1": [-0.2, 0.8, 0.4, 1]}, "topics": {}, "habits": {}},
        {"version": 1, "beliefs": {}, "topics": {"tests": math.inf}, "habits": {}},
        {"version": 1, "beliefs": {}, "topics": {"tests": "0"}, "habits": {}},
        {"version": 1, "beliefs": {}, "topics": {}, "habits": {"rules": [[1, 1], [1, 1, 1]]}},
        {"version": 1, "beliefs": {}, "topics": {}, "habits": {"rules": [[0, 1, 1], [1, 1, 1]]}},
    ],
)
def test_scores_that_cannot_be_right_are_refused_with_a_reason(broken: object) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        Standings.from_json(broken)


def test_scores_of_a_newer_version_are_not_touched() -> None:
    with pytest.raises(BadInput, match="newer swecli"):
        Standings.from_json({"version": 2})


def test_a_habit_starts_without_one() -> None:
    assert Habit().frequency("harmful", False) == pytest.approx(1 / 3)
    assert Habit().with_tags(["helpful", "helpful"], True).frequency("helpful", True) == pytest.approx(3 / 5)


def test_the_topic_of_a_turn_is_where_most_of_its_bullets_stand() -> None:
    assert topic_of(["tests", "build", "tests"]) == "tests"
    assert topic_of(["style", "build"]) == "build"
    assert topic_of([]) == "general"
