"""Test daemon threads beside the event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from swecli.repl.program import run_in_thread


async def test_a_result_comes_back_to_the_loop() -> None:
    thread = await run_in_thread(threading.current_thread, "worker")
    assert (thread.name, thread.daemon) == ("worker", True)
    assert thread is not threading.current_thread()


async def test_an_exception_comes_back_to_the_loop() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await run_in_thread(fail, "worker")


async def test_whoever_no_longer_waits_is_no_trouble() -> None:
    go = threading.Event()
    future = run_in_thread(go.wait, "worker")
    future.cancel()
    go.set()
    await asyncio.sleep(0.05)
    assert future.cancelled()


def test_a_loop_that_has_gone_is_no_trouble() -> None:
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        done.set()

    async def begin() -> None:
        run_in_thread(work, "worker")

    asyncio.run(begin())
    go.set()
    assert done.wait(5)
