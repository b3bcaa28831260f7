"""Test `/window`, `/prompt` and `/context`, which show and change the next request."""

from __future__ import annotations

import pytest

from swecli.actions.builtin.context import prompt
from swecli.app import Runtime
from swecli.models.counts import format_tokens
from swecli.models.errors import BadInput
from tests.support.command_context import ScriptedContext
from tests.support.runtime import run_turn


@pytest.mark.slow
async def test_a_changed_window_applies_to_the_next_request(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    for n in range(1, 10):
        await run_turn(runtime, f"query {n}")
    assert "window 5+3: 5 turns sent, 4 stored" in await ctx.type("/window")
    assert "window 2: 2 turns sent, 7 stored" in await ctx.type("/window 2")
    sent = [
        m["content"].split("\n")[0]
        for m in runtime.agent.prepare("now").messages
        if m["role"] == "user"
    ]
    assert sent == ["query 8", "query 9", "now"]


async def test_window_counts_the_pinned_turns_that_are_sent(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    for n in range(1, 5):
        await run_turn(runtime, f"query {n}")
    await ctx.type("/pin T1")
    assert "2 turns sent (1 pinned), 2 stored" in await ctx.type("/window 1")


async def test_a_larger_window_sends_older_turns_again(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    for n in range(1, 4):
        await run_turn(runtime, f"query {n}")
    await ctx.type("/window 1")
    assert "window full: 3 turns sent (" in await ctx.type("/window full")


async def test_the_error_for_an_invalid_window_quotes_it(ctx: ScriptedContext) -> None:
    with pytest.raises(BadInput, match=r"^'abc' is not a window: use N, N\+S, full or auto"):
        await ctx.type("/window abc")


async def test_window_of_an_empty_session_reports_no_earlier_turns(ctx: ScriptedContext) -> None:
    assert "0 turns sent" in await ctx.type("/window")


@pytest.mark.parametrize("text", ["0", "-1", "many", "5+", "1001"])
async def test_an_invalid_window_is_refused_and_changes_nothing(
    runtime: Runtime, ctx: ScriptedContext, text: str
) -> None:
    with pytest.raises(BadInput) as caught:
        await ctx.type(f"/window {text}")
    assert "window" in caught.value.message.lower()
    assert runtime.sessions.current_session is not None
    assert str(runtime.sessions.current_session.window) == "5+3"


async def test_prompt_shows_exactly_the_next_request(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "before")
    raw = (await prompt.perform(runtime, prompt.read("what now"))).value
    assert raw["messages"] == runtime.agent.prepare("what now").messages
    await run_turn(runtime, "what now")
    sent = runtime.agent.model.requests[-1]  # type: ignore[attr-defined]
    assert raw["messages"] == sent.messages
    assert raw["tools"] == [spec.to_api() for spec in sent.tools]


async def test_prompt_prints_each_segment_with_its_tokens(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "before")
    printed = await ctx.type("/prompt full")
    for part in ("tools ·", "system ·", "turn 1 ·", "query ·"):
        assert part in printed
    assert "before" in printed


async def test_prompt_alone_is_answered_by_context(runtime: Runtime, ctx: ScriptedContext) -> None:
    await run_turn(runtime, "before")
    printed = await ctx.type("/prompt")
    assert "/prompt is /context now" in printed
    assert await ctx.type("/context") in printed


async def test_prompt_stores_nothing(runtime: Runtime, ctx: ScriptedContext) -> None:
    await ctx.type("/prompt look")
    assert runtime.sessions.current_session is not None
    assert runtime.sessions.current_session.interactions == 0


async def test_context_lists_the_segments_of_the_request(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "before")
    printed = await ctx.type("/context")
    for part in ("tools", "system", "turn 1", "before", "your message", "1 turn sent"):
        assert part in printed


@pytest.mark.parametrize("former", ["plan", "detail"])
async def test_former_names_of_context_answer_and_say_the_present_one(
    runtime: Runtime, ctx: ScriptedContext, former: str
) -> None:
    await run_turn(runtime, "before")
    printed = await ctx.type(f"/context {former}")
    assert f"/context {former} is /context now" in printed
    assert "1 turn sent" in printed


@pytest.mark.slow
async def test_window_preview_names_the_turns_left_out_and_changes_nothing(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    for n in range(1, 8):
        await run_turn(runtime, f"query {n}")
    before = runtime.agent.prepare("now").messages
    printed = await ctx.type("/window preview 2")
    assert "window 5+3 → 2: T1, T2, T3, T4, T5 would be left out" in printed
    assert "unknown" not in printed, "no cost is shown where no price is known"
    assert runtime.agent.prepare("now").messages == before
    assert "no change" in await ctx.type("/window preview full")
    assert runtime.agent.prepare("now").messages == before


async def test_prompt_context_and_window_count_the_same_tokens(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    for n in range(1, 10):
        await run_turn(runtime, f"query {n}")
    control = runtime.context_control
    total = control.meter().total
    assert control.preview().before == control.preview().after == total
    plan = control.plan()
    assert (plan.after if plan.when.startswith("with the next") else plan.before) == total
    assert f"--- {total:,} tokens" in await ctx.type("/prompt full")
    assert format_tokens(total) in await ctx.type("/window preview 5+3")


async def test_a_preview_of_an_invalid_window_is_refused(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    with pytest.raises(BadInput, match="is not a window"):
        await ctx.type("/window preview soon")
