"""A silent stream is ended and closed; a slow one is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from swecli.llm.patience import Patience, watched
from swecli.models.errors import RateLimited, Unavailable
from swecli.models.message import ModelChunk
from tests.support.model_requests import collect


class Source:
    """A stream that gives these texts and then never anything; knows when it was closed."""

    def __init__(self, *texts: str, failure: Exception | None = None, hang: bool = True) -> None:
        self.texts, self.failure, self.hang, self.closed = texts, failure, hang, False

    async def stream(self) -> AsyncIterator[ModelChunk]:
        try:
            for text in self.texts:
                yield ModelChunk(text=text)
            if self.failure:
                raise self.failure
            if self.hang:
                await asyncio.Event().wait()
        finally:
            self.closed = True


async def test_nothing_at_all_ends_after_the_first_limit() -> None:
    source = Source()
    with pytest.raises(Unavailable, match=r"box did not begin to answer for 0\.01 s"):
        await collect(watched(source.stream(), Patience(0.01, 60), "box"))
    assert source.closed


async def test_silence_after_something_ends_after_the_second_limit() -> None:
    source = Source("a", "b")
    chunks = watched(source.stream(), Patience(60, 0.01), "box")
    assert [(await anext(chunks)).text for _ in range(2)] == ["a", "b"]
    with pytest.raises(Unavailable, match="stopped in its answer"):
        await anext(chunks)
    assert source.closed


async def test_the_consumers_own_time_does_not_count() -> None:
    came = []
    async for chunk in watched(Source("a", "b", hang=False).stream(), Patience(0.05, 0.05), "box"):
        came.append(chunk.text)
        await asyncio.sleep(0.08)
    assert came == ["a", "b"]


async def test_failures_pass_as_they_are() -> None:
    with pytest.raises(RateLimited):
        await collect(watched(Source(failure=RateLimited("x")).stream(), Patience(), "box"))


async def test_without_limits_it_only_passes_on() -> None:
    chunks = await collect(watched(Source("a", hang=False).stream(), Patience(None, None), "box"))
    assert [c.text for c in chunks] == ["a"]


async def test_cancelling_closes_the_source() -> None:
    source = Source("a")
    task = asyncio.create_task(collect(watched(source.stream(), Patience(), "box")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert source.closed
