"""Test a model with an unknown context window over HTTP: the limit is 500,000 characters, and an incomplete summary is
completed."""

from __future__ import annotations

import os
from typing import Any

import pytest

from swecli.context.budget import MAX_CHARACTERS
from swecli.llm.registry import make_model
from swecli.models.events import ContextReduced
from swecli.models.window_spec import WindowSpec
from tests.support.runtime import User, make_runtime, make_start, run_turn
from tests.support.strict_provider import Call, Received, Reply, StrictProvider

MODEL = "a-model-nobody-knows"
FORGOT = "## Done\nSomething was read."


def count_characters(body: dict[str, Any]) -> int:
    return sum(len(str(message["content"] or "")) for message in body["messages"])


@pytest.mark.slow
async def test_half_a_million_characters_are_condensed_and_retained_facts_added_to_the_summary() -> (
    None
):
    work = iter(
        [
            Reply(calls=(Call("write_file", {"path": "leak.txt", "content": "in f1\n"}),)),
        ]
    )

    def answer(request: Received) -> Reply:
        last = str(request.body["messages"][-1]["content"])
        summary = "summary" in last.lower() and "words of turn" not in last
        return Reply(FORGOT) if summary else next(work, Reply("Read. " * 20))

    with StrictProvider(answer, models=(MODEL,)) as server:
        model = make_model(
            f"openai/{MODEL}", make_start().settings, {**os.environ, **server.environ()}
        )
        assert model.profile.window is None
        runtime = make_runtime(model, User(), learn=False, window=WindowSpec(mode="full"))
        await run_turn(runtime, "Find the leak; never touch setup.py.", learn=False)
        hows = list[str]()
        for number in range(2, 8):
            events = await run_turn(
                runtime, f"words of turn {number}: " + "lorem " * 20_000, learn=False
            )
            assert events[-1].type == "turn_finished"
            hows += [event.how for event in events if isinstance(event, ContextReduced)]
        assert hows == ["condense"]
        assert max(count_characters(body) for body in server.bodies) <= MAX_CHARACTERS + 10_000
        system = str(server.bodies[-1]["messages"][0]["content"])
        assert FORGOT in system
        for kept in ("Find the leak; never touch setup.py.", "Files changed: leak.txt"):
            assert kept in system
        assert "words of turn 7" in str(server.bodies[-1]["messages"][-1]["content"])
        assert server.refusals == []
        runtime.close()
