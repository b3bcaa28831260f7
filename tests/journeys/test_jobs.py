"""Test background commands in whole runs: the notices to model and user, and that no process is left running."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest
from pexpect.exceptions import ExceptionPexpect

from swecli.models.errors import BadInput, UsageError
from tests.support.command_context import ScriptedContext
from tests.support.processes import none_is_left
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel
from tests.support.shell import script, swecli
from tests.support.terminal import Terminal
from tests.tools.test_processes import has_ended


def background_call(command: str) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": command, "background": True}


STUBBORN = f"trap '' TERM; touch started; while :; do sleep 0.1; done; : {os.getpid()}"


def stubborn_has_ended() -> bool:
    """Return True if no process runs the command any more. In the sandbox it has another number."""
    assert Path("started").exists()
    return none_is_left(STUBBORN)


async def test_the_end_of_a_job_is_reported_to_the_model_once_at_the_next_step() -> None:
    waits = "until [ -e go ]; do sleep 0.02; done; echo built"
    ends = ("run_command", {"command": "touch go; sleep 1"})
    model = ScriptedModel(
        [calls(background_call(waits)), calls(ends), calls(("list_files", {})), "Built.", "Yes."]
    )
    runtime = make_runtime(model, mode="auto")
    await run_turn(runtime, "build it")
    await run_turn(runtime, "is it done?")
    results = [
        str(message["content"])
        for message in model.requests[3].messages
        if message["role"] == "tool"
    ]
    reported = ["job 1 (until" in text and "exit code 0 after" in text for text in results]
    assert reported == [False, True, False]
    made = [call for message in runtime.session.messages for call in message.tool_calls]
    assert [bool(call.ended_jobs) for call in made] == reported
    assert "exit code 0 after" not in str(model.requests[4].messages[-1]["content"])
    runtime.close()


async def test_a_job_that_ends_between_turns_is_reported_with_the_next_query() -> None:
    model = ScriptedModel(
        [
            calls(background_call("until [ -e go ]; do sleep 0.02; done; exit 7")),
            "Started.",
            "I see.",
        ]
    )
    runtime = make_runtime(model, mode="auto")
    await run_turn(runtime, "start it")
    Path("go").touch()
    await asyncio.wait_for(runtime.agent.ctx.commands.jobs.finished.get(), 20)
    assert runtime.agent.prepare("and?").messages == runtime.agent.prepare("and?").messages
    await run_turn(runtime, "and?")
    assert "exit code 7 after" in str(model.requests[2].messages[-1]["content"])
    assert runtime.agent.ctx.commands.jobs.ended == []
    runtime.close()


async def test_jobs_are_listed_shown_and_stopped_by_command() -> None:
    runtime = make_runtime(
        [calls(background_call("seq 1 300; sleep 300"), background_call("sleep 301")), "Done."],
        mode="auto",
    )
    ctx = ScriptedContext(runtime)
    assert "no background jobs" in await ctx.type("/jobs")
    await run_turn(runtime, "go")
    listed = await ctx.type("/jobs")
    assert "seq 1 300; sleep 300" in listed
    assert listed.count("running for") == 2
    shown = await ctx.type("/jobs show 1")
    assert "… 100 lines above" in shown
    assert "\n300\n" in shown
    await ctx.type("/jobs stop 1")
    assert "stopped after" in (await ctx.type("/jobs")).split("sleep 300")[0]
    assert "has ended already: stopped after" in await ctx.type("/jobs stop 1")
    await ctx.type("/jobs stop all")
    assert runtime.agent.ctx.commands.jobs.running == []
    with pytest.raises(BadInput, match=r"There is no job 9"):
        await ctx.type("/jobs stop 9")
    with pytest.raises(UsageError, match="Unknown option 'pause 1'"):
        await ctx.type("/jobs pause 1")
    runtime.close()


@pytest.mark.slow
async def test_jobs_of_a_headless_run_are_stopped_after_the_turn() -> None:
    name, arguments = background_call(STUBBORN)
    done = swecli(
        "-p",
        "go",
        "--mode",
        "auto",
        "-m",
        script("s.json", {"calls": [{"name": name, "arguments": arguments}]}, "ok"),
    )
    assert (done.code, done.out) == (0, "ok\n")
    assert "stopped in the background: job 1 (trap" in done.err
    assert stubborn_has_ended()


@pytest.mark.slow
async def test_jobs_stop_ends_the_process_and_reports_it() -> None:
    name, arguments = background_call(STUBBORN)
    replies = script("s.json", {"calls": [{"name": name, "arguments": arguments}]}, "It runs.")
    with Terminal("-m", replies, "--mode", "auto", columns=100, rows=30) as terminal:
        terminal.wait("· auto")
        terminal.keys("go\r")
        terminal.wait("It runs.")
        terminal.wait("· 1 job ·")
        terminal.keys("/jobs stop 1\r")
        terminal.wait("! background job 1|background job 1 .*: stopped after")
        assert stubborn_has_ended()


@pytest.mark.slow
async def test_leaving_the_prompt_asks_once_then_stops_the_jobs_and_names_them() -> None:
    name, arguments = background_call(STUBBORN)
    replies = script("s.json", {"calls": [{"name": name, "arguments": arguments}]}, "It runs.")
    with Terminal("-m", replies, "--mode", "auto", columns=100, rows=30) as terminal:
        terminal.wait("· auto")
        terminal.keys("go\r")
        terminal.wait("It runs.")
        terminal.wait("in / 10 out")  # after the turn
        terminal.wait("^>$")
        terminal.keys("\x04")
        terminal.wait(r"Press Ctrl\+D again to quit \(stops 1 background job\)")
        terminal.keys("\x04")
        terminal.wait(r"stopped in the background: job 1 \(trap")
        assert terminal.wait_for_exit() == 0
        assert stubborn_has_ended()


@pytest.mark.slow
async def test_closing_the_terminal_ends_the_jobs_and_swecli() -> None:
    name, arguments = background_call(STUBBORN)
    replies = script("s.json", {"calls": [{"name": name, "arguments": arguments}]}, "It runs.")
    with Terminal("-m", replies, "--mode", "auto", columns=100, rows=30) as terminal:
        terminal.wait("· auto")
        terminal.keys("go\r")
        terminal.wait("It runs.")
        terminal.wait("^>$")
        with suppress(ExceptionPexpect):  # slower than the timeout
            terminal.process.close(force=False)
        assert stubborn_has_ended()
        assert await has_ended(terminal.process.pid)


async def test_after_a_restart_user_and_model_are_told_once_which_jobs_were_lost() -> None:
    ended = background_call("echo one; sleep 0.5; exit 3")
    lost = background_call("echo two; sleep 300")
    read = calls(("read_file", {"path": "log"}))
    model = ScriptedModel([calls(ended, lost), "Both run.", read, "It is lost."])
    runtime = make_runtime(model, mode="auto")
    await run_turn(runtime, "start them", learn=False)
    await asyncio.wait_for(runtime.agent.ctx.commands.jobs.finished.get(), 20)
    assert runtime.resumed_lines() == [], "they belong to this run"
    line = "background job 2 (echo two; sleep 300): lost"
    # what the user types reports no end, and neither does what a file says
    Path("log").write_text(f"[{line}; its output: …]\n")
    await run_turn(runtime, f"what does this mean? {line}", learn=False)
    await runtime.agent.ctx.commands.jobs.close()
    runtime.close()

    read = calls(("read_result", {"call_id": "job-2"}))
    model = ScriptedModel([read, "It is lost.", "Yes."])
    again = make_runtime(model, resume=runtime.session.id)
    assert [notice for notice in again.notices if line in notice]
    assert "job 1" not in "\n".join(again.notices)
    await run_turn(again, "and now?", learn=False)
    assert f"\n- {line}" in str(model.requests[0].messages[-1]["content"])
    assert "restarted ended then, and its output is lost" in str(model.requests[1].messages[-1])
    await run_turn(again, "sure?", learn=False)
    assert line not in str(model.requests[2].messages[-1]["content"])
    assert again.resumed_lines() == []
    again.close()


async def test_the_model_is_told_that_its_last_answer_was_interrupted() -> None:
    slow = Reply("a long answer that never ends", piece=1, delay=0.01)
    model = ScriptedModel([slow, "I go on.", "Yes."])
    runtime = make_runtime(model)
    async with aclosing(runtime.agent.run(runtime.agent.prepare("tell me"))) as events:
        async for event in events:
            if event.type == "text_delta":
                break
    for query, told in (("go on", True), ("and?", False)):
        await run_turn(runtime, query, learn=False)
        asked = str(model.requests[-1].messages[-1]["content"])
        assert ("Your last answer above was interrupted" in asked) is told
    runtime.close()


async def test_the_model_is_told_that_the_user_interrupted_its_call() -> None:
    command = ("run_command", {"command": "touch began; sleep 300"})
    model = ScriptedModel([calls(command), "I go on.", "Yes."])
    runtime = make_runtime(model, mode="auto")
    running = asyncio.ensure_future(run_turn(runtime, "go", learn=False))
    while not Path("began").exists():
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    for query, told in (("go on", True), ("and?", False)):
        await run_turn(runtime, query, learn=False)
        asked = str(model.requests[-1].messages[-1]["content"])
        assert ("The user interrupted your last turn during the calls above" in asked) is told
    runtime.close()


async def test_exit_asks_before_it_stops_background_jobs() -> None:
    runtime = make_runtime([calls(background_call("sleep 300")), "It runs."], mode="auto")
    ctx = ScriptedContext(runtime, "3", "1")
    await run_turn(runtime, "go", learn=False)
    await ctx.type("/exit")
    assert not ctx.left
    await ctx.type("/exit")
    assert ctx.left
    await runtime.agent.ctx.commands.jobs.close()
    await ctx.type("/exit")
    assert len(ctx.offered) == 2, "without a job nothing is asked"
    runtime.close()
