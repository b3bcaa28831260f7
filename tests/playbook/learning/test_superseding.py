"""What takes the place of an older lesson of the user's, and what stands beside it."""

from __future__ import annotations

import pytest

from swecli.models.playbook import Bullet, Evidence, Scope
from swecli.playbook.learning.proposals import AddProposal
from swecli.playbook.learning.superseding import succeeds


def said(newer: str, older: str, *, scope: Scope = "project", was: Scope = "project", quote: str = "") -> bool:
    evidence = (Evidence("teaching", quote or newer),)
    add = AddProposal(newer, "general", "strategy", scope, "user", evidence)
    return succeeds(add, Bullet("P-1", older, scope=was, trust="user"))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The tests run with `pytest -q tests/unit`", "The tests run with `pytest -q tests/integration`"),
        ("Run the tests with `pytest -q tests/unit`", "The tests run with `pytest -q tests/all`"),
        ("Use 2 spaces for indentation", "Use 4 spaces for indentation"),
        ("Deploy the shop from branch main", "Deploy the shop from branch release"),
        ("`make test fast=1` runs the tests", "`make test fast=0 all` runs the tests"),
    ],
)
def test_what_says_one_thing_differently_takes_its_place(older: str, newer: str) -> None:
    assert said(newer, older)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Install numpy with pip", "Install pandas with pip"),
        ("Mock the clock in unit tests", "Mock the network in unit tests"),
        ("Run `ruff check` before a commit", "Run `mypy` before a commit"),
    ],
)
def test_what_speaks_of_another_thing_stands_beside_it(older: str, newer: str) -> None:
    assert not said(newer, older)


def test_who_says_also_or_means_less_takes_nothing_back() -> None:
    older, newer = "Deploy the shop from branch main", "Deploy the shop from branch release"
    assert not said(newer, older, quote="deploy the shop from branch release too")
    assert not said(newer, older, was="user")
    assert said(newer, older, scope="user")
