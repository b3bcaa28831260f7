"""Test reading the answer of a reflector: what speaks of nothing that was asked is dropped."""

from __future__ import annotations

import json
from typing import Any

import pytest

from swecli.playbook.learning.answer import ExchangeAnswer, ReflectionScope, read_answer


def lesson(text: str = "", quote: str = "", **links: str) -> dict[str, Any]:
    return {"text": text, "quote": quote, "kind": "fact", **links}


ASKED = ReflectionScope({4: ["P-1", "P-2", "P-3", "P-4"]}, ["P-7"])


def read(**answer: Any) -> ExchangeAnswer:
    answers, problem = read_answer(json.dumps(answer), ASKED)
    assert problem == ""
    return answers[4]


@pytest.mark.parametrize(
    "wrong",
    [
        lesson("one", same_as="P-99"),
        lesson("one", replaces="P-99"),
        lesson("one", same_as="P-1", replaces="P-1"),
        lesson(),
    ],
)
def test_lessons_that_name_nothing_that_was_asked_about_are_dropped(wrong: Any) -> None:
    answer = read(turn="good", why="fine", lessons=[wrong, lesson("kept", same_as="P-7")])
    assert [one.text for one in answer.lessons] == ["kept"]
    assert len(answer.losses) == 1


def test_a_strategy_is_not_both_confirmed_and_replaced_or_refuted() -> None:
    both = [lesson("a", same_as="P-1"), lesson("b", replaces="P-1")]
    assert read(why="x", lessons=both).lessons == []
    refuted = [{"id": "P-1", "effect": "refuted"}]
    assert read(strategies=refuted, lessons=both[:1]).lessons == []
    twice = [lesson("a", replaces="P-1"), lesson("b", replaces="P-1")]
    assert [one.text for one in read(lessons=twice).lessons] == ["a"]


def test_at_most_three_lessons_and_two_replacements_are_taken() -> None:
    replacing = [lesson(name, replaces=f"P-{n}") for n, name in enumerate("abcd", 1)]
    assert len(read(lessons=replacing).lessons) == 2
    assert len(read(lessons=[lesson(name) for name in "abcdef"]).lessons) == 3


def test_dropped_items_of_a_reflector_answer_after_the_first_five_are_one_line() -> None:
    tags = [{"id": f"P-{number}", "effect": "helped"} for number in range(1, 700)]
    found, _ = read_answer(json.dumps({"strategies": tags}), ReflectionScope({1: ["P-1"]}))
    answer = found[1]
    assert [*answer.effects] == ["P-1"]
    assert answer.losses[5:] == ["693 more items were dropped"]
