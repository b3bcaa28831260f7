"""Programs in pseudo-terminals, as `pexpect` runs them. swecli is a fork of the spare process, which saves the second
that its imports take; any other command is started."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import pexpect
from ptyprocess import PtyProcess

from tests.support import spare

SWECLI = (sys.executable, "-m", "swecli")
_PATIENCE = 2.0  # seconds that a program gets to end after its terminal is gone


def spawn(
    command: Sequence[str],
    environ: Mapping[str, str],
    rows: int,
    columns: int,
    *,
    as_new_python: bool = False,
) -> pexpect.spawn:
    """Run a command in a pseudo-terminal; `as_new_python`: swecli as a shell starts it, with all its imports."""
    is_swecli = tuple(command[: len(SWECLI)]) == SWECLI
    kind = _Fork if is_swecli and not as_new_python else pexpect.spawn
    process = kind(
        command[0],
        list(command[1:]),
        dimensions=(rows, columns),
        env=dict(environ),
        timeout=None,
    )
    process.delaybeforesend = None  # a pause for programs that ask for passwords
    process.ptyproc.delayafterclose = 0  # a pause for the end of the program, which `end` waits for
    return process


def end(process: pexpect.spawn) -> None:
    """Take the program's terminal away, and kill it if it does not end then."""
    deadline = time.monotonic() + _PATIENCE
    with suppress(ProcessLookupError):
        process.kill(signal.SIGHUP)
    while process.isalive() and time.monotonic() < deadline:
        with suppress(pexpect.TIMEOUT, pexpect.EOF):
            process.read_nonblocking(65536, timeout=0.01)  # it may wait until this is read
    with suppress(pexpect.ExceptionPexpect):  # killed, and on a busy machine not gone yet
        process.close(force=True)


class _Fork(pexpect.spawn):  # type: ignore[misc]  # pexpect has no types
    """swecli as a fork of the spare process."""

    def _spawnpty(
        self,
        args: Sequence[str],
        *,
        env: Mapping[str, str],
        dimensions: tuple[int, int],
        **_: object,
    ) -> PtyProcess:
        rows, columns = dimensions
        return _ForkedProcess(spare.start_in_terminal(args[len(SWECLI) :], env, rows, columns))


class _ForkedProcess(PtyProcess):  # type: ignore[misc]  # as above
    """A process that is no child of this one: a pipe tells how it ended."""

    def __init__(self, run: spare.StartedRun) -> None:
        super().__init__(run.pid, run.files[0])
        self._status_pipe = run.status
        self.exitstatus: int | None

    def isalive(self) -> bool:
        """Return whether the process runs."""
        if self.terminated:
            return False
        # after the end of the output, the end of the process is near
        patience = None if self.flag_eof else 0
        if not select.select([self._status_pipe], [], [], patience)[0]:
            return True
        self._take_status()
        return False

    def wait(self) -> int | None:
        """Wait for the end of the process; return its exit code, None if a signal ended it."""
        if not self.terminated:
            self._take_status()
        return self.exitstatus

    def _take_status(self) -> None:
        with os.fdopen(self._status_pipe, "rb") as pipe:
            self.status = int(pipe.read())
        self.terminated = True
        if os.WIFSIGNALED(self.status):
            self.signalstatus = os.WTERMSIG(self.status)
        else:
            self.exitstatus = os.WEXITSTATUS(self.status)
