"""Run a line of shell in the sandbox that was chosen for it, or without one, and collect its output as text."""

from __future__ import annotations

import asyncio
import codecs
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from swecli.tools.base import ToolContext, ToolError
from swecli.tools.jobs import Watch
from swecli.tools.limits import HeadTail
from swecli.tools.processes import ProcessExit, run_group
from swecli.tools.run_inside import run_inside

# Makes bash write the code of each program of its last pipeline to a pipe when it ends.
_REPORT_PIPELINE = 'trap \'printf "%s " "${{PIPESTATUS[@]}}" >&{pipe}\' EXIT; '
_BASH = "/bin/bash"
_MAX_CODES = 4096  # bytes read of them
_INTERVAL = 0.05  # seconds
_MAX_PENDING = 16_000  # characters


class OutputThrottle:
    """Throttles output to twenty reports a second; of a flood only the newest part is reported."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._pending = ""
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, text: str) -> None:
        """Add output. Must run inside the event loop."""
        pending = self._pending + text
        self._pending = (
            pending if len(pending) <= _MAX_PENDING else "[…]\n" + pending[-_MAX_PENDING:]
        )
        loop = asyncio.get_running_loop()
        if loop.time() >= self._last + _INTERVAL:
            self.flush()
        elif self._timer is None:
            # report the rest without waiting for more output
            self._timer = loop.call_at(self._last + _INTERVAL, self.flush)

    def flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._last = asyncio.get_running_loop().time()
        if self._pending:
            text = self._pending
            self._pending = ""
            self._report(text)


def shell_program() -> str:
    """Return the path of the shell that runs commands."""
    return _BASH if Path(_BASH).exists() else "/bin/sh"


async def run_shell(
    command: str,
    timeout: float | None,
    env: Mapping[str, str],
    ctx: ToolContext,
    output: HeadTail,
    throttle: OutputThrottle | None = None,
    *,
    watch: Watch | None = None,
) -> ProcessExit:
    """Run the command; its output goes to `output` and `throttle`. `watch` is that of a background command. Raises
    ToolError if it cannot be started."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(data: bytes) -> None:
        text = decoder.decode(data)
        output.add(text)
        if throttle is not None:
            throttle.add(text)

    own = ctx.commands.user_shell
    shell = shell_program() if own is None else own.program
    reading, writing = os.pipe()
    try:
        # the exit code of `pytest | tail` is that of tail, so a pipeline also reports the others
        own_codes = Path(shell).name == Path(_BASH).name and "|" in command
        script = _REPORT_PIPELINE.format(pipe=writing) + command if own_codes else command
        argv = [shell, "-c", script]
        descriptors = (writing,) if own_codes else ()
        if ctx.commands.sandbox is not None and ctx.commands.profile is not None:
            end = await run_inside(
                ctx.commands.sandbox,
                ctx.guard.allowing(ctx.commands.allowed),
                ctx.commands.profile,
                argv,
                env=env,
                timeout=timeout,
                on_output=take,
                pass_fds=descriptors,
                watch=watch,
            )
        else:
            with _open_keyboard(ctx) as keyboard:
                run = partial(run_group, argv)
                if own is not None:
                    terminal = os.devnull if keyboard is None else os.ttyname(keyboard)
                    run = partial(own.run, script, terminal=terminal)
                end = await run(
                    cwd=ctx.root,
                    env=env,
                    timeout=timeout,
                    on_output=take,
                    pass_fds=descriptors,
                    stdin=asyncio.subprocess.DEVNULL if keyboard is None else keyboard,
                )
        return replace(end, pipeline=_read_codes(reading, end.code))
    except (OSError, UnicodeEncodeError) as error:
        raise ToolError(f"The command could not be started: {error}.") from error
    finally:
        os.close(reading)
        os.close(writing)
        output.add(decoder.decode(b"", final=True))


def _open_keyboard(ctx: ToolContext) -> AbstractContextManager[int | None]:
    """Return the terminal that a command line of the user gets, None for others."""
    keyboard = ctx.commands.keyboard
    return nullcontext() if keyboard is None else keyboard.open()


def _read_codes(pipe: int, code: int) -> tuple[int, ...]:
    """Read the codes that `_REPORT_PIPELINE` wrote; () if there are none or the shell went on after the pipeline."""
    os.set_blocking(pipe, False)
    try:
        codes = tuple(map(int, os.read(pipe, _MAX_CODES).split()))
    except (BlockingIOError, ValueError):
        return ()
    return codes if len(codes) > 1 and codes[-1] == code else ()
