"""Read the small files that a folder brings along: settings, ignore files, instructions, skills, commands. A folder may
come from a stranger, so a pipe, a device or a huge file by such a name neither blocks the program nor fills its
memory."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MAX_BYTES = 1_000_000  # several times the longest of such files that are written by hand


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading, without waiting for another program. Links are followed. Raises OSError, also if it is
    not a regular file."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a regular file. Raises OSError, also if it has more than `limit` bytes."""
    with open_regular(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"Larger than {limit:,} bytes", str(path))
    return data
