"""The processes of this machine, as tests look for them."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path


def processes_running(words: str) -> list[int]:
    """Return the processes with these words in their command line, in a sandbox or not."""
    running: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        with suppress(OSError):
            if words.encode() in (entry / "cmdline").read_bytes():
                running.append(int(entry.name))
    return running


def none_is_left(words: str) -> bool:
    """Return True if, within ten seconds, no process has these words in its command line: the kernel ends what is in
    a sandbox a moment after the sandbox."""
    for _ in range(500):
        if not processes_running(words):
            return True
        time.sleep(0.02)
    return False
