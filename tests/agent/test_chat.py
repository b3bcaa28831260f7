"""Test how a turn ends: with an event and an honest outcome, whatever happens."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.events import Event, TurnFailed
from swecli.models.message import ModelChunk, ModelRequest
from swecli.models.review_events import ReviewFinished
from tests.support.reviews import begin_review
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply, ScriptedModel


def outcome(runtime: Runtime) -> str:
    session = runtime.sessions.session
    info = runtime.sessions.turns.turn(session.id, session.interactions)
    assert info is not None
    return info.status


async def test_an_unexpected_exception_ends_a_turn_as_failed_and_says_so() -> None:
    broken = Reply("Half an answ", piece=4, cut_after=2, failure=KeyError("gone"))
    runtime = make_runtime([broken, "As before."])
    events = await run_turn(runtime, "hello", learn=False)
    assert events[-1] == TurnFailed(
        "Internal error: KeyError: 'gone'.", "The details are in swecli.log.", 1
    )
    assert outcome(runtime) == "failed"
    assert runtime.sessions.session.messages[-1].content == "Half an "
    await run_turn(runtime, "again", learn=False)
    assert outcome(runtime) == "done"
    runtime.close()


async def test_a_piece_of_the_answer_passes_three_frames_on_its_way_to_the_screen() -> None:
    frames: list[str] = []

    class Watched(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk]:
            frames.extend(frame.filename for frame in traceback.extract_stack())
            async for chunk in super().stream(request):
                yield chunk

    runtime = make_runtime(Watched(["Yes."]))
    await run_turn(runtime, "hello", learn=False)
    ours = [Path(frame).name for frame in frames if "/swecli/agent/" in frame]
    assert ours == ["chat.py", "loop.py", "sender.py"]
    runtime.close()


async def test_a_turn_that_is_not_read_to_its_end_stops_its_command_and_stores_its_output() -> None:
    command = {"command": "echo 7 of 9; touch begun; exec sleep 60"}
    runtime = make_runtime([calls(("run_command", command))])
    events = runtime.agent.run(runtime.agent.prepare("go"))
    async for event in events:
        if event.type == "tool_started":
            break
    while not Path("begun").exists():
        await asyncio.sleep(0.01)
    await events.aclose()
    [call] = runtime.sessions.session.messages[-1].tool_calls
    assert re.match(r"Stopped by the user after \d+ s.*\n7 of 9$", str(call.result))
    assert outcome(runtime) == "cancelled"
    runtime.close()


async def test_a_cancelled_turn_is_stored_as_cancelled() -> None:
    runtime = make_runtime([Reply("word " * 100, delay=0.01)])
    agent = runtime.agent

    async def turn() -> None:
        async with aclosing(agent.run(agent.prepare("go"))) as events:
            async for event in events:
                if event.type == "text_delta":
                    started.set()

    started = asyncio.Event()
    running = asyncio.create_task(turn())
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert outcome(runtime) == "cancelled"
    runtime.close()


async def test_an_unexpected_exception_ends_a_review_as_failed() -> None:
    Path("shop.py").write_text("f = open('x')\n")
    model: Any = ScriptedModel([KeyError("gone")])
    runtime = make_runtime(model)
    events: list[Event] = []
    review = await begin_review(runtime, "shop.py")

    async def run() -> None:
        async with aclosing(review.run()) as source:
            async for event in source:
                events.append(event)

    with pytest.raises(KeyError):
        await run()
    assert isinstance(events[-1], ReviewFinished)
    assert events[-1].end == "failed"
    runtime.close()
