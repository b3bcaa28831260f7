"""Which sessions are open in a program now, as locks on files beside the database: they end with their process, however
it ends."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

_PLACES = 2**62  # bytes that can be locked, far beyond the end of an empty file


class SessionPresence:
    """That this process has a session open: it holds a lock on one byte of the session's file in `folder`, at a place
    that no other process has. Another one has it open while any other byte is locked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._place = 1 + secrets.randbelow(_PLACES)
        self._session = ""  # the one that is open, "" for none
        self._handle: int | None = None  # of its file; None where files cannot be locked

    def enter(self, session_id: str) -> None:
        """Have a session open, in place of the one before."""
        if session_id == self._session:
            return
        self.leave()
        self._session = session_id
        with suppress(OSError):  # a disk that is read-only or knows no locks
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._handle = self._lock()

    def _lock(self) -> int:
        """Open the file, lock the byte, and return the handle. Raises OSError."""
        while True:
            handle = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                fcntl.lockf(handle, fcntl.LOCK_EX, 1, self._place)
                is_there = _is_at(handle, self._path)
            except BaseException:
                os.close(handle)
                raise
            if is_there:
                return handle
            os.close(handle)  # whoever left meanwhile has removed it

    @property
    def _path(self) -> Path:
        # an imported session's id may be anything
        return self._folder / hashlib.sha256(self._session.encode()).hexdigest()[:32]

    def is_other_there(self, session_id: str) -> bool:
        """Return whether another process has that session open."""
        if session_id == self._session:
            return self.is_elsewhere() is True
        visitor = SessionPresence(self._folder)
        visitor.enter(session_id)
        is_there = visitor.is_elsewhere() is True
        visitor.leave()
        return is_there

    def is_elsewhere(self) -> bool | None:
        """Return whether another process has the session open; None if that cannot be known."""
        if self._handle is None:
            return None
        is_elsewhere = not self._lock_the_others(self._handle)
        self._unlock_the_others(self._handle)
        return is_elsewhere

    def _lock_the_others(self, handle: int) -> bool:
        """Lock all bytes but our own. Returns False if another process holds one."""
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, self._place, 0)
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 0, self._place + 1)
        except OSError:
            return False
        return True

    def _unlock_the_others(self, handle: int) -> None:
        fcntl.lockf(handle, fcntl.LOCK_UN, self._place, 0)
        fcntl.lockf(handle, fcntl.LOCK_UN, 0, self._place + 1)

    def leave(self) -> None:
        """Have no session open. The last one to leave removes the file."""
        if self._handle is not None:
            with suppress(OSError):
                if self._lock_the_others(self._handle):
                    self._path.unlink(missing_ok=True)
            os.close(self._handle)  # releases the locks
        self._handle = None
        self._session = ""


def _is_at(handle: int, path: Path) -> bool:
    """Return whether the open file is the one at the path."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    opened = os.fstat(handle)
    return (opened.st_dev, opened.st_ino) == (there.st_dev, there.st_ino)
