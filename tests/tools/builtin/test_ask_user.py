"""Test the tool `ask_user`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from swecli.models.approval import AskRequest, Decision
from swecli.models.message import ToolCall, ToolResult
from swecli.tools.base import ToolContext
from swecli.tools.execute import execute
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry
from tests.tools.conftest import Answers

RunTool = Callable[..., Awaitable[ToolResult]]


async def test_the_answer_that_the_user_chose_is_the_result(run: RunTool, answers: Answers) -> None:
    answers.decision = Decision(True, answer="SQLite")
    result = await run("ask_user", question="Which one?", choices=["SQLite", "PostgreSQL"])
    assert result.for_model == "The user answers: SQLite"
    [asked] = answers.asked
    assert (asked.question, asked.choices) == ("Which one?", ("SQLite", "PostgreSQL"))


async def test_another_answer_than_the_choices_is_passed_on(run: RunTool, answers: Answers) -> None:
    answers.decision = Decision(True, answer="neither,\nuse files")
    result = await run("ask_user", question="Which one?", choices=["a", "b"])
    assert result.for_model == "The user answers: neither,\nuse files"


async def test_a_question_without_choices_asks_for_a_text(run: RunTool, answers: Answers) -> None:
    answers.decision = Decision(True, answer="Ann")
    assert (await run("ask_user", question="Who is the owner?")).ok
    assert answers.asked[0].choices == ()


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (
            Decision(False, by="headless"),
            "Nobody can be asked in this run. Go on with your default",
        ),
        (Decision(False), "The user gave no answer. Go on with your default"),
        (Decision(True, answer=""), "The user gave no answer. Go on with your default"),
    ],
)
async def test_without_an_answer_the_default_is_named(
    run: RunTool, answers: Answers, decision: Decision, words: str
) -> None:
    answers.decision = decision
    result = await run("ask_user", question="Which one?", choices=["a", "b"], default="take a")
    assert not result.ok
    assert result.for_model.startswith(words)
    assert result.for_model.endswith("take a")
    assert answers.asked[0].default == "take a", "the user is told too"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"choices": [str(number) for number in range(50)]}, "at most 5"),
        ({"choices": ["yes"]}, "One choice is none"),
        ({"choices": ["same", " same "]}, "look the same"),
        ({"choices": ["a", "  "]}, "one is empty"),
        ({"choices": ["a", "b" * 201]}, "at most 200 characters"),
        ({"question": " \n "}, "The question is empty"),
        ({"question": "x" * 1001}, "at most 1000 characters"),
    ],
)
async def test_a_question_that_cannot_be_answered_is_not_asked(
    run: RunTool, answers: Answers, parameters: dict[str, object], words: str
) -> None:
    result = await run("ask_user", **{"question": "Which one?", **parameters})
    assert words in result.for_model
    assert answers.asked == []


async def test_hidden_characters_are_shown_in_question_and_choices(
    run: RunTool, answers: Answers
) -> None:
    answers.decision = Decision(True, answer="\\u202ekeep")
    result = await run(
        "ask_user", question="Delete\u200b \x1b[2J all?", choices=["\u202ekeep", "delete\nall"]
    )
    [asked] = answers.asked
    assert asked.question == "Delete\\u200b \\x1b[2J all?"
    assert asked.choices == ("\\u202ekeep", "delete ⏎ all")
    assert result.for_model == "The user answers: \u202ekeep"


async def test_of_three_questions_in_one_reply_only_the_first_is_asked(ctx: ToolContext) -> None:
    asked: list[str] = []

    async def ask(request: AskRequest) -> Decision:
        asked.append(request.question)
        await asyncio.sleep(0)
        return Decision(True, answer="x")

    async def question(number: int) -> ToolResult:
        call = ToolCall(str(number), "ask_user", {"question": f"question {number}?"})
        return (await execute(call, ToolRegistry.discover(), ctx, Permissions(), ask))[0]

    results = await asyncio.gather(*(question(number) for number in range(3)))
    assert asked == ["question 0?"]
    assert [result.ok for result in results] == [True, False, False]
    assert "Another question is open" in results[1].for_model
    assert ctx.questions.open == []


async def test_a_question_that_was_interrupted_is_no_longer_open(ctx: ToolContext) -> None:
    async def ask(request: AskRequest) -> Decision:
        raise asyncio.CancelledError

    call = ToolCall("1", "ask_user", {"question": "?"})
    with pytest.raises(asyncio.CancelledError):
        await execute(call, ToolRegistry.discover(), ctx, Permissions(), ask)
    assert ctx.questions.open == []


@pytest.mark.parametrize("mode", ["plan", "auto"])
async def test_a_question_can_be_asked_in_every_mode(
    run: RunTool, answers: Answers, permissions: Permissions, mode: str
) -> None:
    permissions.mode = mode  # type: ignore[assignment]
    answers.decision = Decision(True, answer="x")
    assert (await run("ask_user", question="?")).ok
