"""Processes that this program starts: what they may see of it, and what they leave behind. The kernel's help is
Linux's; on other systems nothing here has an effect."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from swecli.values import dataclass

_PROC = Path("/proc")
_STATUS_BYTES = 4096  # a line has some 50 numbers
_SET_DUMPABLE = 4  # these two from <linux/prctl.h>
_SET_CHILD_SUBREAPER = 36
_VARIABLE = "SWECLI_COMMAND"  # it holds the id of the command that a process belongs to
_numbers = itertools.count(1)
_running: set[str] = set()  # the ids of commands that have not ended


@cache
def hide_environment() -> None:
    """Close `/proc/PID/environ` and the memory of this process to other processes of the same user: the keys that a
    child's environment leaves out are still there. A process with CAP_SYS_PTRACE, as root has it, can read them."""
    _prctl(_SET_DUMPABLE, 0)


@cache
def adopt_orphans() -> None:
    """Become the parent of every descendant whose parent ends, in place of the init process."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if not sys.platform.startswith("linux"):
        return
    with suppress(ImportError, OSError, AttributeError):  # a Python may be built without ctypes
        # late: 3 ms, which the first screen and the first request do not wait for
        import ctypes

        ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3)


@dataclass(frozen=True, slots=True)
class Process:
    """A line of the process table. `session` and `group` are the numbers that setsid(2) and setpgid(2) set."""

    pid: int
    name: str
    is_zombie: bool
    parent: int
    group: int
    session: int

    def __str__(self) -> str:
        return f"{self.name} (process {self.pid})"

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if that is possible."""
        with suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, number)

    def variable(self, name: str) -> str:
        """Return a variable of the environment it was started with; "" if it has none or cannot be read."""
        with suppress(OSError):
            for entry in (_PROC / str(self.pid) / "environ").read_bytes().split(b"\0"):
                entry_name, _, value = entry.partition(b"=")
                if entry_name == name.encode():
                    return os.fsdecode(value)
        return ""


def list_processes() -> list[Process]:
    """Return the process table; empty on other systems than Linux."""
    if not sys.platform.startswith("linux"):
        return []
    processes = []
    for name in os.listdir(_PROC):  # noqa: PTH208  texts are quicker: each command looks at every process
        if name.isdecimal():
            with suppress(OSError, IndexError, ValueError):
                processes.append(_parse(_read_status(name)))
    return processes


def _read_status(pid: str) -> bytes:
    """Return the line of a process. Raises OSError."""
    descriptor = os.open(f"{_PROC}/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _STATUS_BYTES)
    finally:
        os.close(descriptor)


def reap_group(group: int) -> None:
    """Reap what has ended of a process group and became a child of this process. Its first process must have been
    waited for."""
    with suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            continue


def _parse(line: bytes) -> Process:
    """Parse `/proc/PID/stat`: number, name in parentheses, state, parent, group, session (proc_pid_stat(5))."""
    start, _, rest = line.rpartition(b")")
    pid, _, name = start.partition(b" (")
    state, parent, group, session = rest.split()[:4]
    return Process(
        pid=int(pid),
        name=name.decode("utf-8", "replace"),
        is_zombie=state in (b"Z", b"X"),
        parent=int(parent),
        group=int(group),
        session=int(session),
    )


def count_switches(pid: int) -> int:
    """Return how often the threads of a process have been scheduled, which stays the same while it only waits. -1 if
    that is not known, as on other systems than Linux."""
    total = -1
    for path in _PROC.glob(f"{pid}/task/*/status"):
        with suppress(OSError):
            for name, _, value in (line.partition(":") for line in path.read_text().splitlines()):
                if name.endswith("voluntary_ctxt_switches"):
                    total = max(total, 0) + int(value)
    return total


class Leftovers:
    """What a command leaves behind: its processes that have left its process group, and so would outlive it. They are
    children of this process as soon as the command has ended, because this process adopts orphans."""

    def __init__(self, command_id: str) -> None:
        self._command_id = command_id
        children = [child for child in list_processes() if child.parent == os.getpid()]
        self._children_before = {child.pid for child in children}

    def mark(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for the command: while it runs, its orphans are known by it as not another's."""
        return {**environ, _VARIABLE: self._command_id}

    def find(self) -> list[Process]:
        """Return what is running of the command after its first process has ended, and reap what is not."""
        table = list_processes()
        remaining = [process for process in table if self._is_adopted(process)]
        for process in remaining:  # the list grows meanwhile
            remaining += [child for child in table if child.parent == process.pid]
        running = []
        for process in remaining:
            if not process.is_zombie:
                running.append(process)
            elif process.parent == os.getpid():
                with suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)
        return running

    def _is_adopted(self, process: Process) -> bool:
        """Return whether a process became this one's child by the death of its parent. This program starts its own
        children in its session, or with the mark of a command that is running."""
        if process.parent != os.getpid() or process.session == os.getsid(0):
            return False
        if process.pid in self._children_before:
            return False
        command_id = process.variable(_VARIABLE)
        return command_id == self._command_id or command_id not in _running


@contextmanager
def leftovers() -> Iterator[Leftovers]:
    """Watch for what a command leaves behind, from before its start to its end."""
    adopt_orphans()
    command_id = f"{os.getpid()}.{next(_numbers)}"
    _running.add(command_id)
    try:
        yield Leftovers(command_id)
    finally:
        _running.discard(command_id)
