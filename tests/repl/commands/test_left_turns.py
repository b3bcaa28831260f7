"""Test `/window left` and `/window back`: the turns that left, as a list and as lines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from swecli.agent.agent import Agent
from swecli.app import Runtime
from swecli.models.errors import BadInput, UsageError
from swecli.models.window_spec import WindowSpec
from tests.support.command_context import ScriptedContext
from tests.support.runtime import run_turn


@pytest.fixture
async def left(runtime: Runtime) -> Runtime:
    """A session of five turns, of which the last two are sent."""
    runtime.sessions.session.window = WindowSpec(2)
    for number in range(1, 6):
        await run_turn(runtime, f"query {number}", learn=False)
    return runtime


@contextmanager
def running(runtime: Runtime) -> Iterator[None]:
    """Let a turn run as far as commands can tell."""
    with patch.object(Agent, "is_running", True):
        yield


async def test_the_list_begins_with_the_turn_that_left_last(left: Runtime) -> None:
    ctx = ScriptedContext(left, None)
    assert await ctx.type("/window left") == ""
    [options] = ctx.offered
    assert [label.partition(" · ")[0] for _, label in options] == ["T3", "T2", "T1"]
    assert 'tokens · "query 3"' in options[0][1]


async def test_a_turn_is_shown_and_the_list_stays(left: Runtime) -> None:
    ctx = ScriptedContext(left, "2 ", None)
    printed = await ctx.type("/window left")
    assert printed == "T2\nuser: query 2\nassistant: ok\n"
    assert len(ctx.offered) == 2


async def test_b_sends_a_turn_again_and_again_takes_that_back(left: Runtime) -> None:
    ctx = ScriptedContext(left, "3 b")
    assert "T1 goes with your next message (" in await ctx.type("/window left")
    assert list(left.session.context.brought_back) == [1]
    assert "T1 goes with it again, this once" in await ctx.type("/context")
    ctx.will_pick("3 b")
    assert "T1 is not sent again" in await ctx.type("/window left")
    assert "goes with your next message" in ctx.offered[-1][2][1]
    assert not left.session.context.brought_back


async def test_p_pins_a_turn(left: Runtime) -> None:
    printed = await ScriptedContext(left, "1 p").type("/window left")
    assert "pinned T3" in printed
    assert left.session.context.pins == (3,)


async def test_while_a_turn_runs_one_can_be_sent_again_but_not_pinned(left: Runtime) -> None:
    with running(left):
        ctx = ScriptedContext(left, "1 p")
        with pytest.raises(BadInput, match="T3 can be pinned when this turn has ended"):
            await ctx.type("/window left")
        ctx.will_pick("1 b")
        assert "T3 goes with your next message" in await ctx.type("/window left")


async def test_without_lists_the_turns_are_lines_with_the_commands_below(left: Runtime) -> None:
    ctx = ScriptedContext(left)
    ctx.has_lists = False
    printed = await ctx.type("/window left")
    assert "T1     " in printed
    assert '"query 3"' in printed
    assert "/window left T3 shows a turn" in printed
    assert "/window back T3 sends it again with the next request" in printed
    assert "/pin T3 keeps it in every request" in printed


async def test_a_turn_is_printed_whole_by_its_name(left: Runtime) -> None:
    ctx = ScriptedContext(left)
    assert "user: query 1" in await ctx.type("/window left T1")
    with pytest.raises(BadInput, match="There is no turn T9 in this session"):
        await ctx.type("/window left T9")


async def test_a_turn_is_brought_back_by_its_name(left: Runtime) -> None:
    ctx = ScriptedContext(left)
    await ctx.type("/window back T1")
    assert "all that go with it: T1, T2" in await ctx.type("/window back T2")
    assert "T1 is not sent again" in await ctx.type("/window back T1 --off")
    with pytest.raises(UsageError, match="Name the turn"):
        await ctx.type("/window back")
    with pytest.raises(BadInput, match="T5 is sent with the next request anyway"):
        await ctx.type("/window back T5")


async def test_nothing_left_is_said_in_one_line(runtime: Runtime) -> None:
    await run_turn(runtime, "query", learn=False)
    printed = await ScriptedContext(runtime).type("/window left")
    assert printed == "Every turn of this session is sent with the next request.\n"


async def test_before_the_first_turn_there_is_nothing_to_list(ctx: ScriptedContext) -> None:
    with pytest.raises(BadInput, match="Nothing has been sent in this session yet"):
        await ctx.type("/window left")
