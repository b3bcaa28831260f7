"""Test the user's command for the status line, with real processes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from swecli.repl.status_command import StatusCommand


class Shown:
    """What a status command shows and complains about."""

    def __init__(self, command: str, folder: Path) -> None:
        self.complaints: list[str] = []
        self.lines: list[str] = []
        self._changed = asyncio.Event()
        self.command = StatusCommand(
            command, folder, os.environ, on_change=self._show, on_failure=self.complaints.append
        )

    def _show(self) -> None:
        self.lines.append(self.command.line)
        self._changed.set()

    async def update(self, **figures: object) -> str:
        """Give it figures and return the line that follows."""
        self._changed.clear()
        self.command.update(figures)
        await asyncio.wait_for(self._changed.wait(), 20)
        return self.command.line


def _command_line(process: int) -> str:
    """Return the command line of a process, "" once it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


async def test_it_gets_the_figures_as_json_and_its_first_line_is_shown(tmp_path: Path) -> None:
    program = "import json,sys; print(json.load(sys.stdin)['model'], 'here'); print('second')"
    shown = Shown(f'python3 -c "{program}"', tmp_path)
    assert await shown.update(model="gpt", cost=None) == "gpt here"
    await shown.command.close()


async def test_a_command_that_reads_nothing_and_prints_much_is_fine(tmp_path: Path) -> None:
    shown = Shown("echo first; head -c 1000000 /dev/zero | tr '\\0' 'x'", tmp_path)
    assert await shown.update(title="y" * 200_000) == "first"
    assert shown.complaints == []
    await shown.command.close()


async def test_its_failure_is_said_once_and_its_line_is_dropped(tmp_path: Path) -> None:
    shown = Shown("test -e ok && echo fine || { echo no such thing >&2; exit 3; }", tmp_path)
    assert await shown.update() == ""
    assert await shown.update() == ""
    assert shown.complaints == ["status_command failed: exit code 3: no such thing"]
    (tmp_path / "ok").touch()
    assert await shown.update() == "fine"
    await shown.command.close()


async def test_only_the_newest_figures_count_while_a_run_is_in_progress(tmp_path: Path) -> None:
    shown = Shown("sleep 0.2; cat | tee -a seen", tmp_path)
    first = asyncio.ensure_future(shown.update(turns=1))
    await asyncio.sleep(0)
    for turns in range(2, 10):
        shown.command.update({"turns": turns})
    await first
    assert await shown.update(turns=10) == '{"turns": 10}'
    assert (tmp_path / "seen").read_text().splitlines() == ['{"turns": 9}', '{"turns": 10}']
    await shown.command.close()


@pytest.mark.slow
async def test_a_command_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    shown = Shown("sleep 3217 & echo $! > pid; wait", tmp_path)
    assert await shown.update() == ""
    assert shown.complaints == ["status_command failed: it did not end within 5 s"]
    child = int((tmp_path / "pid").read_text())
    async with asyncio.timeout(20):
        while _command_line(child):
            await asyncio.sleep(0.02)
    await shown.command.close()


async def test_closing_ends_a_run(tmp_path: Path) -> None:
    shown = Shown("sleep 3217", tmp_path)
    shown.command.update({})
    await asyncio.sleep(0.1)
    await shown.command.close()
    assert shown.lines == []
