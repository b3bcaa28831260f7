"""Test `/reflect`."""

from __future__ import annotations

import json

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput
from swecli.playbook.learning.reflector_model import ReflectorModel
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime, run_turn


def system(runtime: Runtime) -> str:
    return str(runtime.agent.prepare("x").messages[0]["content"])


async def test_reflect_learns_from_the_last_turn_or_a_named_one(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "remember that the tests run with make check", learn=False)
    await run_turn(runtime, "hello", learn=False)
    assert "make check" in await ctx.type("/reflect T1")
    assert "T2" in await ctx.type("/reflect") or "make check" in system(runtime)


async def test_reflect_asks_the_model_even_about_a_turn_without_friction() -> None:
    add = {
        "text": "Greet in French",
        "kind": "preference",
        "quote": "greet me in French",
    }
    view = json.dumps({"strategies": [], "lessons": [add]})
    runtime = make_runtime(lambda r: view if r.purpose == "reflect" else "Bonjour.")
    ctx = ScriptedContext(runtime)
    await run_turn(runtime, "bonjour, greet me in French")
    assert "Greet in French" not in system(runtime)
    assert "Greet in French" in await ctx.type("/reflect")
    runtime.learning.percent = 0
    assert "the setting reflect_percent is 0" in await ctx.type("/reflect")


@pytest.mark.slow
async def test_reflect_reports_a_missing_model_and_learning_that_is_off(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "hello")
    runtime.learning.reflector = ReflectorModel("")
    assert "no model was asked" in await ctx.type("/reflect")
    runtime.learning.enabled = False
    with pytest.raises(BadInput, match="Learning is off"):
        await ctx.type("/reflect")


async def test_only_reflect_waits_for_background_learning(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "hello")
    for line in (
        "/playbook",
        "/playbook add Run make",
        "/playbook undo",
        "/playbook list --log",
        "/good",
        "/bad slow",
    ):
        await ctx.type(line)
        assert not ctx.waited_for_background, line
    await ctx.type("/reflect")
    assert ctx.waited_for_background


@pytest.mark.parametrize("args", ["", "T9", "0", "soon"])
async def test_reflecting_on_an_unknown_turn_is_refused(ctx: ScriptedContext, args: str) -> None:
    with pytest.raises(BadInput):
        await ctx.type(f"/reflect {args}")
