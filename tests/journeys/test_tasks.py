"""Test subtasks: their own window, tools, child session, cost, approvals and end."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.errors import ProviderError
from swecli.models.events import Event, ToolFinished, ToolProgress, TurnFinished
from swecli.models.message import ModelRequest, Usage
from tests.support.runtime import NO, User, calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedCall, ScriptedModel
from tests.support.shell import script, swecli

READ_ONLY = ["list_files", "read_file", "read_result", "repo_map", "search_files"]


def is_task_request(request: ModelRequest) -> bool:
    return "Another assistant" in str(request.messages)


def task(title: str = "find the word", **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "task", {"title": title, "prompt": f"Do it: {title}.", **arguments}


def script_model(inside: list[Any], outside: list[Any]) -> ScriptedModel:
    """Return a model that answers tasks from one list and the conversation from another."""
    lists = {True: iter(inside), False: iter(outside)}
    return ScriptedModel(lambda request: next(lists[is_task_request(request)]))


def finished_tool(events: list[Event], name: str = "task") -> ToolFinished:
    return next(
        event for event in events if isinstance(event, ToolFinished) and event.call.name == name
    )


def child_sessions(runtime: Runtime) -> list[str]:
    with runtime.sessions.database.reading() as db:
        rows = db.connection().exec_driver_sql(
            "SELECT id FROM session WHERE parent_id IS NOT NULL ORDER BY number"
        )
        return [row[0] for row in rows]


async def test_a_task_has_a_separate_context_and_returns_only_its_last_message() -> None:
    Path("a.txt").write_text("the word is KIWI\n")
    inside = [
        calls(("read_file", {"path": "a.txt"}), text="I look."),
        "The word is KIWI (a.txt:1).",
    ]
    model = script_model(inside, ["Secret talk.", calls(task()), "It is KIWI."])
    runtime = make_runtime(model)
    await run_turn(runtime, "we spoke of PAPAYA")
    events = await run_turn(runtime, "which word?")
    apart = [request for request in model.requests if is_task_request(request)]
    assert len(apart) == 2
    assert "PAPAYA" not in str(apart[0].messages)
    assert [tool.name for tool in apart[0].tools] == READ_ONLY
    assert f"Your tools are {', '.join(READ_ONLY)}." in str(apart[0].messages[0]["content"])
    others = {tool.name for tool in model.requests[0].tools} - set(READ_ONLY)
    assert others
    assert not [name for name in others if f"{name}:" in str(apart[0].messages)]
    assert finished_tool(events).result.for_model == "The word is KIWI (a.txt:1)."
    assert "the word is KIWI" not in str(model.requests[-1].messages), (
        "the text that the task read is not in the conversation"
    )
    assert any(isinstance(event, ToolProgress) and event.text == "Read a.txt\n" for event in events)
    runtime.close()


async def test_a_task_is_stored_as_an_unlisted_child_session_that_can_be_resumed_by_id() -> None:
    model = script_model(["Found nothing."], [calls(task()), "Nothing.", "As before."])
    runtime = make_runtime(model)
    events = await run_turn(runtime, "look")
    parent = runtime.sessions.current_session
    assert parent is not None
    (child,) = child_sessions(runtime)
    assert finished_tool(events).result.for_user.title == f"1 request · session {child[:13]}"
    assert [row.id for row in runtime.sessions.catalog.list_sessions()] == [parent.id]
    assert [row.id for row in runtime.sessions.catalog.list_sessions(str(runtime.cwd))] == [
        parent.id
    ]
    assert [message["role"] for message in runtime.sessions.archive.export(child)["messages"]] == [
        "user",
        "assistant",
    ]
    assert runtime.sessions.turns.pending(child) == []
    runtime.close()
    again = make_runtime(["Go on."], resume=child)
    assert again.sessions.current_session is not None
    assert again.sessions.current_session.title == "task: find the word"
    assert "Found nothing." in str(again.agent.prepare("and?").messages)
    again.close()
    newest = make_runtime(["x"], resume="")
    assert newest.sessions.current_session is not None
    assert newest.sessions.current_session.id == parent.id, "-c never continues a task's session"
    newest.new_session()
    newest.sessions.delete(parent.id)
    assert child_sessions(newest) == [], "a task's session is deleted with its parent"
    newest.close()


async def test_the_cost_of_a_task_is_counted_once_in_the_parent_session_and_in_the_turn() -> None:
    inside = [Reply("Found.", usage=Usage(input=100, output=10), cost=0.25)]
    outside = [Reply("", (ScriptedCall(*task()),), cost=0.5), Reply("So.", cost=0.5)]
    runtime = make_runtime(script_model(inside, outside))
    events = await run_turn(runtime, "look")
    totals = runtime.sessions.totals()
    assert totals.cost == 1.25
    assert totals.by_purpose["task"].cost == 0.25
    assert totals.by_purpose["task"].usage == Usage(input=100, output=10)
    assert totals.by_purpose["turn"].requests == 2
    assert [event.cost for event in events if isinstance(event, TurnFinished)] == [1.25]
    (child,) = child_sessions(runtime)
    assert runtime.sessions.archive.export(child)["totals"]["requests"] == 0, (
        "each request is counted once"
    )
    runtime.close()


async def test_a_task_keeps_to_the_remaining_budget() -> None:
    inside = [
        Reply("", (ScriptedCall("list_files"),), cost=0.4),
        Reply("", (ScriptedCall("list_files"),), cost=0.4),
    ]
    outside = [Reply("", (ScriptedCall(*task()),), cost=0.5), "never asked"]
    model = script_model(inside, outside)
    events = await run_turn(make_runtime(model, max_budget_usd=1.0), "look")
    assert "not finished: max_budget" in finished_tool(events).result.for_model
    assert [event.reason for event in events if isinstance(event, TurnFinished)] == ["max_budget"]
    assert len(model.requests) == 3


async def test_a_task_asks_for_approval_of_its_tools_and_has_no_others() -> None:
    inside = [
        calls(("write_file", {"path": "made.txt", "content": "x"})),
        calls(("run_command", {"command": "touch never"})),
        "Refused.",
    ]
    user = User([NO])
    model = script_model(inside, [calls(task(tools=["write_file"])), "Well."])
    runtime = make_runtime(model, user)
    events = await run_turn(runtime, "write it")
    (asked,) = user.asked
    assert asked.call.name == "write_file"
    assert "for the task 'find the word'" in asked.why
    assert not Path("made.txt").exists()
    assert not Path("never").exists()
    assert "There is no tool 'run_command'" in str(model.requests[3].messages), (
        "the task has no such tool"
    )
    assert finished_tool(events).summary == "Task find the word (with write_file)"
    runtime.close()


async def test_a_task_returns_the_files_that_it_changed() -> None:
    inside = [
        calls(("write_file", {"path": "made.txt", "content": "x"})),
        calls(("read_file", {"path": "made.txt"})),
        "Done.",
    ]
    runtime = make_runtime(
        script_model(inside, [calls(task(tools=["write_file"])), "Well."]), mode="auto"
    )
    events = await run_turn(runtime, "write it")
    assert finished_tool(events).result.for_model == "Done.\n[It changed: made.txt]"
    facts = runtime.sessions.session.context.facts
    changed = [key for kind, key in facts if kind == "changed"]
    assert changed == ["made.txt"]
    runtime.close()


async def test_file_changes_of_a_task_are_undone_with_the_turn() -> None:
    inside = [calls(("write_file", {"path": "made.txt", "content": "x"})), "Done."]
    runtime = make_runtime(
        script_model(inside, [calls(task(tools=["write_file"])), "Well."]), mode="auto"
    )
    await run_turn(runtime, "write it")
    assert Path("made.txt").exists()
    assert runtime.history is not None
    runtime.history.undo(1, ["files"], runtime.history.plan(1))
    assert not Path("made.txt").exists()
    runtime.close()


async def test_a_task_cannot_start_a_task() -> None:
    model = script_model([calls(task("deeper")), "No."], [calls(task()), "Well."])
    await run_turn(make_runtime(model), "go")
    assert "There is no tool 'task'" in str(model.requests[2].messages)


async def test_two_tasks_in_one_reply_run_concurrently_and_return_their_answers() -> None:
    both = asyncio.Barrier(2)
    models: list[ModelRequest] = []

    class Meeting(ScriptedModel):
        async def stream(self, request: ModelRequest) -> Any:
            models.append(request)
            if is_task_request(request):
                await asyncio.wait_for(both.wait(), 20)
            async for chunk in super().stream(request):
                yield chunk

    def answer(request: ModelRequest) -> Any:
        if is_task_request(request):
            return "left" if "Do it: left" in str(request.messages) else "right"
        return (
            "Both."
            if any(message["role"] == "tool" for message in request.messages)
            else calls(task("left"), task("right"))
        )

    runtime = make_runtime(Meeting(answer))
    events = await run_turn(runtime, "go")
    results = {
        event.summary: event.result.for_model for event in events if isinstance(event, ToolFinished)
    }
    assert results == {"Task left": "left", "Task right": "right"}
    assert len(child_sessions(runtime)) == 2
    runtime.close()


async def test_cancelling_the_turn_cancels_the_task_and_keeps_its_partial_answer() -> None:
    slow = Reply("word " * 400, piece=5, delay=0.02)
    inside = [calls(("run_command", {"command": "sleep 300", "background": True})), slow]
    model = script_model(inside, [calls(task(tools=["run_command"]))])
    runtime = make_runtime(model, mode="auto")
    agent = runtime.agent

    async def turn() -> None:
        async with aclosing(agent.run(agent.prepare("go"))) as events:
            async for _ in events:
                pass

    running = asyncio.create_task(turn())
    while len(model.requests) < 3:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    whole = runtime.sessions.archive.export(child_sessions(runtime)[0])
    assert whole["messages"][-1]["content"].startswith("word word")
    assert whole["messages"][-1]["status"] == "partial"
    parent = runtime.sessions.current_session
    assert parent is not None
    (call,) = parent.messages[-1].tool_calls
    assert call.result is not None
    assert call.result.startswith("Stopped by the user")
    assert agent.ctx.commands.jobs.all == [], (
        "a task's background command is no job of the conversation"
    )
    runtime.close()


@pytest.mark.parametrize("fails", [ProviderError("The service is gone."), ""])
async def test_a_task_that_fails_or_answers_nothing_returns_a_result(fails: Any) -> None:
    model = script_model([fails], [calls(task()), "I see."])
    runtime = make_runtime(model)
    events = await run_turn(runtime, "go")
    got = finished_tool(events).result
    assert got.for_model == (
        "(no answer)" if fails == "" else "The task failed: The service is gone."
    )
    assert got.ok == (fails == "")
    assert isinstance(events[-1], TurnFinished)
    runtime.close()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "stream-json"])
def test_the_cost_of_a_task_is_in_the_headless_result(form: str) -> None:
    asked = {
        "calls": [{"name": "task", "arguments": {"title": "look", "prompt": "Look."}}],
        "cost": 0.5,
    }
    replies = script(
        "s.json", asked, {"text": "inside", "cost": 0.25}, {"text": "outside", "cost": 0.5}
    )
    done = swecli("-p", "go", "-m", replies, "--output-format", form, "--no-reflect")
    assert done.code == 0, done.err
    assert json.loads(done.out.strip().splitlines()[-1])["total_cost_usd"] == 1.25


async def test_other_results_of_the_same_reply_are_shown_while_a_task_runs() -> None:
    Path("a.txt").write_text("KIWI\n")
    inside = [Reply("Found.", delay=1.0)]
    both = calls(task(), ("read_file", {"path": "a.txt"}))
    runtime = make_runtime(script_model(inside, [both, "Done."]))
    events = await run_turn(runtime, "look", learn=False)
    finished = [event.call.name for event in events if isinstance(event, ToolFinished)]
    assert finished == ["read_file", "task"]
    calls_of_reply = [message.tool_calls for message in runtime.sessions.session.messages]
    assert [call.name for call in calls_of_reply[1]] == ["task", "read_file"], "as the model wrote"
    runtime.close()


async def test_results_that_come_at_about_the_same_time_are_shown_in_the_order_of_the_calls() -> (
    None
):
    Path("a.txt").write_text("KIWI\n")
    both = calls(task(), ("read_file", {"path": "a.txt"}))
    runtime = make_runtime(script_model(["Found."], [both, "Done."]))
    events = await run_turn(runtime, "look", learn=False)
    finished = [event.call.name for event in events if isinstance(event, ToolFinished)]
    assert finished == ["task", "read_file"]
    runtime.close()
