"""Test `/effort`."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from swecli.llm.endpoints import resolve
from swecli.models.errors import BadInput
from tests.support.command_context import ScriptedContext
from tests.support.model_requests import model_for_endpoint


async def test_effort_sets_the_thinking_of_the_next_request(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    assert "model default" in await ctx.type("/effort")
    assert "thinking high" in await ctx.type("/effort high")
    assert runtime.agent.make_fitter().thinking == "high"
    with pytest.raises(BadInput, match="choose: off, low"):
        await ctx.type("/effort hard")


@pytest.mark.parametrize(
    ("name", "level", "said"),
    [
        ("anthropic/claude-opus-5", "off", "is sent thinking.type = disabled"),
        ("anthropic/claude-haiku-4-5", "off", "only thinks when it is asked to"),
        ("deepseek/deepseek-v4-pro", "max", "is sent reasoning_effort = max"),
        ("dashscope/qwen3.8-max", "off", "is sent enable_thinking = false"),
        ("openai/gpt-6.1-sol", "off", "is sent reasoning.effort = low"),
        ("gemini/gemini-3.8-flash", "high", "is sent generationConfig.thinkingConfig.thinkingLevel = high"),
        ("openai/gpt-4.1", "high", "nothing is sent: no field is known"),
        ("minimax/MiniMax-M3", "high", "nothing is sent: no field is known"),
    ],
)  # fmt: skip
async def test_effort_says_what_is_sent_or_that_nothing_is(
    runtime: Runtime, ctx: ScriptedContext, name: str, level: str, said: str
) -> None:
    runtime.agent.use_model(model_for_endpoint(resolve(name, {}, keyless=True)))
    shown = " ".join((await ctx.type(f"/effort {level}")).split())
    assert f"thinking {level}" in shown
    assert said in shown
