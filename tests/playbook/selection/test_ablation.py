"""What a turn leaves out, and that it can be repeated."""

from __future__ import annotations

import pytest

from swecli.models.errors import BadInput
from swecli.models.playbook import Bullet
from swecli.playbook.selection.ablation import Ablation, AblationPlan, ablate

CHOSEN = [Bullet("P-10", "b"), Bullet("P-2", "a"), Bullet("P-3", "c", state="pinned")]


@pytest.mark.parametrize("text", ["", "never", " Never "])
def test_nothing_is_left_out_unless_it_is_wanted(text: str) -> None:
    assert ablate(AblationPlan.parse(text), 10, CHOSEN, 1) == Ablation()


def test_the_playbook_is_off_every_nth_turn() -> None:
    plan = AblationPlan.parse("off:3")
    assert [ablate(plan, n, CHOSEN, 1).what for n in range(1, 7)] == ["", "", "off", "", "", "off"]
    assert ablate(plan, 3, CHOSEN, 1).shown(CHOSEN) == []
    assert ablate(plan, 3, [], 1) == Ablation()


def test_one_strategy_is_withheld_by_the_seed_and_never_a_pinned_one() -> None:
    plan = AblationPlan.parse("one:2")
    found = {seed: ablate(plan, 2, CHOSEN, seed) for seed in range(20)}
    assert {a.withheld for a in found.values()} == {("P-2",), ("P-10",)}
    assert all(a == ablate(plan, 4, list(reversed(CHOSEN)), seed) for seed, a in found.items())
    assert len(found[0].shown(CHOSEN)) == 2
    assert ablate(plan, 2, CHOSEN[2:], 1) == Ablation()


@pytest.mark.parametrize("text", ["off", "off:1", "off:x", "one:0", "all:3", "never:2", "off:" + "9" * 40])
def test_another_plan_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput, match="no plan for ablation"):
        AblationPlan.parse(text)
