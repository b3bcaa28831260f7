"""Which sessions are open in a program now, as locks on files beside the database: they end with their process, however
it ends."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from contextlib import suppress
from pathlib import Path

_BYTES = 2**62  # that can be locked, far beyond the end of an empty file


class SessionPresence:
    """Shows other processes which session this one has open: it holds a lock on one byte of the session's file in
    `folder`, which is another byte in each process. Another process has the session open while any other byte is
    locked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._byte = 1 + secrets.randbelow(_BYTES)
        self._session = ""  # the one that is open, "" for none
        self._handle: int | None = None  # of its file; None where files cannot be locked

    def enter(self, session_id: str) -> None:
        """Open a session, in place of the one before."""
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
                fcntl.lockf(handle, fcntl.LOCK_EX, 1, self._byte)
                is_current = _is_at(handle, self._path)
            except BaseException:
                os.close(handle)
                raise
            if is_current:
                return handle
            os.close(handle)  # whoever left meanwhile has removed it

    @property
    def _path(self) -> Path:
        # an imported session's id may be anything
        return self._folder / hashlib.sha256(self._session.encode()).hexdigest()[:32]

    def is_open_elsewhere(self, session_id: str) -> bool:
        """Return whether another process has that session open."""
        if session_id == self._session:
            return self.is_elsewhere() is True
        visitor = SessionPresence(self._folder)
        visitor.enter(session_id)
        is_elsewhere = visitor.is_elsewhere() is True
        visitor.leave()
        return is_elsewhere

    def is_elsewhere(self) -> bool | None:
        """Return whether another process has the session open too; None where files cannot be locked, or if none is
        open here."""
        if self._handle is None:
            return None
        is_elsewhere = not self._lock_the_others(self._handle)
        self._unlock_the_others(self._handle)
        return is_elsewhere

    def _lock_the_others(self, handle: int) -> bool:
        """Lock all bytes but our own. Returns False if another process holds one."""
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, self._byte, 0)
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 0, self._byte + 1)
        except OSError:
            return False
        return True

    def _unlock_the_others(self, handle: int) -> None:
        fcntl.lockf(handle, fcntl.LOCK_UN, self._byte, 0)
        fcntl.lockf(handle, fcntl.LOCK_UN, 0, self._byte + 1)

    def leave(self) -> None:
        """Close the session. The last process to leave removes the file."""
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
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
