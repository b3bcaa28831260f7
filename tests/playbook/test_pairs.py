"""Test pairs of strategies: they are open as long as both texts stand and the user has not said that both hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from swecli.app import Runtime
from swecli.models.json_value import JsonObject
from swecli.models.playbook import Bullet
from swecli.playbook.pairs import Pair, PairKind, figures_of, find_new, find_open, make_pairs
from swecli.store.records import TurnLessons
from tests.support.runtime import make_runtime

BULLETS = {
    "P-2": Bullet("P-2", "Indent with tabs"),
    "P-10": Bullet("P-10", "Indent with spaces"),
    "P-11": Bullet("P-11", "Indent with two spaces"),
}


def keep(runtime: Runtime, figures: JsonObject) -> None:
    lessons = TurnLessons(0, figures=figures)
    runtime.sessions.playbook.record_lessons(runtime.session, lessons)


def test_each_two_of_several_are_a_pair_with_the_older_one_first() -> None:
    pairs = make_pairs(PairKind.CONTRADICTION, ("P-10", "P-2", "P-11", "P-2"), "why")
    assert [pair.ids for pair in pairs] == [("P-2", "P-10"), ("P-2", "P-11"), ("P-10", "P-11")]


def test_a_pair_is_told_with_both_texts() -> None:
    pair = Pair(PairKind.CONTRADICTION, "P-2", "P-10")
    expected = 'P-2 "Indent with tabs" and P-10 "Indent with spaces" contradict each other'
    assert pair.line(BULLETS) == expected


@pytest.mark.parametrize(
    "changed",
    [
        {"P-10": replace(BULLETS["P-10"], content="Indent as you like")},
        {"P-10": replace(BULLETS["P-10"], state="disabled")},
    ],
    ids=["reworded", "switched off"],
)
def test_a_pair_is_open_while_both_texts_are_in_prompts(changed: dict[str, Bullet]) -> None:
    runtime = make_runtime()
    pairs = [Pair(PairKind.DOUBLE, "P-2", "P-10", "one says it")]
    turns = runtime.sessions.turns
    assert find_new(pairs, BULLETS, turns) == pairs
    keep(runtime, figures_of(pairs, BULLETS))
    assert find_open(BULLETS, turns) == pairs
    assert find_new(pairs, BULLETS, turns) == [], "it was told"
    assert find_open(BULLETS | changed, turns) == []


def test_a_pair_that_the_user_has_settled_is_neither_open_nor_told_again() -> None:
    runtime = make_runtime()
    pairs = [Pair(PairKind.DOUBLE, "P-2", "P-10")]
    keep(runtime, figures_of(pairs, BULLETS, is_settled=True))
    assert find_open(BULLETS, runtime.sessions.turns) == []
    assert find_new(pairs, BULLETS, runtime.sessions.turns) == []
