"""Test how a sent line is printed above the input line."""

from __future__ import annotations

import asyncio
import re

import pytest
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.utils import get_cwidth

from tests.support.typist import ResizableOutput, Typist
from tests.support.virtual_time import run_virtually


class _RecordingOutput(ResizableOutput):
    """An output that keeps what is printed above the input line too."""

    def write_raw(self, data: str) -> None:
        self.written += data


def rows_of(line: str, columns: int) -> list[str]:
    """Return the rows of the echo of a line in a terminal of that width."""

    async def echo() -> str:
        with create_pipe_input() as pipe:
            output = _RecordingOutput()
            output.columns = columns
            typist = Typist(pipe, output, color="off")
            running = asyncio.ensure_future(typist.prompt.run())
            await asyncio.sleep(0.1)
            output.written = ""
            typist.prompt.echo(line)
            await asyncio.sleep(0.1)
            written = output.written
            typist.prompt.end()
            await running
            return written

    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r", "", run_virtually(echo()))
    rows = plain.split("\n")
    first = next(number for number, row in enumerate(rows) if row.startswith("> "))
    return [row for row in rows[first:] if row.strip()]


@pytest.mark.parametrize(
    "line",
    [
        "Look around in this repository and write an AGENTS.md for somebody who is new to it",
        "    indented by four, and long enough to need a second row",
        "日本語の 文章は 一つの 文字が 二つの 桁を 使います から 長い",
    ],
)
def test_a_long_line_is_broken_between_words(line: str) -> None:
    rows = rows_of(line, 30)
    shown = [row for row in rows if row.startswith(("> ", "  "))]
    assert all(get_cwidth(row) <= 30 for row in shown)
    assert " ".join(row[2:].strip() for row in shown).startswith(line.strip())
