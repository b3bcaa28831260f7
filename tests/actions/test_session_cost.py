"""Test what a session has cost, by model, cause and tool, with a full window, and what its next request will."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swecli.actions.session_cost import format_session
from swecli.app import Runtime
from swecli.models.errors import UsageError
from swecli.models.message import Usage
from swecli.models.window_spec import WindowSpec
from tests.support.command_context import ScriptedContext
from tests.support.prices import CACHING
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel


async def runtime_after_a_turn() -> Runtime:
    Path("notes.txt").write_text("a note\n" * 50)
    reading = calls(("read_file", {"path": "notes.txt"}))
    runtime = make_runtime([reading, Reply("Read.", cost=0.25)])
    await run_turn(runtime, "read the notes", learn=False)
    return runtime


def figures_of(runtime: Runtime) -> dict[str, Any]:
    value = format_session(runtime, 100).value
    assert isinstance(value, dict)
    return value


async def test_the_cost_of_a_session_is_shown_by_model_cause_and_tool() -> None:
    printed = await ScriptedContext(await runtime_after_a_turn()).type("/cost")
    for line in (
        r"by model .*\nscripted/test +2 ",
        r"by cause .*\n(.*\n)*results of tools +\d+ ",
        r"by tool .*\nread_file +1 +0 +0 +\d+",
    ):
        assert re.search(line, printed), printed


async def test_a_session_says_what_a_full_window_would_have_cost() -> None:
    model = ScriptedModel([Reply(f"answer {n}", usage=None, cost=None) for n in range(8)])
    model.profile = replace(model.profile, price=CACHING)
    runtime = make_runtime(model, learn=False, window=WindowSpec(1))
    for number in range(6):
        await run_turn(runtime, f"query {number} {'word ' * 400}", learn=False)
    printed = await ScriptedContext(runtime).type("/cost")
    assert re.search(r"window: earlier turns +\d", printed)
    line = re.search(
        r"with a full window \(estimate\): about \$(\S+) .* place of \$(\S+):", printed
    )
    assert line, printed
    full = figures_of(runtime)["full_window"]
    assert full["full_cost"] > full["cost"]
    assert full["full_sent"] > full["sent"]


async def test_a_model_without_a_price_is_told_with_its_tokens_and_the_sum_is_at_least() -> None:
    unpriced = Reply("Two.", cost=None, usage=Usage(input=20, output=5))
    runtime = make_runtime([Reply("One.", cost=0.25), unpriced], learn=False)
    await run_turn(runtime, "one", learn=False)
    await run_turn(runtime, "two", learn=False)
    printed = await ScriptedContext(runtime).type("/cost")
    assert "2 requests · cost at least $0.25 (price of 1 request not known)" in printed
    assert re.search(r"scripted/test +2 .* at least \$0\.25", printed)


async def test_the_price_of_the_next_request_is_shown_on_request() -> None:
    ctx = ScriptedContext(await runtime_after_a_turn())
    assert "The next request: at least $0.00" in await ctx.type("/cost next")
    with pytest.raises(UsageError, match="'tomorrow' is nothing to show"):
        await ctx.type("/cost tomorrow")
    assert "stands below the prompt now" in await ctx.type("/cost beside")
    assert ctx.footer.shows_price
    assert "not shown any more" in await ctx.type("/cost beside")
