"""What a command in the sandbox may use up (processes, open files, the size of a file), and how it is told so."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Sequence
from pathlib import Path

_PROCESSES = 4_915  # what systemd allows a service: 15 % of 32,768 (DefaultTasksMax)
_OPEN_FILES = 65_535  # what Elasticsearch demands, the most that a common program does
_PART_OF_FREE = 2  # one file may take half of what is free: no single one fills the disk
_BLOCK = 512  # bytes, the unit of `ulimit -f` (POSIX)

# In a shell that then becomes the command: the kernel counts processes anew in a sandbox, and compares that only with a
# limit that is set there (root has none). `-p` is the name in dash; bash has it for another limit, which is fixed.
# Memory has no limit, since programs reserve much more than they use; where none is left the kernel ends the command.
_SCRIPT = (
    "echo 1000 > /proc/self/oom_score_adj; ulimit -c 0; ulimit -f {blocks}; ulimit -Sn {soft}; ulimit -Hn {hard}; "
    '{{ ulimit -u {processes} || ulimit -p {processes}; }} 2>/dev/null; exec "$@"'
)

_BY_SIGNAL = (
    128 + signal.SIGXFSZ
)  # the exit code of a program that the kernel ended for the size of a file

# How programs report a limit: the words and names of the system's errors, and those of Python for threads.


def _words(number: int) -> tuple[str, str]:
    return os.strerror(number), errno.errorcode[number]


_SIGNS = {
    f"{_PROCESSES:,} processes and threads at once": (
        *_words(errno.EAGAIN), "can't start new thread",
    ),
    f"{_OPEN_FILES:,} open files in a process": _words(errno.EMFILE),
    "half of the free disk for one file": (*_words(errno.EFBIG), "File size limit exceeded"),
}  # fmt: skip


def with_limits(root: Path, argv: Sequence[str]) -> list[str]:
    """Return how to start a program with the limits. Half of what is free is that of the disk of `root`."""
    status = os.statvfs(root)
    free = status.f_bavail * status.f_frsize
    soft, hard = (
        _lower(limit, _OPEN_FILES) for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    script = _SCRIPT.format(
        blocks=free // _PART_OF_FREE // _BLOCK, soft=soft, hard=hard, processes=_PROCESSES
    )
    return ["/bin/sh", "-c", script, "sh", *argv]


def reached_limits(output: str, code: int) -> str:
    """Return a line about the limits that a failed command seems to have reached, "" if it reports none. `code` is the
    exit code."""
    if code == _BY_SIGNAL:
        output += os.strerror(errno.EFBIG)
    names = [name for name, signs in _SIGNS.items() if any(sign in output for sign in signs)]
    return f"[a limit of the sandbox may be the reason: {', '.join(names)}]" if names else ""


def _lower(current: int, limit: int) -> int:
    return limit if current == resource.RLIM_INFINITY else min(current, limit)
