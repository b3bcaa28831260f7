"""Run a command line of the user in the foreground of the terminal, as a shell does: its programs have the keys."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from swecli.models.errors import BadInput
from swecli.repl.background import retrieve
from swecli.tools.environment import foreground_environment
from swecli.tools.shell import shell_program
from swecli.tools.user_shell import UserShell

_GRACE = 2.0  # seconds that a program gets to end, as a command of the model gets at its limit
_LOOK = 0.02  # seconds between two looks whether it has ended
Result = TypeVar("Result")
Started = Callable[["subprocess.Popen[bytes]"], None]  # gets the program when it runs


async def wait_for_program(work: Callable[[Started], Result]) -> Result:
    """Run `work` in a thread, which starts a program in the terminal, passes it to its argument and waits for it.
    Cancelling ends the program, by force if it does not end in time. Raises what `work` raises."""
    programs: list[subprocess.Popen[bytes]] = []
    running = asyncio.ensure_future(asyncio.to_thread(work, programs.append))
    running.add_done_callback(retrieve)
    try:
        return await asyncio.shield(running)
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if running.done():
                break
            for program in programs:
                _signal(program, number)
            await asyncio.wait([running], timeout=_GRACE)


def run_in_foreground(
    command: str, folder: Path, environ: Mapping[str, str], started: Started
) -> int:
    """Run a command line in the user's shell and return its exit code. It has the terminal, and gets its signals alone;
    one that is stopped is ended. Call it in a thread. Raises BadInput if it cannot be started."""
    shell = UserShell.find(environ, folder, shell_program())
    terminal = sys.stdin.fileno()
    settings = termios.tcgetattr(terminal)
    try:
        process = subprocess.Popen(
            [shell.program, "-c", command],
            cwd=folder,
            env=foreground_environment(environ),
            process_group=0,
        )
    except (OSError, ValueError) as error:
        raise BadInput(f"The command could not be started: {error}.") from error
    started(process)
    # a process in the background may not move the terminal, unless it does not hear that
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        with suppress(OSError):  # it has ended already
            os.tcsetpgrp(terminal, process.pid)
            os.killpg(process.pid, signal.SIGCONT)  # it may have asked for the terminal before
        return _wait(process)
    finally:
        with suppress(OSError, termios.error):  # the terminal is closed
            os.tcsetpgrp(terminal, os.getpgrp())
            termios.tcsetattr(terminal, termios.TCSADRAIN, settings)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTTOU})


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code, that of a shell for one that a signal has ended."""
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        # Ctrl+Z: there is no shell here in which it could be continued
        status = _end(process)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    return code if code >= 0 else 128 - code


def _end(process: subprocess.Popen[bytes]) -> int:
    """End a program that is stopped, by force if it does not end in time, and return its status."""
    _signal(process, signal.SIGTERM)
    kill_at = time.monotonic() + _GRACE
    while time.monotonic() < kill_at:
        pid, status = os.waitpid(process.pid, os.WNOHANG)
        if pid:
            return status
        time.sleep(_LOOK)
    _signal(process, signal.SIGKILL)
    return os.waitpid(process.pid, 0)[1]


def _signal(program: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a program, and to its group if it has one of its own; one that is stopped continues."""
    with suppress(OSError):
        if os.getpgid(program.pid) == program.pid:
            os.killpg(program.pid, number)
            os.killpg(program.pid, signal.SIGCONT)
        else:
            os.kill(program.pid, number)
