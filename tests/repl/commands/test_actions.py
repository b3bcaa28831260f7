"""Test the slash commands that are derived from actions, in a session that another process works in, too."""

from __future__ import annotations

import subprocess

import pytest

from swecli.models.errors import BusyElsewhere, ContinuedElsewhere
from swecli.models.message import ModelRequest
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime, run_turn
from tests.support.scripted import ScriptedModel


def answer(request: ModelRequest) -> str:
    return "SUMMARY of all" if request.purpose == "condense" else "ok"


@pytest.mark.parametrize(
    ("line", "said"),
    [("/pin", "pinned T2"), ("/context", "tokens"), ("/compact", "tokens"), ("/window 1", "turn")],
)
async def test_what_another_process_did_in_the_session_is_loaded_first(
    line: str, said: str
) -> None:
    here = make_runtime(ScriptedModel(answer), reflect_with_model=False)
    await run_turn(here, "first, with a long log: " + "a line of it, " * 500)
    there = make_runtime(ScriptedModel(answer), resume="", reflect_with_model=False)
    await run_turn(there, "second")
    printed = await ScriptedContext(here).type(line)
    assert "T2 is of another swecli: second → ok" in printed
    assert said in printed.partition("second → ok")[2]
    assert here.session.interactions == 2
    here.close()
    there.close()


async def test_nothing_changes_a_session_while_another_process_runs_a_turn_there() -> None:
    runtime = make_runtime(ScriptedModel(answer), reflect_with_model=False)
    await run_turn(runtime, "first")
    ctx = ScriptedContext(runtime)
    with subprocess.Popen(["sleep", "60"]) as process:
        with runtime.sessions.database.write() as db:
            db.execute("UPDATE interaction SET status = 'running', pid = ?", (process.pid,))
        runtime.sessions.leave()
        for line in ("/pin", "/unpin", "/compact", "/context undo"):
            with pytest.raises(BusyElsewhere):
                await ctx.type(line)
        assert "tokens" in await ctx.type("/context")
        process.kill()
    assert runtime.session.context.pins == ()
    runtime.close()


async def test_a_summary_of_a_session_that_was_continued_elsewhere_is_refused() -> None:
    here = make_runtime(ScriptedModel(answer), reflect_with_model=False)
    await run_turn(here, "first")
    there = make_runtime(ScriptedModel(answer), resume="", reflect_with_model=False)
    await run_turn(there, "second")
    with pytest.raises(ContinuedElsewhere):
        async for _ in here.context_control.compact():
            pass
    here.close()
    there.close()
