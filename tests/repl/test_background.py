"""Work behind the prompt."""

from __future__ import annotations

import asyncio

from swecli.repl.background import Background


async def test_work_goes_on_and_is_waited_for() -> None:
    changes: list[bool] = []
    done: list[str] = []

    async def work(name: str) -> None:
        await asyncio.sleep(0)
        done.append(name)

    behind = Background(lambda error: None, lambda: changes.append(behind.busy))
    behind.start(work("a"))
    behind.start(work("b"))
    assert behind.busy
    await behind.settle()
    assert done == ["a", "b"]
    assert not behind.busy
    assert changes == [True, True, True, False]


async def test_a_failure_is_told_and_hurts_nobody_else() -> None:
    told: list[Exception] = []

    async def fail() -> None:
        raise ValueError("no")

    behind = Background(told.append, lambda: None)
    behind.start(fail())
    await behind.settle()
    assert [str(error) for error in told] == ["no"]


async def test_closing_cancels_what_still_goes_on() -> None:
    cancelled: list[bool] = []

    async def forever() -> None:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    behind = Background(lambda error: None, lambda: None)
    behind.start(forever())
    await asyncio.sleep(0)
    await behind.close()
    assert cancelled == [True]


async def test_closing_does_not_wait_for_what_will_not_stop() -> None:
    let_go = asyncio.Event()

    async def stubborn() -> None:
        while not let_go.is_set():
            try:
                await asyncio.wait_for(let_go.wait(), 5)
            except (asyncio.CancelledError, TimeoutError):
                continue

    behind = Background(lambda error: None, lambda: None)
    behind.start(stubborn())
    await asyncio.sleep(0)
    await behind.close()
    assert behind.busy
    let_go.set()
    await behind.settle()


async def test_what_goes_on_can_be_cancelled_and_the_rest_goes_on() -> None:
    failed: list[Exception] = []
    behind = Background(failed.append, lambda: None)
    behind.start(asyncio.sleep(3600))
    assert await behind.cancel() == 1
    assert not behind.busy
    assert await behind.cancel() == 0
    assert failed == []
