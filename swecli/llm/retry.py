"""Trying again what may pass: which failures, how often, after which wait."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from swecli.llm.base import ChatModel
from swecli.llm.patience import Patience, closing, watched
from swecli.models.errors import ProviderError, RateLimited, Unavailable
from swecli.models.message import ModelChunk, ModelRequest

LONGEST_WAIT = 60.0
_FIRST_WAIT = 1.0


@dataclass(frozen=True, slots=True)
class Retry:
    """A request failed and is sent again after `wait` seconds; `attempt` counts the failures from 1.

    With `restart` set, pieces of an answer had come already: they must be thrown away, the answer begins anew.
    """

    attempt: int
    wait: float
    reason: str
    restart: bool


async def stream_with_retry(
    model: ChatModel,
    request: ModelRequest,
    *,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    on_retry: Callable[[Retry], None] | None = None,
    attempts: int = 5,
    first_byte: float | None = None,
    quiet: float | None = None,
    jitter: Callable[[], float] = random.random,
) -> AsyncIterator[ModelChunk]:
    """The model's stream, begun again on failures that may pass, at most `attempts` times in all.

    A stream that ends without a `stop` counts as cut off. Nothing of an unfinished answer is ever acted upon, so
    it can be begun again; `on_retry` says so before the wait. `first_byte` and `quiet` (seconds) watch a model
    that has no timers of its own.

    Raises:
        ProviderError: the last failure, or the first that cannot pass or asks for a wait above LONGEST_WAIT.
    """
    patience = Patience(first_byte, quiet)
    for attempt in range(1, attempts + 1):
        came = False
        try:
            async with closing(watched(_complete(model, request), patience, model.name)) as source:
                async for chunk in source:
                    came = True
                    yield chunk
            return
        except ProviderError as failure:
            wait = _wait(failure, attempt, jitter())
            if attempt == attempts or wait is None:
                raise
            if on_retry is not None:
                on_retry(Retry(attempt, wait, failure.message, came))
        await sleep(wait)


def _wait(failure: ProviderError, attempt: int, chance: float) -> float | None:
    """Seconds until the next try; None when there must be none."""
    if not failure.retryable:
        return None
    asked = failure.retry_after if isinstance(failure, RateLimited) else None
    if asked is not None:
        return max(0.0, asked) if asked <= LONGEST_WAIT else None
    full = min(LONGEST_WAIT, _FIRST_WAIT * 2.0 ** (attempt - 1))
    return full * (0.5 + chance / 2)


async def _complete(model: ChatModel, request: ModelRequest) -> AsyncIterator[ModelChunk]:
    """The model's chunks. Raises Unavailable when none of them carried a stop."""
    stopped = False
    async with closing(model.stream(request)) as source:
        async for chunk in source:
            stopped = stopped or chunk.stop is not None
            yield chunk
    if not stopped:
        raise Unavailable(f"The answer of {model.name} was cut off.", "Try again.")
