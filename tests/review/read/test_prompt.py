"""The system message of a review: one for all its parts."""

from __future__ import annotations

from swecli.models.finding import SMELLS
from swecli.review.read.prompt import Rule, build_system_prompt


def test_it_names_all_smells_and_the_projects_rules_and_nothing_of_the_target() -> None:
    text = build_system_prompt([Rule("No floats", "Money is Decimal.")])
    assert all(smell in text for smell in SMELLS)
    assert "### No floats\nMoney is Decimal." in text
    assert len(build_system_prompt([])) < 6_000
