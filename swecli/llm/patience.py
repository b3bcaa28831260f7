"""How long a stream may be silent before it counts as stalled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from swecli.models.errors import Unavailable
from swecli.models.message import ModelChunk


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds until the first event, and between two of them; None for ever. Keep-alive comments are no events."""

    first: float | None = 60.0
    quiet: float | None = 90.0


@asynccontextmanager
async def closing(chunks: AsyncIterator[ModelChunk]) -> AsyncIterator[AsyncIterator[ModelChunk]]:
    """Close the stream on the way out, however it ends; a generator left to the collector keeps its connection."""
    try:
        yield chunks
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


async def watched(chunks: AsyncIterator[ModelChunk], patience: Patience, who: str) -> AsyncIterator[ModelChunk]:
    """The same chunks; the stream is closed and the wait ended when nothing comes for too long.

    Raises:
        Unavailable: on a stall; names `who`.
    """
    limit, what = patience.first, "did not begin to answer"
    async with closing(chunks) as source:
        while True:
            try:
                async with asyncio.timeout(limit):
                    chunk = await anext(source, None)
            except TimeoutError:
                raise Unavailable(f"{who} {what} for {limit:g} s.", "Try again, or another model with -m.") from None
            if chunk is None:
                return
            yield chunk
            limit, what = patience.quiet, "stopped in its answer and sent nothing"
