"""Programs that wait for the keys of a terminal where there is none. Most give up when their input is empty; an editor
such as vim then takes its error output for the keyboard, as a terminal is both, and waits until it is ended."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

from swecli.descendants import Process, list_processes

_FIRST_LOOK = 0.5  # seconds, as long as a program needs to draw its screen
_LONGEST_PAUSE = 2.0  # seconds between two looks, each of which reads the process table


async def wait_for_keyless(pid: int) -> str:
    """Return the name of a program that waits for keys, which is this process or a descendant, once there is one. On
    other systems than Linux there never is."""
    pause = _FIRST_LOOK
    while True:
        await asyncio.sleep(pause)
        for process in _family(pid):
            if _takes_output_for_keyboard(process.pid):
                return process.name
        pause = min(2 * pause, _LONGEST_PAUSE)


def _family(pid: int) -> list[Process]:
    """Return a process and its descendants."""
    table = list_processes()
    family = [process for process in table if process.pid == pid]
    for process in family:  # the list grows meanwhile
        family += [child for child in table if child.parent == process.pid]
    return family


def _takes_output_for_keyboard(pid: int) -> bool:
    """Return whether the standard input of a process is the pipe of its error output, which it can only write to, so
    that no key ever comes."""
    descriptors = Path(f"/proc/{pid}/fd")
    try:
        can_read = (descriptors / "0").lstat().st_mode & stat.S_IRUSR
        given = (descriptors / "0").stat()
        errors = (descriptors / "2").stat()
    except OSError:  # it has ended, has closed one of them, or is another user's
        return False
    return not can_read and stat.S_ISFIFO(given.st_mode) and os.path.samestat(given, errors)
