"""Test the prompt of a terminal without a cursor."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest

from swecli.repl.input.dumb_prompt import DumbPrompt
from tests.support.runtime import make_start


async def test_the_prompt_does_not_read_keys_typed_into_a_running_editor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read, write = os.pipe()
    with os.fdopen(read) as keyboard, os.fdopen(write, "w") as typed:
        monkeypatch.setattr(sys, "stdin", keyboard)
        prompt = DumbPrompt(Mock(), make_start())
        asyncio.get_running_loop().add_reader(read, prompt._read)
        typed.write("for the editor\n")
        typed.flush()
        await prompt.open_editor({"EDITOR": "true"}, Path("a.py"), 3)
        left = os.read(read, 100)
        asyncio.get_running_loop().remove_reader(read)
    assert left == b"for the editor\n"


async def test_a_notice_stands_below_the_prompt_and_the_prompt_below_the_notice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read, write = os.pipe()
    program = Mock()
    program.queue.needs_line.wait = AsyncMock()
    with os.fdopen(read) as keyboard, os.fdopen(write, "w"):
        monkeypatch.setattr(sys, "stdin", keyboard)
        prompt = DumbPrompt(program, make_start())
        reading = asyncio.create_task(prompt._submit_lines())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        prompt.write("! learning failed\n")
        reading.cancel()
        await asyncio.wait([reading])
    assert capsys.readouterr().out == "> \n! learning failed\n> "
