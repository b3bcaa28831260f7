"""A silent stream is ended and closed; a slow one is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest

from swecli.llm.answer import Answer
from swecli.llm.endpoints import Endpoint, resolve
from swecli.llm.profile import Profile
from swecli.llm.providers.openai_chat import OpenAIChat
from swecli.llm.reply import with_timeouts
from swecli.models.errors import RateLimited, Unavailable
from swecli.models.message import ModelChunk, ModelRequest
from tests.support.model_requests import collect, request
from tests.support.virtual_time import run_virtually


def box(first_byte: float = 60, first_token: float = 60, quiet: float = 60) -> Endpoint:
    clocks = {"first_byte": first_byte, "first_token": first_token, "quiet": quiet}
    return replace(resolve("openai/x", {"OPENAI_BASE_URL": "http://box"}), **clocks)


class Source:
    """A stream that gives these texts and then never anything; knows when it was closed."""

    def __init__(self, *texts: str, failure: Exception | None = None, hang: bool = True) -> None:
        self.texts, self.failure, self.hang, self.closed = texts, failure, hang, False

    async def stream(self) -> AsyncGenerator[ModelChunk]:
        try:
            yield ModelChunk()
            for text in self.texts:
                yield ModelChunk(text=text) if text else ModelChunk()
            if self.failure:
                raise self.failure
            if self.hang:
                await asyncio.Event().wait()
        finally:
            self.closed = True


async def test_nothing_after_the_request_was_sent_ends_after_the_first_limit() -> None:
    source = Source()
    with pytest.raises(Unavailable, match=r"http://box sent no data for 0\.01 s") as caught:
        await collect(with_timeouts(source.stream(), box(first_byte=0.01)))
    assert source.closed
    assert caught.value.tries == 1, "it may have been billed"
    assert "billed" in caught.value.hint


async def test_keep_alives_are_life_and_no_words() -> None:
    source = Source("", "", "")
    with pytest.raises(Unavailable, match=r"no text of an answer for 0\.02 s"):
        await collect(with_timeouts(source.stream(), box(first_token=0.02)))
    assert source.closed


async def test_silence_after_something_ends_after_the_second_limit() -> None:
    source = Source("a", "b")
    chunks = with_timeouts(source.stream(), box(quiet=0.01))
    assert [(await anext(chunks)).text for _ in range(3)] == ["", "a", "b"]
    with pytest.raises(Unavailable, match="stopped in its answer"):
        await anext(chunks)
    assert source.closed


async def test_the_consumers_own_time_does_not_count() -> None:
    came = []
    async for chunk in with_timeouts(Source("a", "b", hang=False).stream(), box(0.05, 60, 0.05)):
        came.append(chunk.text)
        await asyncio.sleep(0.08)
    assert came == ["", "a", "b"]


async def test_failures_pass_as_they_are() -> None:
    with pytest.raises(RateLimited):
        await collect(with_timeouts(Source(failure=RateLimited("x")).stream(), box()))


async def test_cancelling_closes_the_source() -> None:
    source = Source("a")
    task = asyncio.create_task(collect(with_timeouts(source.stream(), box())))
    for _ in range(4):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed


def test_an_answer_that_names_its_ending_with_every_piece_is_read_to_its_end() -> None:
    class Slow(OpenAIChat):
        async def exchange(self, request: ModelRequest, body: dict[str, Any], answer: Answer) -> None:
            answer.request_sent.set()
            for piece in "abcdef":
                answer.read({"choices": [{"delta": {"content": piece}, "finish_reason": "stop"}]})
                answer.data_arrived.set()
                await asyncio.sleep(3)

    chunks = run_virtually(collect(Slow(box(), Profile()).stream(request())))
    assert "".join(chunk.text for chunk in chunks) == "abcdef"
