"""Test the specifications that a model gets without importing the tools' modules, and with a small context window."""

from __future__ import annotations

from swecli.context.budget import _LEAN_WINDOW
from swecli.context.system_message import load_prompt
from swecli.context.tokens import TokenCounter
from swecli.tools.offers import bundled_specs, lean_specs
from swecli.tools.registry import ToolRegistry
from tests.support.runtime import make_runtime, run_turn
from tests.support.scripted import ScriptedModel

FIVE = ["edit_file", "read_file", "run_command", "search_files", "write_file"]


def test_the_bundled_specifications_equal_those_of_the_tools() -> None:
    tools = ToolRegistry.discover()
    assert bundled_specs() == tools.specs() == [tool.spec() for tool in tools.values()]


def test_a_small_context_window_gets_five_tools_and_a_short_prompt() -> None:
    counter = TokenCounter()
    specs = lean_specs(ToolRegistry.discover().specs())
    assert [spec.name for spec in specs] == FIVE
    assert counter.count_tools(specs) <= 900
    assert counter.count(load_prompt("system", _LEAN_WINDOW)) <= 350
    assert all("." not in spec.description[:-1] for spec in specs), "each parameter has a sentence"
    whole = {spec.name: spec for spec in ToolRegistry.discover().specs()}
    for spec in specs:
        assert spec.parameters["properties"].keys() == whole[spec.name].parameters[
            "properties"
        ].keys() - {"background"}
        assert spec.parameters.get("required") == whole[spec.name].parameters.get("required")


async def test_the_window_of_the_model_selects_the_tools_and_a_new_model_begins_an_epoch() -> None:
    small, large = (
        ScriptedModel(["one", "two"], context_window=_LEAN_WINDOW),
        ScriptedModel(["three"], context_window=200_000),
    )
    runtime = make_runtime(small)
    await run_turn(runtime, "hello")
    await run_turn(runtime, "again")
    runtime.agent.use_model(large)
    await run_turn(runtime, "and now")
    first, second, third = (*small.requests, *large.requests)
    assert [spec.name for spec in first.tools] == FIVE
    assert second.messages[0] == first.messages[0]
    assert str(third.messages[0]["content"]).startswith(load_prompt("system", 200_000))
    assert "todo" in [spec.name for spec in third.tools]
    runtime.close()
