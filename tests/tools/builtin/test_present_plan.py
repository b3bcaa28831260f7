"""Test the tool `present_plan`, which ends plan mode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from swecli.models.approval import Decision
from swecli.models.message import ToolResult
from swecli.tools.base import ToolContext
from swecli.tools.permissions import Permissions
from tests.tools.conftest import Answers

RunTool = Callable[..., Awaitable[ToolResult]]
PLAN = {"plan": "# Fix add\n\nIt subtracts.", "steps": ["Correct the sign", "Run the tests"]}
SHOWN = "# Fix add\n\nIt subtracts.\n\n## Steps\n\n1. Correct the sign\n2. Run the tests"


@pytest.fixture(autouse=True)
def plan_mode(permissions: Permissions) -> None:
    permissions.mode = "plan"


async def test_a_yes_ends_plan_mode_and_makes_the_steps_the_todo_list(
    run: RunTool, answers: Answers, permissions: Permissions, ctx: ToolContext, root: Path
) -> None:
    (root / "calc.py").write_text("a - b\n")
    result = await run("present_plan", **PLAN)
    [asked] = answers.asked
    assert asked.plan == SHOWN
    assert result.for_model.startswith("The user accepts the plan.")
    assert "the mode is edits now" in result.for_model
    assert permissions.mode == "edits"
    steps = [{"text": text, "status": "pending"} for text in PLAN["steps"]]
    assert ctx.todos == steps
    assert result.effects is not None
    assert result.effects.todo == tuple(steps)
    await run("edit_file", path="calc.py", edits=[{"old_text": "a - b", "new_text": "a + b"}])
    assert (root / "calc.py").read_text() == "a + b\n"
    assert answers.asked == [asked], "an accepted plan is carried out without further questions"


async def test_a_yes_can_ask_for_each_change(
    run: RunTool, answers: Answers, permissions: Permissions
) -> None:
    answers.decision = Decision(True, plan_mode="ask")
    result = await run("present_plan", **PLAN)
    assert "the mode is ask now: the user is asked before a file is changed" in result.for_model
    assert permissions.mode == "ask"
    await run("write_file", path="new.py", content="x")
    assert [asked.summary for asked in answers.asked] == ["Plan", "Create new.py (+1)"]


async def test_the_model_reads_the_plan_as_the_user_edited_it(
    run: RunTool, answers: Answers, ctx: ToolContext
) -> None:
    edited = "# Fix add\n\n## Steps\n\n- Correct the sign\n* Look at sub too\n3) 2to3 is not needed"
    answers.decision = Decision(True, answer=edited)
    result = await run("present_plan", **PLAN)
    assert "accepts the plan with changes" in result.for_model
    assert result.for_model.endswith(edited)
    assert [item["text"] for item in ctx.todos] == [
        "Correct the sign",
        "Look at sub too",
        "2to3 is not needed",
    ]


async def test_a_plan_whose_steps_the_user_removed_has_no_todo_list(
    run: RunTool, answers: Answers, ctx: ToolContext
) -> None:
    answers.decision = Decision(True, answer="Just fix it.")
    assert (await run("present_plan", **PLAN)).ok
    assert ctx.todos == []


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (Decision(False, reason="use a lambda"), "The user says: use a lambda"),
        (Decision(False), "Ask what is wanted instead."),
        (Decision(False, by="headless", reason="use --mode"), "Nobody can accept a plan"),
    ],
)
async def test_without_a_yes_the_mode_stays_and_nothing_can_be_changed(
    run: RunTool,
    answers: Answers,
    permissions: Permissions,
    ctx: ToolContext,
    decision: Decision,
    words: str,
) -> None:
    answers.decision = decision
    result = await run("present_plan", **PLAN)
    assert (result.ok, result.denied, permissions.mode) == (False, True, "plan")
    assert words in result.for_model
    assert ctx.todos == []
    refused = await run("write_file", path="new.py", content="x")
    assert "Plan mode is read-only" in refused.for_model
    assert "show the user your plan with present_plan" in refused.for_model


async def test_where_the_tool_is_not_offered_a_refusal_does_not_name_it(
    run: RunTool, ctx: ToolContext
) -> None:
    ctx.model.is_offered = lambda name: name != "present_plan"
    refused = await run("write_file", path="new.py", content="x")
    assert "present_plan" not in refused.for_model
    assert "the user leaves plan mode with /mode" in refused.for_model


@pytest.mark.parametrize("mode", ["ask", "edits", "auto"])
async def test_in_another_mode_no_plan_is_asked_about(
    run: RunTool, answers: Answers, permissions: Permissions, mode: str
) -> None:
    permissions.mode = mode  # type: ignore[assignment]
    result = await run("present_plan", **PLAN)
    assert result.for_model.startswith("This is not plan mode")
    assert answers.asked == []


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"plan": " \n "}, "is empty"),
        ({"steps": ["  "]}, "is empty"),
        ({"steps": []}, "at least 1"),
        ({"steps": ["x"] * 31}, "at most 30"),
        ({"steps": ["x" * 501]}, "at most 500 characters"),
        ({"plan": "x" * 20_001}, "at most 20000 characters"),
    ],
)
async def test_a_plan_that_cannot_be_read_is_not_shown(
    run: RunTool, answers: Answers, parameters: dict[str, object], words: str
) -> None:
    result = await run("present_plan", **{**PLAN, **parameters})
    assert words in result.for_model
    assert answers.asked == []


async def test_a_plan_waits_for_another_question(
    run: RunTool, answers: Answers, ctx: ToolContext
) -> None:
    ctx.questions.open.append("Which one?")
    assert "Another question is open" in (await run("present_plan", **PLAN)).for_model
    assert answers.asked == []
