"""Test whole turns: a query goes in, events come out, and the store contains all of it."""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from swecli.app import Runtime
from swecli.models.approval import AskRequest, Decision
from swecli.models.errors import AuthFailed, ContextOverflow, StoreError, Unavailable
from swecli.models.events import Event, Notice, StepRetried, ToolFinished, TurnFailed, TurnFinished
from swecli.models.message import ModelRequest, Role
from swecli.models.window_spec import WindowSpec
from tests.support.runtime import NO, YES, User, calls, event_types, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel
from tests.support.stored import stored_calls


def requests_of(runtime: Runtime) -> list[ModelRequest]:
    """Return the requests that the scripted model got."""
    assert isinstance(runtime.agent.model, ScriptedModel)
    return runtime.agent.model.requests


async def test_a_question_is_answered_and_stored() -> None:
    runtime = make_runtime(["Four."])
    events = await run_turn(runtime, "what is 2 + 2?")
    assert event_types(events)[:2] == ["turn_started", "step_started"]
    finished = next(e for e in events if isinstance(e, TurnFinished))
    assert (finished.reason, finished.text) == ("done", "Four.")
    stored = runtime.sessions.current_session
    assert stored is not None
    assert [(m.role, m.content) for m in stored.messages] == [
        (Role.USER, "what is 2 + 2?"),
        (Role.ASSISTANT, "Four."),
    ]


async def test_a_tool_runs_and_its_result_reaches_the_model() -> None:
    Path("a.txt").write_text("hello\n")
    runtime = make_runtime([calls(("read_file", {"path": "a.txt"})), "It says hello."])
    events = await run_turn(runtime, "read a.txt")
    assert "tool_started" in event_types(events)
    assert "tool_finished" in event_types(events)
    model = runtime.agent.model
    results = [m for m in model.requests[1].messages if m["role"] == "tool"]  # type: ignore[attr-defined]
    assert "hello" in results[0]["content"]


async def test_two_parallel_calls_are_answered_in_their_order() -> None:
    Path("a.txt").write_text("first\n")
    Path("b.txt").write_text("second\n")
    runtime = make_runtime(
        [calls(("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})), "Both read."]
    )
    await run_turn(runtime, "read a.txt and b.txt")
    results = [m["content"] for m in requests_of(runtime)[1].messages if m["role"] == "tool"]
    assert "first" in results[0]
    assert "second" in results[1]


async def test_a_refused_write_creates_no_file_and_sends_the_reason_to_the_model() -> None:
    user = User([NO])
    runtime = make_runtime(
        [calls(("write_file", {"path": "a.txt", "content": "x"})), "As you wish."], user
    )
    events = await run_turn(runtime, "write a.txt")
    assert not Path("a.txt").exists()
    assert user.asked[0].preview.kind == "diff"
    finished = next(e for e in events if isinstance(e, TurnFinished))
    assert [call.name for call in finished.denied] == ["write_file"]
    results = [m["content"] for m in requests_of(runtime)[1].messages if m["role"] == "tool"]
    assert "not now" in results[0]


async def test_an_approved_command_runs_and_its_exit_code_is_stored() -> None:
    runtime = make_runtime(
        [calls(("run_command", {"command": "echo out; exit 3"})), "It failed."], User([YES])
    )
    events = await run_turn(runtime, "run it")
    result = next(e for e in events if isinstance(e, ToolFinished)).result
    assert (result.ok, result.exit_code) == (False, 3)
    assert [c.exit_code for c in stored_calls(runtime.sessions, 1)] == [3]


async def test_an_unknown_tool_and_malformed_arguments_return_failed_results() -> None:
    runtime = make_runtime([calls(("fly", {}), ("read_file", '{"path": "a')), "Sorry."])
    events = await run_turn(runtime, "do it")
    failed = [e.result.for_model for e in events if isinstance(e, ToolFinished) and not e.result.ok]
    assert len(failed) == 2
    assert "fly" in failed[0]
    assert "JSON" in failed[1]
    assert isinstance([e for e in events if e.type.startswith("turn_f")][0], TurnFinished)


async def test_a_temporary_failure_is_retried_and_reported() -> None:
    runtime = make_runtime([Unavailable("busy", retry_after=0.01), "Here."])
    events = await run_turn(runtime, "hello")
    assert [e.reason for e in events if isinstance(e, StepRetried)] == ["busy"]
    assert next(e for e in events if isinstance(e, TurnFinished)).text == "Here."


async def test_a_permanent_failure_ends_the_turn_and_the_query_is_kept() -> None:
    runtime = make_runtime(
        [AuthFailed("the key was refused", "Set OPENAI_API_KEY."), "Now it works."]
    )
    events = await run_turn(runtime, "hello")
    failed = next(e for e in events if isinstance(e, TurnFailed))
    assert (failed.error, failed.hint) == ("the key was refused", "Set OPENAI_API_KEY.")
    again = await run_turn(runtime, "hello again")
    assert next(e for e in again if isinstance(e, TurnFinished)).text == "Now it works."
    roles = [m["role"] for m in requests_of(runtime)[1].messages]
    assert roles == ["system", "user", "assistant", "user"], (
        "the unanswered query stays, followed by a stub"
    )


async def test_a_repeated_tool_call_is_reported_to_the_model_and_then_ends_the_turn() -> None:
    Path("a.txt").write_text("same\n")
    user = User([NO])
    runtime = make_runtime(lambda request: calls(("read_file", {"path": "a.txt"})), user)
    events = await run_turn(runtime, "go")
    assert next(e for e in events if isinstance(e, TurnFinished)).reason == "loop"
    assert len([e for e in events if isinstance(e, ToolFinished)]) == 3
    result_text = runtime.agent.model.requests[2].messages[-1]["content"]  # type: ignore[attr-defined]
    assert "again: the same call, the same outcome" in result_text, (
        "the model is warned before the turn is stopped"
    )
    assert user.asked[0].summary == "Continue repeating read_file"
    assert user.asked[0].question == "It keeps repeating itself. Continue?"


async def test_a_repetition_approved_by_the_user_continues_once_and_then_ends_the_turn() -> None:
    Path("a.txt").write_text("same\n")
    user = User([YES])
    runtime = make_runtime(lambda request: calls(("read_file", {"path": "a.txt"})), user)
    events = await run_turn(runtime, "go")
    assert next(e for e in events if isinstance(e, TurnFinished)).reason == "loop"
    assert len(user.asked) == 1
    assert len([e for e in events if isinstance(e, ToolFinished)]) == 6


async def test_the_step_limit_ends_a_turn() -> None:
    counter = iter(range(100))
    runtime = make_runtime(
        lambda request: calls(("list_files", {"path": ".", "depth": next(counter) + 1})),
        max_turns=4,
    )
    events = await run_turn(runtime, "go")
    assert next(e for e in events if isinstance(e, TurnFinished)).reason == "max_turns"


async def test_an_interrupted_turn_keeps_the_partial_answer_and_the_next_turn_finishes() -> None:
    slow = Reply("a long answer that never ends", piece=1, delay=0.01)
    runtime = make_runtime([slow, "Back again."])

    async def consume() -> None:
        async with aclosing(runtime.agent.run(runtime.agent.prepare("talk"))) as events:
            async for event in events:
                if event.type == "text_delta":
                    seen.set()

    seen = asyncio.Event()
    task = asyncio.create_task(consume())
    await seen.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    session = runtime.sessions.current_session
    assert session is not None
    assert session.messages[-1].status == "partial"
    assert "a long answer".startswith(session.messages[-1].content[:5])
    events = await run_turn(runtime, "and now?")
    assert next(e for e in events if isinstance(e, TurnFinished)).text == "Back again."


async def test_a_turn_in_a_deleted_database_is_an_error_and_does_not_recreate_it() -> None:
    runtime = make_runtime(["One.", "Two."], db=str(Path("mine.db").absolute()))
    await run_turn(runtime, "first")
    for file in filter(Path.is_file, Path().glob("mine.db*")):
        file.unlink()
    with pytest.raises(StoreError, match="was deleted, moved or replaced while swecli ran"):
        await run_turn(runtime, "second")
    runtime.close()
    assert list(Path().glob("mine.db")) == []


async def test_an_interrupted_command_returns_its_partial_output() -> None:
    runtime = make_runtime(
        [calls(("run_command", {"command": "echo 7 of 9 done; sleep 60"})), "Fine."]
    )
    started = asyncio.Event()
    seen: list[Event] = []

    async def consume() -> None:
        async with aclosing(runtime.agent.run(runtime.agent.prepare("sleep"))) as events:
            async for event in events:
                seen.append(event)
                if event.type == "tool_progress":
                    started.set()

    task = asyncio.create_task(consume())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = seen[-1]
    assert isinstance(last, ToolFinished)
    assert (last.result.cancelled, last.result.for_user.body) == (True, "7 of 9 done\n")
    result_text = stored_calls(runtime.sessions, 1)[0].result or ""
    assert re.match(r"Stopped by the user after \d+ s\.", result_text)
    assert result_text.endswith("Output until then:\n7 of 9 done")
    await run_turn(runtime, "go on")
    messages = runtime.agent.model.requests[-1].messages  # type: ignore[attr-defined]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "user"]


async def test_a_long_file_is_read_in_pages_that_are_not_truncated() -> None:
    """A model with a small window gets smaller pages, and every line of the file."""
    Path("long.py").write_text("".join(f"value_{n} = {n}\n" for n in range(1500)))
    pages = [
        calls(("read_file", {"path": "long.py"})),
        calls(("read_file", {"path": "long.py", "start_line": 400})),
    ]
    runtime = make_runtime(
        ScriptedModel([*pages, "Read."], context_window=16_000, max_output=1_000)
    )
    await run_turn(runtime, "read it")
    first = [m["content"] for m in requests_of(runtime)[1].messages if m["role"] == "tool"][0]
    shown = [line.split("\t")[0].strip() for line in first.splitlines() if "\t" in line]
    assert shown == [str(n) for n in range(1, len(shown) + 1)]
    assert f"continue with start_line={len(shown) + 1}" in first


async def test_a_request_refused_as_too_long_is_reduced_and_sent_again() -> None:
    """The estimate was too low: the model's limit is corrected for the session, and nothing stored is lost."""

    def answer(request: ModelRequest) -> str | Exception:
        size = sum(len(str(message["content"])) for message in request.messages)
        return ContextOverflow("too long") if size > 24_000 else "It fits."

    runtime = make_runtime(answer, window=WindowSpec(mode="full"))
    for number in range(4):
        await run_turn(runtime, f"question {number} " + "word " * 900, learn=False)
    events = await run_turn(runtime, "last " + "word " * 900, learn=False)
    assert event_types(events)[-1] == "turn_finished"
    assert "context_reduced" in event_types(events)
    assert [e.text for e in events if isinstance(e, Notice)][0].startswith("the provider says")
    session = runtime.sessions.current_session
    assert session is not None
    assert len(session.messages) == 10
    refused = len(runtime.agent.model.requests)  # type: ignore[attr-defined]
    await run_turn(runtime, "and one more", learn=False)
    since = runtime.agent.model.requests[refused:]  # type: ignore[attr-defined]
    assert [r.purpose for r in since if r.purpose == "turn"] == ["turn"], "the limit is known now"


async def test_a_provider_that_refuses_every_request_fails_the_turn_after_few_retries() -> None:
    runtime = make_runtime(lambda request: ContextOverflow("too long"))
    events = await run_turn(runtime, "hello", learn=False)
    assert isinstance(events[-1], TurnFailed)
    assert len(runtime.agent.model.requests) <= 4  # type: ignore[attr-defined]


class SlowUser(User):
    """Takes a second for each answer."""

    async def __call__(self, request: AskRequest) -> Decision:
        await asyncio.sleep(1.0)
        return await super().__call__(request)


async def test_the_time_of_a_turn_does_not_include_the_wait_for_an_answer() -> None:
    replies = [calls(("write_file", {"path": "a.txt", "content": "x"})), "Written."]
    runtime = make_runtime(replies, SlowUser())
    events = await run_turn(runtime, "write a.txt")
    finished = next(event for event in events if isinstance(event, TurnFinished))
    assert Path("a.txt").exists()
    assert finished.duration_ms < 1_000
    runtime.close()


async def test_a_call_that_is_cancelled_at_its_question_ends_with_its_event() -> None:
    asked = asyncio.Event()
    seen: list[Event] = []

    async def never_answer(request: AskRequest) -> Decision:
        asked.set()
        await asyncio.sleep(3600)
        return YES

    runtime = make_runtime([calls(("write_file", {"path": "a.txt", "content": "hello\n"}))])
    runtime.agent.toolkit = replace(runtime.agent.toolkit, ask=never_answer)

    async def consume() -> None:
        async with aclosing(runtime.agent.run(runtime.agent.prepare("write"))) as events:
            async for event in events:
                seen.append(event)

    task = asyncio.create_task(consume())
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = seen[-1]
    assert isinstance(last, ToolFinished)
    assert (last.call.name, last.summary) == ("write_file", "Create a.txt (+1)")
    assert last.result.cancelled
    assert last.result.for_user.title == "stopped by you before it ran"
    assert not Path("a.txt").exists()
