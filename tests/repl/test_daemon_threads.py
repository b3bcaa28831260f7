"""Test daemon threads beside the event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from swecli.repl.program import run_in_thread


async def test_the_function_runs_in_a_named_daemon_thread_and_its_result_is_returned() -> None:
    thread = await run_in_thread(threading.current_thread, "worker")
    assert (thread.name, thread.daemon) == ("worker", True)
    assert thread is not threading.current_thread()


async def test_an_exception_of_the_thread_is_raised_in_the_loop() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await run_in_thread(fail, "worker")


async def test_the_result_for_a_cancelled_future_is_discarded() -> None:
    go = threading.Event()
    future = run_in_thread(go.wait, "worker")
    future.cancel()
    go.set()
    await asyncio.sleep(0.05)
    assert future.cancelled()


def test_a_thread_ends_without_error_after_its_loop_is_closed() -> None:
    go, done = threading.Event(), threading.Event()

    def work() -> None:
        go.wait()
        done.set()

    async def begin() -> None:
        run_in_thread(work, "worker")

    asyncio.run(begin())
    go.set()
    assert done.wait(5)
