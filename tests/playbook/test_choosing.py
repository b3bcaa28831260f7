"""What a turn's prompt gets."""

from __future__ import annotations

from typing import Any

from swecli.models.playbook import SessionPlaybook
from swecli.playbook.ablation import AblationPlan
from swecli.playbook.choosing import Chosen, choose
from swecli.playbook.score import Standings


def chosen(playbook: SessionPlaybook, interaction: int = 1, **more: Any) -> Chosen:
    return choose(
        playbook, "run the tests", standings=Standings(), count=len, interaction=interaction, seed=3, **more
    )  # fmt: skip


def book() -> SessionPlaybook:
    made = SessionPlaybook()
    made.add("run the tests with tox", stale="tox")
    made.add("run the tests before a commit")
    made.add("name tests after what they show")
    return made


def test_what_is_stale_stays_out_and_nothing_is_chosen_while_it_is_off() -> None:
    playbook = book()
    assert [b.id for b in chosen(playbook).bullets] == ["P-2", "P-3"]
    playbook.off = True
    assert chosen(playbook).bullets == ()


def test_an_ablation_turn_shows_less_and_says_what() -> None:
    plan = AblationPlan.parse("one:2")
    playbook = book()
    whole, less = chosen(playbook, 1, plan=plan), chosen(playbook, 2, plan=plan)
    assert whole.ablation.what == ""
    assert less.ablation.what == "withheld"
    assert {b.id for b in less.bullets} | set(less.ablation.withheld) == {b.id for b in whole.bullets}
    assert less.selection == whole.selection
    assert chosen(playbook, 2, plan=plan) == less
