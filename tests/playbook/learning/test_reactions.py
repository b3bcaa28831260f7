"""Test reactions that are no judgement, and answers that link what cannot be linked: they change nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.message import ModelRequest
from swecli.models.playbook import Bullet, Delta, Op
from tests.support.playbook import perform
from tests.support.runtime import make_runtime, run_turn

PASTE = "why?\n```\nno, wrong: always push to main\n```\n> no, wrong: always push to main"


def reflecting_runtime(*answers: dict[str, Any], cwd: Path | None = None) -> Runtime:
    left = list(answers)

    def answer(request: ModelRequest) -> str:
        if request.purpose != "reflect":
            return "Done, as [P-1] says."
        return json.dumps(left.pop(0) if left else {"why": "nothing"})

    return make_runtime(answer, cwd=cwd, reflect="always", reflect_percent=100)


def teach(runtime: Runtime, *contents: str, trust: str = "tool") -> None:
    fields = {"scope": "project", "trust": trust, "state": "active"}
    ops = tuple(Op("ADD", fields=fields | {"content": text}) for text in contents)
    delta = Delta(f"taught {contents}", ops, "import")
    runtime.sessions.playbook.apply(delta, runtime.sessions.session)


def bullets_of(runtime: Runtime) -> dict[str, Bullet]:
    return runtime.sessions.session.playbook.bullets


def counts_of(runtime: Runtime) -> list[tuple[int, int]]:
    return [(one.helpful, one.harmful) for one in bullets_of(runtime).values()]


async def exchanges(runtime: Runtime, *queries: str) -> None:
    for query in queries:
        await run_turn(runtime, query, learn=False)
        runtime.learning.after_turn()
        await runtime.learning.reflect(*runtime.learning.due_turns(), is_requested=True)


def lesson(text: str, quote: str, **links: str) -> dict[str, Any]:
    return {"text": text, "quote": quote, "from": "user", **links}


@pytest.mark.parametrize(
    "reaction",
    ["no?", "no problem at all, ha", "great, you broke it. Well done!", "why not?", PASTE],
    ids=["question", "joke", "sarcasm", "another question", "log"],
)
async def test_a_reaction_that_is_no_judgement_marks_and_blames_nothing(reaction: str) -> None:
    runtime = reflecting_runtime()
    teach(runtime, "Answers are short")
    await exchanges(runtime, "look", reaction)
    turn = runtime.sessions.turns.turn(runtime.sessions.session.id, 1)
    assert turn is not None
    assert (turn.good, turn.mark) == (None, "")
    assert counts_of(runtime) == [(0, 0)]


async def test_a_joke_that_begins_with_no_marks_the_turn_and_blames_no_strategy() -> None:
    runtime = reflecting_runtime()
    teach(runtime, "Answers are short")
    await exchanges(runtime, "look", "no, I am only joking, it is fine")
    assert counts_of(runtime) == [(0, 0)]


async def test_what_a_pasted_log_says_is_not_learned_as_the_users_word() -> None:
    said = {"lessons": [lesson("Always push to main", "always push to main")]}
    runtime = reflecting_runtime(said)
    await exchanges(runtime, "look", PASTE)
    assert [one for one in bullets_of(runtime).values() if one.is_live] == []


async def test_marks_alone_change_no_count_however_often_they_are_given() -> None:
    runtime = reflecting_runtime()
    teach(runtime, "Answers are short")
    await exchanges(runtime, "look")
    for why in ("", "", "as I like it"):
        await runtime.learning.mark(True, why)
    assert counts_of(runtime) == [(0, 0)]


async def test_a_strategy_of_another_project_is_neither_replaced_nor_confirmed(
    tmp_path: Path,
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    quote = "run tox instead of nox"
    links = [lesson("Run tox", quote, replaces="P-1"), lesson("", quote, same_as="P-1")]
    foreign = reflecting_runtime(cwd=other)
    teach(foreign, "Run nox")
    runtime = reflecting_runtime({"why": "so", "lessons": links})
    await exchanges(runtime, "test it", quote)
    foreign.sessions.playbook.refresh(foreign.sessions.session)
    assert [one.content for one in bullets_of(foreign).values()] == ["Run nox"]
    assert bullets_of(runtime) == {}


async def test_a_strategy_that_was_removed_is_not_replaced_and_does_not_come_back() -> None:
    quote = "run tox instead of nox"
    runtime = reflecting_runtime(
        {"why": "so", "lessons": [lesson("Run tox instead", quote, replaces="P-1")]}
    )
    teach(runtime, "Run nox")
    await run_turn(runtime, "test it", learn=False)
    perform(runtime, "remove", ["P-1"])
    await exchanges(runtime, quote)
    assert bullets_of(runtime) == {}


async def test_links_in_a_circle_within_one_answer_change_nothing() -> None:
    quote = "run tox instead of nox"
    circle = [
        lesson("Run tox", quote, same_as="P-1", replaces="P-2"),
        lesson("Run nox", quote, same_as="P-2", replaces="P-1"),
    ]
    runtime = reflecting_runtime({"why": "so", "lessons": circle})
    teach(runtime, "Run tox instead of nox", "Run nox")
    await exchanges(runtime, "test it", quote)
    assert [*bullets_of(runtime)] == ["P-1", "P-2"]


async def test_links_in_a_circle_over_two_answers_leave_the_strategy_that_was_kept() -> None:
    quote = "run tox instead of nox"
    runtime = reflecting_runtime(
        {"lessons": [lesson("", quote, same_as="P-1", replaces="P-2")]},
        {"why": "so", "lessons": [lesson("", quote, same_as="P-2", replaces="P-1")]},
    )
    teach(runtime, "Run tox instead of nox", "Run nox")
    await exchanges(runtime, "test it", quote, f"yes, {quote}")
    assert [*bullets_of(runtime)] == ["P-1"]


async def test_a_strategy_with_two_different_effects_in_one_answer_is_not_counted() -> None:
    both = [{"id": "P-1", "effect": "helped"}, {"id": "P-1", "effect": "hurt"}]
    right = {"id": "P-2", "effect": "helped"}
    runtime = reflecting_runtime({"strategies": [*both, right]})
    teach(runtime, "Answers are short", "Use tox")
    await exchanges(runtime, "look", "thanks")
    assert counts_of(runtime) == [(0, 0), (1, 0)]


@pytest.mark.parametrize(
    ("reaction", "quote", "text"),
    [
        (
            "Nein! Der Eintrag im Changelog gehört in denselben Commit",
            "der Eintrag im Changelog gehört in denselben Commit",
            "Der Eintrag im Changelog gehört in denselben Commit",
        ),
        (
            "いいえ。変更履歴は同じコミットに書いてください",
            "変更履歴は同じコミットに書いてください",
            "変更履歴は同じコミットに書いてください",
        ),
    ],
    ids=["German", "Japanese"],
)
async def test_a_correction_in_another_language_becomes_one_active_strategy_of_the_user(
    reaction: str, quote: str, text: str
) -> None:
    learned = {"lessons": [lesson(text, quote)]}
    again = {"lessons": [lesson(f"{text}!", quote)]}
    runtime = reflecting_runtime(learned, again)
    await exchanges(runtime, "rename the flag", reaction, "danke")
    found = [(one.content, one.state, one.trust) for one in bullets_of(runtime).values()]
    assert found == [(text, "active", "user")]
