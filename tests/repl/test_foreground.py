"""Test programs that have the terminal."""

from __future__ import annotations

import asyncio
import os
import subprocess

import pytest

from swecli.repl.foreground import Started, wait_for_program
from tests.support.processes import none_is_left, processes_running


@pytest.mark.parametrize("group", [None, 0], ids=["in our group", "in its own"])
async def test_a_program_ends_with_what_waits_for_it(group: int | None) -> None:
    seconds = f"300.{os.getpid()}"

    def run(started: Started) -> int:
        program = subprocess.Popen(["sleep", seconds], process_group=group)
        started(program)
        return program.wait()

    waiting = asyncio.create_task(wait_for_program(run))
    while not processes_running(seconds):
        await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert none_is_left(seconds)
