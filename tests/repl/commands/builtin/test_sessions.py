"""Test `/new`, `/sessions`, `/rename` and `/fork`."""

from __future__ import annotations

import pytest

from swecli.app import Runtime
from swecli.models.errors import BadInput, UsageError
from tests.support.command_context import ScriptedContext
from tests.support.runtime import run_turn


async def test_new_starts_a_session_and_prints_the_id_of_the_old_one(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "first thing")
    old = runtime.sessions.current_session
    assert old is not None
    printed = await ctx.type("/new second")
    now = runtime.sessions.current_session
    assert now is not None
    assert now.id != old.id
    assert now.title == "second"
    assert f"/resume {old.id[:13]}" in printed
    assert ctx.waited_for_background


async def test_leaving_an_empty_session_prints_no_id(ctx: ScriptedContext) -> None:
    assert "stays" not in await ctx.type("/clear")


@pytest.mark.slow
async def test_sessions_resumes_the_session_picked_from_the_list(runtime: Runtime) -> None:
    await run_turn(runtime, "first thing")
    first = runtime.sessions.current_session
    assert first is not None
    ctx = ScriptedContext(runtime, first.id)
    await ctx.type("/new")
    printed = await ctx.type("/sessions")
    assert [value for value, _ in ctx.offered[0]] == [first.id]
    assert "first thing · 1 turn" in ctx.offered[0][0][1]
    assert runtime.sessions.current_session is not None
    assert runtime.sessions.current_session.id == first.id
    assert "> first thing" in printed
    assert "ok" in printed


async def test_the_list_of_sessions_shows_the_first_and_last_query_and_the_answer(
    runtime: Runtime,
) -> None:
    await run_turn(runtime, "Repair the parser. It fails on tabs.")
    await run_turn(runtime, "and the lexer")
    ctx = ScriptedContext(runtime, None)
    await ctx.type("/new")
    await ctx.type("/resume")
    [[(_, label)], [details]] = ctx.offered[0], ctx.detailed
    assert label.startswith("Repair the parser · 2 turns · ")
    assert details[:3] == ["> Repair the parser. It fails on tabs.", "> and the lexer", "ok"]
    assert "no cost" in details[3] or "$" in details[3]


async def test_closing_the_list_of_sessions_keeps_the_current_one(runtime: Runtime) -> None:
    await run_turn(runtime, "first thing")
    ctx = ScriptedContext(runtime, None)
    await ctx.type("/new")
    here = runtime.sessions.current_session
    await ctx.type("/sessions")
    assert runtime.sessions.current_session is here


async def test_without_other_sessions_the_command_reports_that(ctx: ScriptedContext) -> None:
    assert "no other session" in await ctx.type("/sessions")


async def test_resume_finds_a_session_by_its_name(runtime: Runtime, ctx: ScriptedContext) -> None:
    await run_turn(runtime, "first thing")
    assert "this session is now the big one" in await ctx.type("/rename  the   big one")
    await ctx.type("/new")
    assert "session the big one · 1 turn" in await ctx.type("/resume the big one")


async def test_a_session_is_offered_by_its_name_unless_another_has_it(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "first thing")
    await ctx.type("/rename tools")
    assert "is kept: /resume tools\n" in await ctx.type("/new tools")
    await run_turn(runtime, "second thing")
    second = runtime.sessions.session
    assert second.title == "tools"
    assert f"is kept: /resume {second.id[:13]}\n" in await ctx.type("/new")


async def test_resuming_an_unknown_session_is_refused(ctx: ScriptedContext) -> None:
    with pytest.raises(BadInput):
        await ctx.type("/resume nosuch")


async def test_rename_without_a_name_is_refused(ctx: ScriptedContext) -> None:
    with pytest.raises(UsageError, match=r"To name it: rename NAME"):
        await ctx.type("/rename")


def test_completion_of_resume_offers_other_sessions(runtime: Runtime, ctx: ScriptedContext) -> None:
    found = ctx.table.find("resume")
    assert found is not None
    assert found.complete is not None
    assert found.complete(runtime) == []


@pytest.mark.slow
async def test_fork_continues_in_a_copy_and_keeps_the_original(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    await run_turn(runtime, "first thing")
    old = runtime.sessions.current_session
    assert old is not None
    printed = await ctx.type("/fork")
    now = runtime.sessions.current_session
    assert now is not None
    assert now.id != old.id
    assert now.interactions == 1
    assert f"/resume {old.id[:13]}" in printed
    await run_turn(runtime, "second thing")
    assert len(runtime.sessions.archive.export(old.id)["interactions"]) == 1


@pytest.mark.slow
async def test_fork_can_end_the_copy_with_an_earlier_turn(
    runtime: Runtime, ctx: ScriptedContext
) -> None:
    for query in ("one", "two", "three"):
        await run_turn(runtime, query)
    assert "ends with T2" in await ctx.type("/branch t2")
    now = runtime.sessions.current_session
    assert now is not None
    assert [m.content for m in now.messages if m.role == "user"] == ["one", "two"]


@pytest.mark.slow
@pytest.mark.parametrize("args", ["T4", "T0", "x", "-1", "T1 T2"])
async def test_forking_at_an_unknown_turn_is_refused(
    runtime: Runtime, ctx: ScriptedContext, args: str
) -> None:
    for query in ("one", "two", "three"):
        await run_turn(runtime, query)
    with pytest.raises(BadInput, match=r"is not a turn|There is no turn T4 in this session"):
        await ctx.type(f"/fork {args}")


@pytest.mark.slow
async def test_forking_before_the_first_turn_is_refused(ctx: ScriptedContext) -> None:
    with pytest.raises(BadInput, match="There is no turn yet"):
        await ctx.type("/fork T1")
