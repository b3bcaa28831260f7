"""A folder that belongs to this process: it is removed at its end, or by the next process if it was killed."""

from __future__ import annotations

import fcntl
import os
import tempfile
from pathlib import Path

from swecli.folders import list_entries, remove_tree

_PREFIX = "swecli-session-"


def make_private_folder() -> tuple[Path, int]:
    """Make a folder in the place for temporary files, and remove those whose process has ended without that. Returns it
    with the descriptor by whose lock others know that it is in use. Raises OSError."""
    for entry in list_entries(tempfile.gettempdir()):
        if entry.name.startswith(_PREFIX):
            _remove_unused(entry.path)
    while True:
        folder = tempfile.mkdtemp(prefix=_PREFIX)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.path.isdir(folder):  # noqa: PTH112  another process may have locked and removed it first
            return Path(folder), descriptor
        os.close(descriptor)


def remove_private_folder(folder: Path, descriptor: int) -> None:
    """Remove a folder that `make_private_folder` returned."""
    remove_tree(str(folder))
    os.close(descriptor)


def _remove_unused(folder: str) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:  # it has gone, or is another user's
        return
    try:
        if os.fstat(descriptor).st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_tree(folder)
    except BlockingIOError:  # it is in use
        pass
    finally:
        os.close(descriptor)
