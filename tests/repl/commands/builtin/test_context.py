"""Test `/context`, `/pin`, `/unpin` and `/compact`, which show and change what turns sent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput, UsageError
from swecli.models.message import ModelRequest
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel

pytestmark = pytest.mark.slow


def answer(request: ModelRequest) -> Reply | str:
    if request.purpose == "condense":
        return "SUMMARY: they counted."
    last = request.messages[-1]
    if last["role"] == "user" and "read" in str(last["content"]).split("\n", maxsplit=1)[0]:
        return calls(("read_file", {"path": "a.txt"}))
    return "As you say."


@pytest.fixture
def runtime() -> Runtime:
    Path("a.txt").write_text("the marker is KIWI\n")
    return make_runtime(ScriptedModel(answer))


@pytest.fixture
def ctx(runtime: Runtime) -> ScriptedContext:
    return ScriptedContext(runtime)


async def run_turns(runtime: Runtime, *queries: str) -> None:
    for query in queries:
        await run_turn(runtime, query)


def first_message(runtime: Runtime) -> str:
    return str(runtime.agent.model.requests[-1].messages[0]["content"])  # type: ignore[attr-defined]


async def test_context_counts_the_turns_that_are_dropped_next(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turns(runtime, *(f"question {n}" for n in range(1, 8)))
    printed = await ctx.type("/context")
    found = re.search(r"In 2 turns, or earlier .* the oldest (\d+) turns are dropped", printed)
    assert found is not None
    dropped = int(found[1])
    await run_turns(runtime, "question 8", "question 9", "question 10")
    sent = runtime.agent.model.requests[-1].messages  # type: ignore[attr-defined]
    held = [str(m["content"]).split("\n", maxsplit=1)[0] for m in sent if m["role"] == "user"]
    assert held == [f"question {n}" for n in range(dropped + 1, 11)]


async def test_context_why_names_the_reduction_that_removed_a_text_and_the_command_that_restores_it(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turns(runtime, "read the file", *(f"question {n}" for n in range(2, 11)))
    printed = await ctx.type("/context why KIWI")
    assert "result of call_" in printed
    assert "removed by R-2 (window, in T10) · /pin T1 restores it" in printed
    assert "pinned T1" in await ctx.type("/pin T1")
    await run_turns(runtime, "and now")
    assert "KIWI" in str(runtime.agent.model.requests[-1].messages)  # type: ignore[attr-defined]
    assert "word for word" in await ctx.type("/context why KIWI")
    assert "not found in this session" in await ctx.type("/context why PAPAYA")


async def test_context_undo_reverts_the_newest_reduction(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turns(runtime, *(f"question {n}" for n in range(1, 10)))
    before = runtime.agent.model.requests[-1].messages  # type: ignore[attr-defined]
    await run_turns(runtime, "question 10")
    assert "is sent again" in await ctx.type("/context undo")
    assert runtime.agent.prepare("now").messages[: len(before)] == before
    assert "(undone)" in await ctx.type("/context log")
    with pytest.raises(BadInput, match="Nothing has been removed"):
        await ctx.type("/context undo")


async def test_compact_replaces_the_window_with_a_summary_and_can_be_undone(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turns(runtime, "never use tabs", *("x" * 2_000 for _ in range(2)))
    before = runtime.agent.prepare("now").messages
    printed = await ctx.type("/compact the numbers")
    assert "summarised by" in printed
    asked = runtime.agent.model.requests[-1]  # type: ignore[attr-defined]
    assert "focus on: the numbers" in asked.messages[-1]["content"]
    await run_turns(runtime, "go on")
    sent = runtime.agent.model.requests[-1].messages  # type: ignore[attr-defined]
    assert [m["role"] for m in sent] == ["system", "user"]
    assert "SUMMARY: they counted." in first_message(runtime)
    assert '"never use tabs" (T1)' in first_message(runtime)
    await ctx.type("/context undo")
    assert runtime.agent.prepare("now").messages[: len(before) - 1] == before[:-1]


async def test_pin_reports_its_tokens_and_unpin_removes_the_pin(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turns(runtime, *(f"question {n}" for n in range(1, 3)))
    assert re.search(r"pinned T2 \(\d+ tokens", await ctx.type("/pin"))
    await run_turns(runtime, *(f"question {n}" for n in range(3, 12)))
    assert "pinned 2" in await ctx.type("/context")
    assert "unpinned T2" in await ctx.type("/unpin")
    with pytest.raises(BadInput, match="Nothing is pinned"):
        await ctx.type("/unpin")


@pytest.mark.parametrize("line", ["/pin T99", "/pin x", "/unpin 1", "/context undo", "/compact"])
async def test_an_invalid_argument_is_an_error_of_one_line(ctx: ScriptedContext, line: str) -> None:
    with pytest.raises(BadInput) as caught:
        await ctx.type(line)
    assert "\n" not in str(caught.value)


async def test_an_unknown_option_of_context_is_named(ctx: ScriptedContext) -> None:
    with pytest.raises(UsageError, match="Unknown context action 'plant'"):
        await ctx.type("/context plant")
