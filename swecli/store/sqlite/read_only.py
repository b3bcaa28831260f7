"""A database that can only be read: on a read-only disk, or in a folder or file that somebody else owns."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

JOURNALS = ("-wal", "-journal")


def only_readable(path: Path) -> bool:
    """Whether the file is there and SQLite could not write it, or no journal beside it."""
    return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK))


def has_journal(path: Path) -> bool:
    """Whether some of its content still lies in a journal beside it."""
    journals = (Path(f"{path}{side}") for side in JOURNALS)
    return any(journal.exists() and journal.stat().st_size for journal in journals)


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """A copy with its journals in a folder of its own, which goes with the block. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="swecli-") as folder:
        copy = Path(folder, path.name)
        for side in ("", *JOURNALS):
            if Path(f"{path}{side}").exists():
                shutil.copyfile(f"{path}{side}", f"{copy}{side}")
        yield copy
