"""Connect to the first address of a host that answers, in the way of RFC 8305 ("Happy Eyeballs")."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar


class _Connection(Protocol):
    async def aclose(self) -> None: ...


_Made = TypeVar("_Made", bound=_Connection)

_ATTEMPT_DELAY = 0.25  # seconds; the Connection Attempt Delay that RFC 8305 recommends


async def connect_to_first(
    addresses: Sequence[str], connect: Callable[[str], Awaitable[_Made]]
) -> _Made:
    """Return the connection to the address that answers first. The next one of the addresses, of which there is at
    least one, is tried when an earlier one has failed, or after a moment without an answer: an address that never
    answers takes no time from the others. Raises the last error if all fail."""
    untried = list(addresses)
    attempts: set[asyncio.Task[_Made]] = set()
    try:
        while True:
            if untried:
                attempts.add(asyncio.create_task(_attempt(connect, untried.pop(0))))
            ended, _ = await asyncio.wait(
                attempts,
                timeout=_ATTEMPT_DELAY if untried else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for attempt in ended:
                attempts.remove(attempt)
                error = attempt.exception()
                if error is None:
                    return attempt.result()
                if not attempts and not untried:
                    raise error
    finally:
        await _give_up(attempts)


async def _attempt(connect: Callable[[str], Awaitable[_Made]], address: str) -> _Made:
    return await connect(address)


async def _give_up(attempts: set[asyncio.Task[_Made]]) -> None:
    """End attempts, and close the connections that some of them have made in the meantime."""
    if not attempts:
        return
    for attempt in attempts:
        attempt.cancel()
    await asyncio.wait(attempts)
    for attempt in attempts:
        if attempt.cancelled() or attempt.exception():
            continue
        with suppress(OSError):
            await attempt.result().aclose()
