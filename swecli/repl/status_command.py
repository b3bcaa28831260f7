"""The user's command for the status line: it gets the figures as JSON, and the first line that it prints is shown."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from swecli.models.json_value import Json
from swecli.text import one_line

_TIMEOUT = 5.0  # seconds: longer than any command may take that runs after each request
_INTERVAL = 0.3  # seconds between two runs; Claude Code waits as long
_MAX_LINE = 8_192  # bytes; more than any screen is wide, with colours


class StatusCommand:
    """Runs the command in the background, one run at a time; the newest figures win.

    `on_change` is called when `line` has changed, `on_failure` with the reason when it fails for the first time. A run
    that failed leaves `line` empty.
    """

    def __init__(
        self,
        command: str,
        folder: Path,
        environ: Mapping[str, str],
        *,
        on_change: Callable[[], None],
        on_failure: Callable[[str], None],
    ) -> None:
        self.line = ""
        self._command = command
        self._folder = folder
        self._environ = environ
        self._on_change = on_change
        self._on_failure = on_failure
        self._has_failed = False
        self._next: Mapping[str, Json] | None = None
        self._task: asyncio.Task[None] | None = None

    def update(self, figures: Mapping[str, Json]) -> None:
        """Run the command with these figures, now or after the run in progress."""
        self._next = figures
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """End the run in progress."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while self._next is not None:
            figures = self._next
            self._next = None
            try:
                self.line = await self._read_line(json.dumps(figures).encode())
            except (OSError, ValueError, TimeoutError) as error:
                self.line = ""
                self._report(error)
            self._on_change()
            await asyncio.sleep(_INTERVAL)

    def _report(self, error: Exception) -> None:
        if self._has_failed:
            return
        self._has_failed = True
        reason = str(error)
        if isinstance(error, TimeoutError):
            reason = f"it did not end within {_TIMEOUT:g} s"
        self._on_failure(f"status_command failed: {reason}")

    async def _read_line(self, figures: bytes) -> str:
        """Return the first line that a run prints. Raises OSError, TimeoutError, and ValueError if it fails."""
        process = await asyncio.create_subprocess_shell(
            self._command,
            cwd=self._folder,
            env=dict(self._environ),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            start_new_session=True,
        )
        assert process.stdin is not None, "a pipe"
        assert process.stdout is not None, "a pipe"
        assert process.stderr is not None, "a pipe"
        try:
            async with asyncio.timeout(_TIMEOUT):
                printed, complaint, _ = await asyncio.gather(
                    _read_start(process.stdout),
                    _read_start(process.stderr),
                    _feed(process.stdin, figures),
                )
                code = await process.wait()
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if code:
            complaint = one_line(complaint)
            raise ValueError(f"exit code {code}: {complaint}" if complaint else f"exit code {code}")
        return printed.partition("\n")[0]


async def _read_start(stream: asyncio.StreamReader) -> str:
    """Return the beginning of what a stream gives until its end; the rest is dropped."""
    start = b""
    while chunk := await stream.read(_MAX_LINE):
        start = (start + chunk)[:_MAX_LINE]
    return start.decode("utf-8", "replace")


async def _feed(stream: asyncio.StreamWriter, data: bytes) -> None:
    """Write the data; a command need not read it."""
    with suppress(ConnectionError):
        stream.write(data + b"\n")
        await stream.drain()
    stream.close()
