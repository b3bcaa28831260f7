"""Test the queue of typed lines: its order, interrupts, and taking a line back."""

from __future__ import annotations

import asyncio

from swecli.repl.line_queue import LineQueue


async def test_get_returns_lines_in_order_and_waits_for_the_next() -> None:
    queue = LineQueue(["one"])
    assert await queue.get() == "one"
    waiting = asyncio.ensure_future(queue.get())
    await queue.needs_line.wait()
    queue.put("two")
    assert await waiting == "two"


async def test_after_an_interrupt_queued_lines_are_held_and_a_new_line_goes_first() -> None:
    queue = LineQueue(["old"])
    queue.hold()
    queue.put("new")
    assert queue.lines == ("new", "old")
    assert await queue.get() == "new"
    waiting = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.release()
    assert await waiting == "old"


async def test_a_second_interrupt_holds_the_lines_sent_since_the_first() -> None:
    queue = LineQueue(["old"])
    queue.hold()
    queue.put("new")
    queue.hold()
    assert (queue.is_held, queue.lines) == (True, ("new", "old"))


def test_removing_the_last_line_ends_the_hold() -> None:
    queue = LineQueue(["one", "two"])
    queue.hold()
    assert [queue.pop_newest(), queue.pop_newest(), queue.pop_newest()] == ["two", "one", None]
    assert not queue.is_held


def test_an_interrupt_of_an_empty_queue_holds_nothing() -> None:
    queue = LineQueue()
    queue.hold()
    assert not queue.is_held
