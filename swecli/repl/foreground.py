"""Run a command line of the user in the foreground of the terminal, as a shell does: its programs have the keys."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import termios
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from swecli.models.errors import BadInput
from swecli.tools.environment import foreground_environment
from swecli.tools.shell import shell_program
from swecli.tools.user_shell import UserShell


def run_in_foreground(command: str, folder: Path, environ: Mapping[str, str]) -> int:
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
    while True:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            break
        # Ctrl+Z: there is no shell here in which it could be continued
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGTERM)
            os.killpg(process.pid, signal.SIGCONT)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    return code if code >= 0 else 128 - code
