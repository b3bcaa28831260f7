"""Test ten steps with thinking blocks on each protocol, against a service that accepts only unmodified thinking blocks:
with a reduction, a killed process, a resumed session and a change of model."""

from __future__ import annotations

import hashlib
import json
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime
from swecli.models.context import Edits, Reduction
from swecli.models.events import TurnFinished
from tests.journeys.test_killed import kill_when, start_process
from tests.support.model_requests import model_at
from tests.support.runtime import make_runtime
from tests.support.strict_provider import Call, Received, Refusal, Reply, StrictProvider

STEPS, KILLED_AT = 10, 6
NAMES = {
    "openai": "openai/deepseek-reasoner",
    "responses": "openai/gpt-6.1-sol",
    "anthropic": "anthropic/claude-sonnet-5-5",
}
OTHERS = {
    "openai": "openai/another-reasoner",
    "responses": "openai/gpt-5.4",
    "anthropic": "anthropic/claude-haiku-4-5",
}
wires = pytest.mark.parametrize("wire", NAMES)
MODELS = tuple(name.partition("/")[2] for name in (*NAMES.values(), *OTHERS.values()))


class SigningService:
    """A service that signs its thinking blocks, on Anthropic's protocol with a hash of all messages before them, and
    refuses a request that changes either. On the Responses protocol a block is signed by its encrypted content, which
    has the number of its item."""

    def __init__(self) -> None:
        self.answers = 0
        self.made: set[str] = set()
        self.refused: list[str] = []
        self.accepted = 0

    def __call__(self, received: Received) -> Reply | Refusal:
        history = messages_of(received.body)
        for at, message in enumerate(history):
            for thought in _thoughts(message):
                bound = received.protocol == "anthropic"
                if (
                    thought not in self.made
                    or bound
                    and thought != f"thought {_hash(received.body, at)}"
                ):
                    self.refused.append(thought)
                    return Refusal(400, "messages: Invalid `signature` in `thinking` block")
                self.accepted += 1
        self.answers += 1
        thought = f"thought {_hash(received.body, len(history))}"
        self.made.add(thought)
        if self.answers % STEPS == 0:
            return Reply("All read.", reasoning=thought, piece=5)
        return Reply(
            "",
            reasoning=thought,
            calls=(Call("read_file", {"path": f"f{self.answers}.txt"}),),
            piece=5,
        )


def messages_of(body: dict[str, Any]) -> list[Any]:
    """Return the messages of a body, items on the Responses protocol."""
    return list(body.get("messages") or body["input"])


def _thoughts(message: dict[str, Any]) -> list[str]:
    if message.get("type") == "reasoning":
        is_signed = message["encrypted_content"] == message["id"].replace("rs_", "gAAA")
        return [message["summary"][0]["text"] if is_signed else "altered"]
    if message.get("role") != "assistant":
        return []
    reasoning = message.get("reasoning_content", "")
    if reasoning.strip():  # a space stands for an answer without
        return [reasoning]
    content = message["content"] if isinstance(message["content"], list) else []
    return [block["thinking"] for block in content if block["type"] == "thinking"]


def _hash(body: dict[str, Any], upto: int) -> str:
    prefix = [body["model"], body.get("tools"), body.get("system"), messages_of(body)[:upto]]
    return hashlib.sha256(json.dumps(_unmarked(prefix)).encode()).hexdigest()[:16]


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(inner) for name, inner in value.items() if name != "cache_control"}
    return [_unmarked(inner) for inner in value] if isinstance(value, list) else value


async def turn(runtime: Runtime, query: str) -> Any:
    """Run a turn and return its last event."""
    async with aclosing(runtime.agent.run(runtime.agent.prepare(query))) as events:
        return [event async for event in events][-1]


def write_files() -> None:
    for number in range(1, 5 * STEPS):
        Path(f"f{number}.txt").write_text(f"line of {number}\n" * 20)


@wires
@pytest.mark.slow
async def test_thinking_blocks_are_accepted_over_ten_steps_a_reduction_and_a_model_change(
    wire: str,
) -> None:
    write_files()
    signer = SigningService()
    with StrictProvider(signer, models=MODELS) as server:
        runtime = make_runtime(model_at(server, NAMES[wire]), learn=False)
        assert isinstance(await turn(runtime, "read all of it"), TurnFinished)
        assert signer.accepted >= sum(range(STEPS)), "each step sends all earlier thinking blocks"
        bodies = [_unmarked(messages_of(body)) for body in server.bodies]
        assert all(after[: len(before)] == before for before, after in pairwise(bodies))
        session = runtime.sessions.current_session
        assert session is not None
        cleared = Edits(replace={"1.4": {"content": "[cleared]"}})
        runtime.sessions.context.add(
            session, Reduction("clear", 2, 1, 100, 50, "for the test", None, cleared)
        )
        assert isinstance(await turn(runtime, "and the next"), TurnFinished)
        assert "[cleared]" in json.dumps(server.bodies[-1])
        runtime.agent.use_model(model_at(server, OTHERS[wire]))
        assert isinstance(await turn(runtime, "and now by another"), TurnFinished)
        assert (signer.refused, server.refusals) == ([], [])
        assert len(server.requests) == 3 * STEPS
        assert {request.protocol for request in server.requests} == {wire}
        runtime.close()


@pytest.mark.slow
@wires
def test_thinking_blocks_stored_before_a_kill_are_sent_after_resuming(wire: str) -> None:
    write_files()
    signer = SigningService()
    with StrictProvider(signer, models=MODELS) as server:
        process = start_process(server, NAMES[wire], Path.cwd(), "read all of it")
        kill_when(process, lambda: len(server.requests) >= KILLED_AT)
        accepted = signer.accepted
        _, complaints = start_process(server, NAMES[wire], Path.cwd(), "go on", "-c").communicate(
            timeout=120
        )
        assert (signer.refused, server.refusals) == ([], []), complaints
        assert len(server.requests) > KILLED_AT
        assert signer.accepted > accepted, "stored messages are sent with their thinking blocks"
