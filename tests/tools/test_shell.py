"""Test throttling output to a rate that a screen can follow."""

from __future__ import annotations

import asyncio

from swecli.tools.shell import OutputThrottle


async def test_throttled_output_is_complete_and_in_order() -> None:
    chunks: list[str] = []
    reporter = OutputThrottle(chunks.append)
    for number in range(100):
        reporter.add(f"{number}\n")
    reporter.add("")
    reporter.flush()
    assert "".join(chunks) == "".join(f"{number}\n" for number in range(100))
    assert len(chunks) < 20


async def test_waiting_output_is_reported_without_further_output() -> None:
    chunks: list[str] = []
    reporter = OutputThrottle(chunks.append)
    reporter.add("first")
    reporter.add("second")
    while len(chunks) < 2:
        await asyncio.sleep(0.01)
    assert chunks == ["first", "second"]


async def test_of_a_flood_of_output_the_newest_part_is_reported() -> None:
    chunks: list[str] = []
    reporter = OutputThrottle(chunks.append)
    reporter.add("start\n")
    for _ in range(100):
        reporter.add("x" * 10_000)
    reporter.add("end")
    reporter.flush()
    assert chunks[0] == "start\n"
    assert chunks[-1].startswith("[…]\n")
    assert chunks[-1].endswith("end")
    assert sum(map(len, chunks)) < 100_000
