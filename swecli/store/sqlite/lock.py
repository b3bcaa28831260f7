"""One writer at a time among our own processes, where SQLite's own locks do not do. Importable without SQLModel."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from swecli.models.errors import StoreError
from swecli.store.sqlite.errors import BUSY_LINES

BUSY_SECONDS = 10.0


def has_wal_reset_bug(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> bool:
    """Whether this SQLite can damage a WAL database when one connection commits while another checkpoints."""
    fixed_in = {(3, 44): 6, (3, 50): 7}
    return version < (3, 51, 3) and version[2] < fixed_in.get((version[0], version[1]), 1000)


class WriterLock:
    """A lock beside the database that lets one of our processes write at a time, where SQLite's own is not enough.

    SQLite versions with the WAL-reset bug are safe in WAL only while no commit runs beside a checkpoint of another
    connection. The way round it by DELETE journals needs the first process to leave WAL when a second one comes,
    and SQLite refuses that for as long as the first has the file open, which is until it ends. So on those versions
    commits and the checkpoints that follow them are made one after the other, under this lock; the database stays
    in WAL. Where the file system has no such locks, `works` is False and DELETE journals are used from the start.
    """

    def __init__(self, database: Path) -> None:
        self._file = os.open(f"{database}-lock", os.O_CREAT | os.O_RDWR, 0o600)
        self.works = True
        try:
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(self._file, fcntl.LOCK_UN)
        except BlockingIOError:
            pass  # another holds it: it works
        except OSError:
            self.works = False

    @contextmanager
    def held(self, patience: float = BUSY_SECONDS) -> Iterator[None]:
        """Hold it. Raises StoreError after that many seconds of waiting."""
        if not self.works:
            yield
            return
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    raise StoreError(*BUSY_LINES) from None
                time.sleep(0.002)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give it up."""
        os.close(self._file)
