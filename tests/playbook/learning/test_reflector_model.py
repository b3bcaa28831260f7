"""Test the budget of the reflecting model: what it counts, and what a pause says."""

from __future__ import annotations

from swecli.llm.profile import Profile
from swecli.models.message import Usage
from swecli.playbook.learning.reflector_model import REFLECTING, Question, ReflectorModel
from swecli.store.records import UsageTotals
from tests.support.scripted import ScriptedModel

QUESTION = Question("template", "x" * 6_000, {}, lambda answer: (answer, ""))
CHEAP = {"input_cost_per_token": 1e-7, "output_cost_per_token": 4e-7}


def reflector(price: dict[str, float] | None) -> ReflectorModel:
    model = ScriptedModel()
    model.profile = Profile(128_000, price=price or {})
    return ReflectorModel("template", model, every_turn=True)


def totals(turns: float | None, reflected: float | None, questions: int) -> UsageTotals:
    """Return the usage of a session whose turns and reflections cost this much."""
    asked = UsageTotals(Usage(2_000 * questions, output=400 * questions), reflected, questions)
    spent = UsageTotals(Usage(10_000, output=500), turns, 5)
    return UsageTotals(
        spent.usage + asked.usage, (spent + asked).cost, 5 + questions, {REFLECTING: asked}
    )


def test_the_budget_is_a_share_of_the_sessions_money_so_a_cheap_model_is_not_paused() -> None:
    model, cost = reflector(CHEAP), 0.00036
    for turns in range(1, 60):
        spent = totals(0.02 * turns, cost * turns, turns)
        assert model.blocked_reason(QUESTION, spent, 15, friction=False) == ""


def test_a_pause_names_the_money_and_the_setting() -> None:
    spent = totals(0.10, 0.0148, 40)
    paused = reflector(CHEAP).blocked_reason(QUESTION, spent, 15, friction=True)
    assert paused == (
        "one more reflection would exceed this session's budget (reflect_percent = 15), "
        "used: $0.01 of $0.01"
    )
    calm = reflector(CHEAP).blocked_reason(QUESTION, spent, 15, friction=False)
    assert calm.endswith("for turns without trouble")


def test_tokens_are_counted_only_without_a_price() -> None:
    for model, spent in (
        (reflector(None), totals(0.1, 0.1, 6)),
        (reflector(CHEAP), totals(None, 0.1, 6)),
    ):
        paused = model.blocked_reason(QUESTION, spent, 15, friction=True)
        assert paused.endswith("used: 24,000 of 20,000 weighted tokens, as no price is known")
