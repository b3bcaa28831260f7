"""Test which failures are retried, when, and that the same request is sent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from swecli.llm.base import ChatModel
from swecli.llm.reply import ReplyBuilder
from swecli.llm.retries import ALL_WAITS, LONGEST_WAIT, Retry, stream_with_retry
from swecli.models.errors import (
    AuthFailed,
    ContextOverflow,
    ModelNotFound,
    ProviderError,
    SwecliError,
    Unavailable,
)
from swecli.models.message import ModelReply
from tests.support.model_requests import model_at, request
from tests.support.scripted import Reply, ScriptedModel
from tests.support.strict_provider import Refusal, StrictProvider, Wire
from tests.support.strict_provider import Reply as Answer
from tests.support.strict_provider.script import Script


class Recorder:
    """Runs a model with retries as the agent does, and discards partial chunks when a retry begins."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.retries: list[Retry] = []
        self.builder = ReplyBuilder()

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def run(self, model: ChatModel, **more: Any) -> ModelReply:
        chunks = stream_with_retry(
            model,
            request(),
            jitter=lambda: 1.0,
            pause=self.sleep,
            **more,
        )
        async for chunk in chunks:
            if not isinstance(chunk, Retry):
                self.builder.add(chunk)
                continue
            self.retries.append(chunk)
            if chunk.restart:
                self.builder.reset()
        return self.builder.build()


async def test_a_complete_answer_is_passed_on_without_a_retry() -> None:
    recorder = Recorder()
    assert (await recorder.run(ScriptedModel(["hello"]))).text == "hello"
    assert (recorder.waits, recorder.retries) == ([], [])


async def test_failures_before_the_first_chunk_are_retried_with_growing_delays() -> None:
    recorder = Recorder()
    model = ScriptedModel([Unavailable("one"), Unavailable("two"), Unavailable("three"), "hello"])
    assert (await recorder.run(model)).text == "hello"
    assert recorder.waits == [1.0, 2.0, 4.0]
    assert [(r.attempt, r.reason, r.restart) for r in recorder.retries] == [
        (1, "one", False),
        (2, "two", False),
        (3, "three", False),
    ]


async def test_no_request_is_sent_after_the_fifth_failure() -> None:
    recorder = Recorder()
    model = ScriptedModel([Unavailable(str(n)) for n in range(9)])
    with pytest.raises(Unavailable, match="4"):
        await recorder.run(model)
    assert len(model.requests) == 5
    assert len(recorder.waits) == 4


async def test_the_retry_after_of_the_provider_is_used_as_delay() -> None:
    recorder = Recorder()
    await recorder.run(ScriptedModel([Unavailable("slow", retry_after=17.0), "hello"]))
    assert recorder.waits == [17.0]


async def test_a_retry_after_above_the_longest_wait_is_an_error_without_a_retry() -> None:
    recorder = Recorder()
    with pytest.raises(Unavailable):
        await recorder.run(
            ScriptedModel([Unavailable("slow", retry_after=LONGEST_WAIT + 1), "hello"])
        )
    assert recorder.waits == []


async def test_delays_are_jittered_and_limited_singly_and_in_total() -> None:
    recorder = Recorder()
    failing = ScriptedModel(lambda _: Unavailable("x", tries=12))
    with pytest.raises(Unavailable):
        async for _ in stream_with_retry(
            failing, request(), attempts=12, jitter=lambda: 0.0, pause=recorder.sleep
        ):
            pass
    waits = recorder.waits
    assert waits[:3] == [0.5, 1.0, 2.0]
    assert max(waits) <= LONGEST_WAIT
    assert sum(waits) <= ALL_WAITS


@pytest.mark.parametrize(("tries", "requests"), [(1, 1), (2, 2), (3, 3), (5, 5)])
async def test_the_number_of_tries_is_set_by_the_failure(tries: int, requests: int) -> None:
    model = ScriptedModel(lambda _: Unavailable("x", tries=tries))
    with pytest.raises(Unavailable):
        await Recorder().run(model)
    assert len(model.requests) == requests


async def test_kinds_of_failure_are_counted_separately_with_five_requests_at_most() -> None:
    failures = [Unavailable("429"), Unavailable("cut", tries=3), Unavailable("empty", tries=2)]
    assert (await Recorder().run(ScriptedModel([*failures, "hello"]))).text == "hello"
    mixed = ScriptedModel([*failures[:2], *failures[:2], *failures[:2]])
    with pytest.raises(Unavailable):
        await Recorder().run(mixed)
    assert len(mixed.requests) == 5


@pytest.mark.parametrize(
    "failure",
    [AuthFailed("x"), ModelNotFound("x"), ContextOverflow("x"), ProviderError("x")],
    ids=lambda e: type(e).__name__,
)
async def test_a_permanent_error_is_raised_without_a_retry(failure: SwecliError) -> None:
    recorder = Recorder()
    with pytest.raises(type(failure)):
        await recorder.run(ScriptedModel([failure, "hello"]))
    assert recorder.waits == []


async def test_an_answer_that_is_cut_off_is_retried_and_its_chunks_are_discarded() -> None:
    recorder = Recorder()
    model = ScriptedModel(
        [Reply("half of it", piece=4, cut_after=2, failure=Unavailable("gone")), "whole"]
    )
    assert (await recorder.run(model)).text == "whole"
    assert [r.restart for r in recorder.retries] == [True]


async def test_a_stream_that_ends_without_a_stop_is_retried_as_cut_off() -> None:
    recorder = Recorder()
    model = ScriptedModel([Reply("half of it", piece=4, cut_after=2), "whole"])
    assert (await recorder.run(model)).text == "whole"
    assert recorder.retries[0].restart
    assert "cut off" in recorder.retries[0].reason


async def test_cancelling_during_the_delay_ends_the_retries() -> None:
    model = ScriptedModel([Unavailable("x"), "hello"])
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async def consume() -> None:
        async for _ in stream_with_retry(model, request(), pause=sleep):
            pass

    task = asyncio.create_task(consume())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(model.requests) == 1


@pytest.mark.slow
async def test_http_and_connection_failures_are_retried_with_the_same_request() -> None:
    answers: Script = [
        Refusal(429, "slow", headers={"retry-after": "3"}),
        Refusal(529, "busy"),
        Answer("half of it, long enough to be cut", wire=Wire(reset_at=900)),
        Answer("hello"),
    ]
    recorder = Recorder()
    with StrictProvider(answers) as server:
        assert (await recorder.run(model_at(server, "openai/gpt-4.1"))).text == "hello"
    assert recorder.waits == [3.0, 2.0, 1.0]
    assert [r.restart for r in recorder.retries] == [False, False, True]
    assert len({received.raw for received in server.requests}) == 1
