"""Test background commands with real programs, through the whole call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from swecli.models.approval import Decision
from swecli.models.message import ToolResult
from swecli.tools.base import ToolContext
from swecli.tools.builtin import run_command
from swecli.tools.permissions import Permissions
from tests.tools.conftest import Answers
from tests.tools.test_processes import has_ended

RunTool = Callable[..., Awaitable[ToolResult]]


async def wait_for_job(ctx: ToolContext) -> str:
    """Wait for the next job to end and return the line that reports it."""
    return await asyncio.wait_for(ctx.commands.jobs.finished.get(), 20)


async def test_a_job_continues_after_the_call_and_its_output_is_read_in_pages(
    run: RunTool, ctx: ToolContext
) -> None:
    begun = await run(
        "run_command",
        command="seq 1 5000; until [ -e go ]; do sleep 0.02; done; exit 3",
        background=True,
    )
    assert begun.ok
    assert 'read_result(call_id="job-1")' in begun.for_model
    ctx.model.page_limit = 1_000
    first = (await run("read_result", call_id="job-1")).for_model
    assert "running for" in first.split("\n", 1)[0]
    assert "\n     2\t1\n     3\t2\n" in first
    read_on = re.search(r"start_line=(\d+)\]", first)
    assert read_on
    assert (
        f"{int(read_on[1]):>6}\t"
        in (await run("read_result", call_id="job-1", start_line=read_on[1])).for_model
    )
    (ctx.root / "go").touch()
    assert "exit code 3 after" in await wait_for_job(ctx)
    [ended] = ctx.commands.jobs.take_ended()
    assert "exit code 3" in ended.report
    assert ctx.commands.jobs.take_ended() == []
    assert "exit code 3" in (await run("read_result", call_id="job-1")).for_model


async def test_the_end_of_a_job_that_took_longer_than_its_call_allows_names_that_limit(
    run: RunTool, ctx: ToolContext
) -> None:
    await run("run_command", command="sh -c 'sleep 9'", timeout=1, background=True)
    line = await wait_for_job(ctx)
    assert (
        line
        == "background job 1 (sh -c 'sleep 9'): stopped: it took longer than 1 s (exit code 124)"
    )


async def test_a_background_command_that_fails_at_once_is_an_ordinary_result(
    run: RunTool, ctx: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_command, "_START_WAIT", 30.0)  # "at once" on a busy machine too
    result = await run("run_command", command="echo no such thing >&2; exit 127", background=True)
    assert (result.ok, result.exit_code) == (False, 127)
    assert "no such thing" in result.for_model
    assert ctx.commands.jobs.all == []


async def test_a_job_that_ignores_the_request_to_end_is_killed_with_its_children(
    run: RunTool, ctx: ToolContext
) -> None:
    stubborn = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 0.1; done'"
    command = f"{stubborn} & echo $$; while :; do wait; done"
    result = await run("run_command", command=command, background=True)
    pids = [int(word) for word in result.for_model.split() if word.isdecimal()]
    assert len(pids) >= 2
    line = await ctx.commands.jobs.close()
    assert line.startswith("stopped in the background: job 1 (trap")
    assert [await has_ended(pid) for pid in pids[-2:]] == [True, True]
    assert await ctx.commands.jobs.close() == ""


async def test_kill_with_a_job_number_ends_the_job(
    run: RunTool, ctx: ToolContext, answers: Answers
) -> None:
    await run("run_command", command="sleep 300", background=True)
    asked = len(answers.asked)
    result = await run("run_command", command="kill %1")
    assert result.ok
    assert "job 1 (sleep 300): stopped after" in result.for_model
    assert len(answers.asked) == asked + 1, "ending a job needs approval like any command"
    assert "has ended already" in (await run("run_command", command="kill %1")).for_model
    assert "was never started" in (await run("run_command", command="kill -9 %7")).for_model


async def test_background_commands_need_the_same_permission_as_others(
    run: RunTool, ctx: ToolContext, answers: Answers, permissions: Permissions
) -> None:
    answers.decision = Decision(False, reason="not now")
    refused = await run("run_command", command="touch made; sleep 300", background=True)
    assert refused.denied
    assert "in the background" in answers.asked[0].preview.title
    permissions.mode = "plan"
    assert (await run("run_command", command="touch made; sleep 300", background=True)).denied
    assert ctx.commands.jobs.all == []
    assert not (ctx.root / "made").exists()


async def test_the_number_of_running_jobs_is_limited(run: RunTool, ctx: ToolContext) -> None:
    begun = await asyncio.gather(
        *(run("run_command", command="sleep 300", background=True) for _ in range(16))
    )
    assert all(result.ok for result in begun)
    over = await run("run_command", command="sleep 300", background=True)
    assert not over.ok
    assert "16 commands run in the background" in over.for_model
    assert await ctx.commands.jobs.close() != ""


async def test_a_job_is_stopped_at_its_time_limit(
    run: RunTool, ctx: ToolContext, root: Path
) -> None:
    await run("run_command", command="sleep 300", background=True, timeout=1)
    assert "exit code" in await wait_for_job(ctx)
