"""Test a bullet's score, which outcomes and tags move in proportion to their evidence."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swecli.models.playbook import PRIORS, Bullet, Effect, Tag, update_belief
from swecli.playbook.ranking import TAGS, Reflector, outcome_verdicts, passes

ODDS = st.tuples(*[st.floats(0.01, 1)] * 3).map(lambda w: tuple(x / sum(w) for x in w))


def apply_verdicts(bullet: Bullet, *verdicts: object) -> tuple[float, ...]:
    odds = bullet.current_belief
    for verdict in verdicts:
        odds = update_belief(odds, PRIORS[bullet.trust], verdict.factors, verdict.forget)  # type: ignore[attr-defined]
    return odds


@given(ODDS, st.booleans(), st.floats(0, 1), st.floats(-6, 6))
def test_an_outcome_moves_a_belief_in_its_direction_and_the_sum_stays_one(
    odds: tuple[float, ...], good: bool, weight: float, base: float
) -> None:
    bullet = Bullet("P-1", "x", belief=odds)  # type: ignore[arg-type]
    [verdict], odds_after = outcome_verdicts(
        [(bullet, 1.0, "")], good, weight, base, ("check", "why")
    )
    after = update_belief(bullet.current_belief, bullet.current_belief, verdict.factors, 0.0)
    assert sum(after) == pytest.approx(1)
    change = after[2] - after[0] - bullet.worth
    assert change >= -1e-9 if good else change <= 1e-9
    assert -6 <= odds_after <= 6


def test_after_a_good_outcome_role_one_is_helpful_a_smaller_role_neutral_and_zero_has_no_verdict() -> (
    None
):
    shown = [(Bullet(f"P-{n}", "x"), role, "") for n, role in enumerate((1.0, 0.3, 0.0), 1)]
    verdicts, _ = outcome_verdicts(shown, True, 1.0, 0.0, ("check", "why"))
    assert [(v.bullet_id, v.tag) for v in verdicts] == [("P-1", "helpful"), ("P-2", "neutral")]


EFFECT_OF: dict[Tag, Effect] = {"helpful": "helped", "harmful": "hurt", "neutral": "irrelevant"}


def judge_turns(
    reflector: Reflector, truth: dict[str, Tag], tag_of: object, turns: int = 60
) -> Reflector:
    bullets = {name: Bullet(name, "x") for name in truth}
    for turn in range(turns):
        good = turn % 2 == 0
        effects = [(bullets[name], EFFECT_OF[tag_of(name, good)], "") for name in truth]  # type: ignore[operator]
        verdicts, reflector = reflector.judge("m", effects, good, {})
        for verdict in verdicts:
            bullet = bullets[verdict.bullet_id]
            odds = update_belief(
                bullet.current_belief, PRIORS[bullet.trust], verdict.factors, verdict.forget
            )
            bullets[bullet.id] = Bullet(bullet.id, "x", belief=odds)
    judge_turns.bullets = bullets  # type: ignore[attr-defined]
    return reflector


def test_a_reflector_with_true_tags_gets_more_insight_than_one_that_repeats_the_outcome() -> None:
    truth: dict[str, Tag] = {f"P-{n}": TAGS[n % 3] for n in range(1, 13)}
    honest = judge_turns(Reflector(), truth, lambda name, good: truth[name])
    known = judge_turns.bullets  # type: ignore[attr-defined]
    echo = judge_turns(Reflector(), truth, lambda name, good: "helpful" if good else "harmful")
    assert echo.insight < 0.1 < honest.insight
    assert all(
        (known[n].worth > 0.3) == (t == "helpful") for n, t in truth.items() if t != "neutral"
    )
    assert Reflector.from_json(asdict(honest)) == honest


def test_tags_of_turns_with_unknown_outcome_are_counted_separately() -> None:
    verdicts, after = Reflector().judge("m", [(Bullet("P-1", "x"), "helped", "")], None, {})
    assert (after.unknown, after.good) == ((1.0, 1.0, 2.0), (1.0, 1.0, 1.0))
    assert verdicts[0].factors[2] > verdicts[0].factors[0]


def test_harmful_bullets_are_held_back_unless_pinned_or_from_the_user_and_doubtful_ones_pass() -> (
    None
):
    bad, unlucky = (0.9, 0.05, 0.05), (0.35, 0.35, 0.3)
    assert passes(Bullet("P-1", "x", trust="user", belief=bad))
    assert passes(Bullet("P-1", "x", state="pinned", belief=bad))
    assert not passes(Bullet("P-1", "x", belief=bad))
    assert passes(Bullet("P-1", "x", belief=unlucky))
    assert not passes(Bullet("P-1", "x", belief=unlucky), ignorant=True)
