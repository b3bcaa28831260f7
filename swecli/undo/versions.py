"""What the files of a workspace are and were: the tree as it is now, looked at cheaply and read only where it changed,
and contents by their digests, compressed and bounded, in a folder beside the database."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from swecli.store.records import FileState
from swecli.tools.base import ToolError
from swecli.tools.searching import files_below

MOST_FILES, MOST_BYTES = 50_000, 300_000_000  # of one scan: files, and new contents
_SECONDS = 20.0  # for listing them
_LARGEST = 10_000_000  # bytes of one file that is kept
UNKEPT = "?"  # before what a content is known by that is not kept
_ON_DISK, _DAYS, _DAY = 1_000_000_000, 30, 86_400
_RACY = 50_000_000  # ns: a file changed so shortly before it was read may change again within one tick of its clock
_SAVED_AFTER = 200  # files that were read since the index was written
_NO_STAMP = (0, 0, 0, 0, 0)

_Known = dict[str, tuple[tuple[int, ...], FileState]]  # by path, with what tells that it changed


class FileVersions:
    """The files below `root` now, and what is kept of them in `folder`. Paths that begin as one of `own` are left out;
    `environ` is what programs are started in.

    `notices` are lines for the user on what is not covered, each once. `whole` is False where the last scan ended
    before it had seen all.
    """

    def __init__(self, root: Path, folder: Path, environ: Mapping[str, str] | None, own: Sequence[str] = ()) -> None:
        self.root, self.folder, self.environ, self._own = root, folder, environ, tuple(own)
        self.notices: dict[str, None] = {}
        self.whole, self._unsaved = True, 0
        name = hashlib.sha256(str(root).encode("utf-8", "replace")).hexdigest()[:16]
        self._index, self._known, self._room = folder / f"{name}.index", _Known(), MOST_BYTES

    def scan(self) -> dict[str, FileState]:
        """Every path that the ignore rules do not leave out, with its state; contents are kept as they are read.

        Any thread. Never raises OSError: what cannot be read or kept has a state that says so.
        """
        begun, known, fresh = time.time_ns(), self._known or self._load(), _Known()
        self._room = MOST_BYTES
        for path in self._paths():
            try:
                status = os.lstat(path)
            except OSError:  # gone since
                continue
            stamp = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            if (before := known.get(path)) is not None and before[0] == stamp:
                fresh[path] = before
                continue
            self._unsaved += 1
            if (state := self._state(path, status)).mode:
                fresh[path] = (stamp if begun - max(stamp[2:4]) > _RACY else _NO_STAMP, state)
        self._known = fresh
        if self._unsaved > _SAVED_AFTER:
            self._unsaved = 0
            rows = {path: (stamp, (state.digest, state.mode)) for path, (stamp, state) in fresh.items()}
            with suppress(OSError):  # it only saves another process reading them again
                self._write(self._index, json.dumps(rows).encode())
        return {path: state for path, (_, state) in fresh.items()}

    def state(self, path: str) -> FileState:
        """What is at one path now, its content kept. Never raises OSError."""
        self._room = MOST_BYTES
        try:
            return self._state(path, os.lstat(path))
        except (OSError, ValueError):
            return FileState()

    def get(self, digest: str) -> bytes | None:
        """A content that was kept; None where it is not there any more, or damaged."""
        try:
            data = zlib.decompress(self._path(digest).read_bytes())
        except (OSError, zlib.error):
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def touch(self, digest: str) -> None:
        """Note that a content is in use."""
        with suppress(OSError):
            os.utime(self._path(digest))

    def prune(self) -> None:
        """Once a day remove what was not used for long, and the oldest of what is too much; a notice says so."""
        stamp, now = self.folder / "pruned", time.time()
        if stamp.exists() and now - stamp.stat().st_mtime < _DAY:
            return
        total, gone, kept = 0, 0, [(path.stat(), path) for path in self.folder.glob("??/*")]
        for status, path in sorted(kept, key=lambda one: -one[0].st_mtime):
            total += status.st_size
            if total > _ON_DISK or now - status.st_mtime > _DAYS * _DAY:
                path.unlink(missing_ok=True)
                gone += status.st_size
        for index in self.folder.glob("*.index") if gone else ():  # they name contents that are gone
            index.unlink(missing_ok=True)
        with suppress(OSError):
            self._write(stamp, b"")
        if gone:
            line = f"{gone / 1e6:,.1f} MB of file versions were removed, those not used for longest"
            self.notices[f"{line}: undo cannot bring them back"] = None

    def _paths(self) -> Iterator[str]:
        """Files that the ignore files do not leave out, with their folders, the links in these, and empty folders."""
        top, names, self.whole = str(self.root), list[str](), False
        try:
            names = files_below(self.root, ".", self.environ, _SECONDS)
            self.whole = len(names) <= MOST_FILES
        except ToolError as error:
            self.notices[f"what commands change is not kept for an undo: {error}"] = None
        if len(names) > MOST_FILES:
            self.notices[f"of more than {MOST_FILES:,} files here, what commands change in the rest is not kept"] = None
        folders = {""}
        for name in names[:MOST_FILES]:
            folder = name
            while (folder := folder.rpartition("/")[0]) not in folders:
                folders.add(folder)
        found = [f"{top}/{name}" for name in (*names[:MOST_FILES], *(folders - {""}))]
        for folder in folders:
            for entry in _entries(f"{top}/{folder}".rstrip("/")):
                if entry.is_symlink():
                    found.append(entry.path)
                elif entry.is_dir(follow_symlinks=False) and entry.path[len(top) + 1 :] not in folders:
                    found += _hollow(entry.path)
        return (path for path in found if not path.startswith(self._own) and self._nameable(path))

    def _state(self, path: str, status: os.stat_result) -> FileState:
        """Of what is neither file, folder nor link: as if nothing were there, it is left alone."""
        mode, unkept = status.st_mode, f"{UNKEPT}{status.st_size}-{status.st_mtime_ns}"
        if stat.S_ISDIR(mode):
            return FileState("", mode)
        try:
            if stat.S_ISLNK(mode):
                target = os.readlink(path)  # noqa: PTH115  as it is written: a Path tidies it
                return FileState(self._put(os.fsencode(target)), mode)
            if not stat.S_ISREG(mode):
                return FileState()
            if status.st_size > _LARGEST:
                return FileState(unkept, mode)
            if status.st_size > self._room:
                self.notices[f"of more than {MOST_BYTES / 1e6:,.0f} MB at once, the rest of the files is not kept"] = (
                    None
                )
                return FileState(unkept, mode)
            self._room -= status.st_size
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                return FileState(self._put(file.read(_LARGEST)), mode)
        except FileNotFoundError:
            return FileState()
        except PermissionError:
            return FileState(unkept, mode)
        except OSError as error:
            self.notices[f"file versions cannot be kept in {self.folder}: {error.strerror or error}"] = None
            return FileState(unkept, mode)

    def _nameable(self, path: str) -> bool:
        try:
            path.encode()
        except UnicodeEncodeError:
            self.notices["files whose names are not UTF-8 are not kept: undo leaves them alone"] = None
            return False
        return True

    def _put(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        try:
            os.utime(self._path(digest))  # in use
        except FileNotFoundError:
            self._write(self._path(digest), zlib.compress(data, 1))
        return digest

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest[2:]

    def _write(self, path: Path, data: bytes) -> None:
        """Put a whole file there, for this user alone. Raises OSError; then nothing has changed."""
        for folder in (self.folder, path.parent):
            if not folder.exists():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, data, 0o600)

    def _load(self) -> _Known:
        with suppress(OSError, ValueError, TypeError):
            rows = json.loads(self._index.read_bytes())
            return {path: (tuple(stamp), FileState(*state)) for path, (stamp, state) in rows.items()}
        return _Known()


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Put a file, or a link that leads to `data`, in the place of what is there, whole or not. Raises OSError."""
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        if stat.S_ISLNK(mode):
            temporary.symlink_to(os.fsdecode(data))
        else:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                os.fchmod(handle, stat.S_IMODE(mode))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _hollow(folder: str) -> list[str]:
    """A folder with those below it, where none of them holds anything else; otherwise nothing."""
    found = [folder]
    for entry in _entries(folder):
        below = _hollow(entry.path) if entry.is_dir(follow_symlinks=False) else []
        if not below:
            return []
        found += below
    return found


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []
