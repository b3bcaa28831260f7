"""Versions of workspace files: scans that read only files with a changed stat, and a content-addressed, compressed,
size-limited store of their contents in a folder beside the database."""

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

from swecli.folders import list_entries, make_folders, walk
from swecli.store.undo_records import FileState
from swecli.tools.base import ToolError
from swecli.tools.files import all_names_below, copy_attributes, write_in_place
from swecli.tools.searching import files_below

_MAX_FILES = 50_000  # of one scan
_MAX_BYTES = 300_000_000  # of new contents in one scan
_LIST_TIMEOUT = 20.0  # seconds
_MAX_FILE_BYTES = 10_000_000
PRUNED = "its earlier version was removed to save space"
NOT_STORED = "?"  # prefix of the digest of a content that is not stored
_DAY = 86_400  # seconds
_MAX_AGE = 30 * _DAY
_MAX_STORE_BYTES = 1_000_000_000
_RACY = 50_000_000  # ns: a file changed so shortly before it was read may change again within one tick of its clock
_CLOCK_TICK = (
    10_000_000  # ns that the clock of files may lie behind: one tick of a kernel with 100 Hz
)
_MAX_IGNORED = 20_000  # ignored files and folders whose times are read after a command: some 50 ms
_SAVE_INTERVAL = 200  # file reads between two writes of the index
_NO_STAMP = (0, 0, 0, 0, 0)

_Index = dict[str, tuple[tuple[int, ...], FileState]]  # stat stamp and state by path


class FileVersions:
    """Scans the files below `root` and stores their contents in `folder`. Paths with a prefix in `folders_of_swecli`
    are skipped; `environ` is the environment of child processes.

    `notices` are lines for the user on files that are not covered. `is_complete` is False if the last scan was cut off.
    """

    def __init__(
        self,
        root: Path,
        folder: Path,
        environ: Mapping[str, str] | None,
        folders_of_swecli: Sequence[str] = (),
        *,
        max_files: int = _MAX_FILES,
        max_bytes: int = _MAX_BYTES,
    ) -> None:
        self._max_files = max_files  # of one scan
        self._max_bytes = max_bytes  # of new contents in one scan
        self.root = root
        self.folder = folder
        self.environ = environ
        self._folders_of_swecli = tuple(folders_of_swecli)
        self.notices: list[str] = []
        self.is_complete = True
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        self._index = folder / f"{name}.index"
        self._states = _Index()  # of the last scan
        self._unsaved = 0  # file reads since the index was written
        self._room = self._max_bytes  # for new contents in this scan
        self._ignored_left = 0  # of those that may be looked at
        # found in the last scan; the folders among them have no other files
        self._ignored: list[str] = []

    def is_inside(self, path: str) -> bool:
        """Return whether a path is in the workspace."""
        return Path(path).is_relative_to(self.root)

    def scan(self) -> dict[str, FileState]:
        """Return the state of every path that is not ignored, and store the contents of changed files.

        May run in any thread. Never raises OSError: the digest of a file that is not stored begins with NOT_STORED.
        """
        started = time.time_ns()
        earlier_states = self._states or self._load_index()
        states = _Index()
        self._room = self._max_bytes
        for path in self._paths():
            try:
                status = os.lstat(path)
            except OSError:  # removed since the listing
                continue
            stamp = (
                status.st_mode,
                status.st_size,
                status.st_mtime_ns,
                status.st_ctime_ns,
                status.st_ino,
            )
            earlier = earlier_states.get(path)
            if earlier is not None and earlier[0] == stamp:
                states[path] = earlier
                continue
            self._unsaved += 1
            state = self._state(path, status)
            if state.mode:
                is_settled = started - max(status.st_mtime_ns, status.st_ctime_ns) > _RACY
                states[path] = (stamp if is_settled else _NO_STAMP, state)
        self._states = states
        if self._unsaved > _SAVE_INTERVAL:
            self._unsaved = 0
            self._save_index()
        return {path: state for path, (_, state) in states.items()}

    def ignored_changed_since(self, moment: int) -> list[str]:
        """Return those of the ignored files and folders that were changed since a moment, in ns since 1970. A folder
        stands for all below it; of these, and of all together, only a part is looked at where there are very many."""
        self._ignored_left = _MAX_IGNORED
        changed_paths = [path for path in self._ignored if self._has_changed(path, moment)]
        return [path for path in changed_paths if not path.startswith(self._folders_of_swecli)]

    def _has_changed(self, path: str, moment: int) -> bool:
        """Return whether an ignored path, or anything below it, was changed since a moment."""
        pending = [path]
        while pending and self._ignored_left > 0:
            self._ignored_left -= 1
            below = pending.pop()
            try:
                status = os.lstat(below)
            except OSError:
                continue
            if max(status.st_mtime_ns, status.st_ctime_ns) >= moment - _CLOCK_TICK:
                return True
            if stat.S_ISDIR(status.st_mode):
                pending += [entry.path for entry in list_entries(below)]
        return False

    def read_state(self, path: str) -> FileState:
        """Return the state of one path, and store its content. Never raises OSError."""
        self._room = self._max_bytes
        try:
            return self._state(path, os.lstat(path))
        except (OSError, ValueError):
            return FileState()

    def keep(self, data: bytes) -> str:
        """Store a content, and return its digest. Raises OSError."""
        return self._store(data)

    def load(self, digest: str) -> bytes | None:
        """Return a stored content, or None if it was pruned or is damaged."""
        try:
            data = zlib.decompress(self._path(digest).read_bytes())
        except (OSError, zlib.error):
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def restore(self, path: Path, state: FileState) -> None:
        """Give a path this state, unless it is that of a missing file. Raises OSError."""
        if not state.mode:
            return
        make_folders(str(path.parent))
        if stat.S_ISDIR(state.mode):
            path.mkdir(exist_ok=True)
            path.chmod(stat.S_IMODE(state.mode))
        elif (data := self.load(state.digest)) is None:
            raise OSError(0, PRUNED)
        else:
            _replace_file(path, data, state.mode, self.root)

    def warn(self, line: str) -> None:
        """Add a notice, once."""
        if line not in self.notices:
            self.notices.append(line)

    def touch(self, digest: str) -> None:
        """Mark a content as used, so that it is pruned later."""
        with suppress(OSError):
            os.utime(self._path(digest))

    def prune(self) -> None:
        """Once a day, remove contents that are too old, and the oldest ones above the size limit, with a notice."""
        stamp = self.folder / "pruned"
        now = time.time()
        if stamp.exists() and now - stamp.stat().st_mtime < _DAY:
            return
        removed = self._remove_old(now)
        if removed:
            # the indexes refer to removed contents
            for index in self.folder.glob("*.index"):
                index.unlink(missing_ok=True)
        with suppress(OSError):
            self._write(stamp, b"")
        if removed:
            self.warn(
                f"removed {removed / 1e6:,.1f} MB of the oldest file versions: undo cannot restore them"
            )

    def _remove_old(self, now: float) -> int:
        """Remove contents by age and by the store's size, the oldest first. Returns the removed bytes."""
        versions = [(path.stat(), path) for path in self.folder.glob("??/*")]
        total = 0
        removed = 0
        for status, path in sorted(versions, key=lambda version: -version[0].st_mtime):
            total += status.st_size
            if total > _MAX_STORE_BYTES or now - status.st_mtime > _MAX_AGE:
                path.unlink(missing_ok=True)
                removed += status.st_size
        return removed

    def _paths(self) -> Iterator[str]:
        """Yield the files that are not ignored, their folders, the symbolic links in these, and empty folders."""
        root = str(self.root)
        names = self._list_files()
        folders = {""}
        for name in names:
            folder = name
            while (folder := folder.rpartition("/")[0]) not in folders:
                folders.add(folder)
        paths = [f"{root}/{name}" for name in (*names, *(folders - {""}))]
        listed = set(paths)
        self._ignored = []
        for folder in folders:
            for entry in list_entries(f"{root}/{folder}".rstrip("/")):
                if entry.is_symlink():
                    paths.append(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    below_root = entry.path[len(root) + 1 :]
                    if below_root not in folders:
                        empty = _empty_tree(entry.path)
                        paths += empty
                        if not empty and entry.name != ".git":
                            self._ignored.append(entry.path)
                elif entry.path not in listed:
                    self._ignored.append(entry.path)
        if not self.is_complete:  # what was left out may not be ignored
            self._ignored = []
        return (path for path in paths if not path.startswith(self._folders_of_swecli))

    def _list_files(self) -> list[str]:
        """Return the files that are not ignored, at most as many as a scan covers; sets `is_complete`."""
        self.is_complete = False
        if not self.root.is_dir():  # which the call itself reports
            return []
        try:
            names = files_below(self.root, ".", self.environ, _LIST_TIMEOUT)
        except (ToolError, OSError) as error:
            self.warn(f"changes of commands cannot be undone: {error}")
            return []
        self.is_complete = len(names) <= self._max_files
        if not self.is_complete:
            self.warn(
                f"more than {self._max_files:,} files: changes of commands in the others cannot be undone"
            )
        return names[: self._max_files]

    def _state(self, path: str, status: os.stat_result) -> FileState:
        """Return the state of a file, folder or link; anything else counts as absent."""
        mode = status.st_mode
        not_stored = f"{NOT_STORED}{status.st_size}-{status.st_mtime_ns}"
        if stat.S_ISDIR(mode):
            return FileState("", mode)
        try:
            if stat.S_ISLNK(mode):
                target = os.readlink(path)  # noqa: PTH115  a Path would normalise it
                return FileState(self._store(os.fsencode(target)), mode)
            if not stat.S_ISREG(mode):
                return FileState()
            if status.st_size > _MAX_FILE_BYTES:
                return FileState(not_stored, mode)
            if status.st_size > self._room:
                self.warn(
                    f"more than {self._max_bytes / 1e6:,.0f} MB of new contents: the other files cannot be restored"
                )
                return FileState(not_stored, mode)
            self._room -= status.st_size
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(handle, "rb") as file:
                return FileState(self._store(file.read(_MAX_FILE_BYTES)), mode)
        except FileNotFoundError:
            return FileState()
        except PermissionError:
            return FileState(not_stored, mode)
        except OSError as error:
            self.warn(f"cannot store file versions in {self.folder}: {error.strerror or error}")
            return FileState(not_stored, mode)

    def _store(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        try:
            os.utime(self._path(digest))
        except FileNotFoundError:
            self._write(self._path(digest), zlib.compress(data, 1))
        return digest

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest[2:]

    def _write(self, path: Path, data: bytes) -> None:
        """Write a file atomically, readable for this user only. Raises OSError; then nothing has changed."""
        for folder in (self.folder, path.parent):
            if not folder.exists():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace_file(path, data, 0o600)

    def _save_index(self) -> None:
        rows = {
            path: (stamp, (state.digest, state.mode))
            for path, (stamp, state) in self._states.items()
        }
        with suppress(OSError):  # the index is only a cache
            self._write(self._index, json.dumps(rows).encode())

    def _load_index(self) -> _Index:
        with suppress(OSError, ValueError, TypeError):
            rows = json.loads(self._index.read_bytes())
            return {
                path: (tuple(stamp), FileState(*state)) for path, (stamp, state) in rows.items()
            }
        return _Index()


def _replace_file(path: Path, data: bytes, mode: int, root: Path | None = None) -> None:
    """Replace a path atomically by a file with these bytes, or by a link to that target; a file with other names (hard
    links), all of them below `root`, gets them in place. Raises OSError."""
    if stat.S_ISREG(mode) and root is not None and _has_other_names(path, root):
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            write_in_place(handle, data)
            os.fchmod(handle, stat.S_IMODE(mode))
        finally:
            os.close(handle)
        return
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        if stat.S_ISLNK(mode):
            temporary.symlink_to(os.fsdecode(data))
        else:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                os.fchmod(handle, stat.S_IMODE(mode))
            _copy_attributes(path, temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _copy_attributes(path: Path, temporary: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        copy_attributes(folder, path.name, temporary.name)
    finally:
        os.close(folder)


def _has_other_names(path: Path, root: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    is_linked = stat.S_ISREG(status.st_mode) and status.st_nlink > 1
    return is_linked and all_names_below(root, status)


def _empty_tree(folder: str) -> list[str]:
    """Return a folder and all below it if they contain nothing but folders, else []."""
    folders = []
    for below, entries in walk(folder):
        if not all(entry.is_dir(follow_symlinks=False) for entry in entries):
            return []
        folders.append(below)
    return folders
