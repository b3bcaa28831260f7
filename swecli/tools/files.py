"""Read and write files of the workspace without following links."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from swecli.folders import walk
from swecli.models.errors import ToolError
from swecli.tools.paths import display_path, is_inside, not_found_error

_MAX_BYTES = 10_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_VOUCHING = ("security.capability", "security.ima", "security.evm", "trusted.")
_NOT_REGULAR = " is not a regular file (a pipe, socket or device). It is not opened."
_PATH_CHANGED = ": a folder or link in its path has changed. It is not followed."
_ERRORS = {errno.ENXIO: _NOT_REGULAR, errno.ELOOP: _PATH_CHANGED, errno.ENOTDIR: _PATH_CHANGED}


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_bytes(root: Path, path: Path, limit: int = _MAX_BYTES) -> bytes:
    """Return the bytes of a regular file at a resolved path. Raises ToolError: the file is missing, not regular, larger
    than `limit`, or cannot be read."""
    with _open_folder(root, path) as folder:
        return _read(root, path, folder, limit)[0]


def write_atomic(
    root: Path, path: Path, data: bytes, expected: str | None, *, within: Path | None = None
) -> bool:
    """Write `data` to a resolved path by a temporary file, fsync and rename; in place if it has other names (hard
    links) that are all in the workspace. Missing folders are created, the mode is kept. `expected` is the digest of the
    present content, None for a new file. `within` is a folder beside the workspace that holds the path; None: none
    does. Returns whether other names were left with the old content. Raises ToolError, and writes nothing, if the file
    differs from that or cannot be written."""
    base = (within or root).resolve()
    with _open_folder(root, path, create=True, base=base) as folder:
        status = _check(root, path, folder, expected)
        has_names = status is not None and status.st_nlink > 1
        if status is not None and has_names and all_names_below(base, status):
            _overwrite(folder, path, data)
            return False
        temporary = f".{path.name[:40]}.{secrets.token_hex(6)}.tmp"
        try:
            _write(folder, temporary, data, status)
            if status is not None:
                copy_attributes(folder, path.name, temporary)
            _check(root, path, folder, expected)  # again, right before the rename
            os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)
        return has_names


def _check(root: Path, path: Path, folder: int, expected: str | None) -> os.stat_result | None:
    name = display_path(root, path)
    try:
        data, status = _read(root, path, folder, _MAX_BYTES)
    except FileNotFoundError:
        if expected is None:
            return None
        raise ToolError(f"{name} was removed since it was read. Nothing was written.") from None
    if expected is None:
        raise ToolError(
            f"{name} was created by another program in the meantime. Nothing was written: read it first."
        )
    if digest(data) != expected:
        raise ToolError(f"{name} changed since it was read. Nothing was written: read it again.")
    if not status.st_mode & 0o222:
        raise ToolError(f"{name} is read-only. Nothing was written.")
    return status


def _read(root: Path, path: Path, folder: int, limit: int) -> tuple[bytes, os.stat_result]:
    name = display_path(root, path)
    handle = os.open(path.name, _FILE, dir_fd=folder)
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise ToolError(f"{name} is a directory. Use list_files to see what is in it.")
        if not stat.S_ISREG(status.st_mode):
            raise ToolError(name + _NOT_REGULAR)
        if status.st_size > limit:
            raise ToolError(
                f"{name} is too large ({status.st_size:,} bytes; at most {limit:,} are read). "
                "Use search_files, or run_command with sed -n, head or tail, for parts of it."
            )
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(), status
    finally:
        os.close(handle)


def _write(folder: int, name: str, data: bytes, old: os.stat_result | None) -> None:
    with os.fdopen(os.open(name, _NEW_FILE, 0o666, dir_fd=folder), "wb") as file:
        if old is not None:
            if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(PermissionError):
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def copy_attributes(folder: int, name: str, new_name: str) -> None:
    """Give the new version of a file the extended attributes of the old one: access control lists, labels and notes.
    Those that vouch for the content go, as they do when it is written in place."""
    if not hasattr(os, "listxattr"):  # Linux only
        return
    with suppress(OSError), _opened(name, folder) as old, _opened(new_name, folder) as new:
        for attribute in os.listxattr(old):
            if not attribute.startswith(_VOUCHING):
                with suppress(OSError):  # another program's, or of another file system
                    os.setxattr(new, attribute, os.getxattr(old, attribute))


@contextmanager
def _opened(name: str, folder: int) -> Iterator[int]:
    handle = os.open(name, _FILE, dir_fd=folder)
    try:
        yield handle
    finally:
        os.close(handle)


def _overwrite(folder: int, path: Path, data: bytes) -> None:
    """Write a file in place. If that fails, as when the disk is full, it gets its content back."""
    handle = os.open(path.name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    with os.fdopen(handle, "r+b", buffering=0) as file:
        before = file.read()
        try:
            write_in_place(handle, data)
        except OSError:
            write_in_place(handle, before)
            raise


def all_names_below(root: Path, status: os.stat_result) -> bool:
    """Return whether all names of a file are below a folder. Another one may be that of a copy that is kept elsewhere,
    as package managers and backups have them."""
    missing_count = status.st_nlink
    for _, entries in walk(str(root)):
        for entry in entries:
            if entry.inode() == status.st_ino and os.path.samestat(
                entry.stat(follow_symlinks=False), status
            ):
                missing_count -= 1
        if not missing_count:
            return True
    return False


def write_in_place(handle: int, data: bytes) -> None:
    """Give an open file this content. Room is taken first, so that a full disk leaves the file as it is."""
    if data and hasattr(os, "posix_fallocate"):  # not on macOS
        try:
            os.posix_fallocate(handle, 0, len(data))
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # not on this file system
                raise
    written_bytes = 0
    while written_bytes < len(data):
        written_bytes += os.pwrite(handle, data[written_bytes:], written_bytes)
    os.ftruncate(handle, len(data))
    os.fsync(handle)


@contextmanager
def _open_folder(
    root: Path, path: Path, *, create: bool = False, base: Path | None = None
) -> Iterator[int]:
    """Yield a descriptor of the folder of `path`, opened one component at a time so that no link can be slipped in,
    from `base` on (None: the workspace, or the root of the disk). Errors of the operating system are raised as
    ToolError."""
    if base is None:
        base = root.resolve() if is_inside(root, path) else Path("/")
    if path == base:
        raise ToolError(
            "This is the workspace itself, a directory. Use list_files to see what is in it."
        )
    try:
        handle = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in path.parent.relative_to(base).parts:
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=handle)
                child = os.open(part, _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = child
            yield handle
        finally:
            os.close(handle)
    except FileNotFoundError as error:
        raise not_found_error(root, path) from error
    except OSError as error:
        reason = _ERRORS.get(error.errno or 0, f": {error.strerror or error}.")
        raise ToolError(f"{display_path(root, path)}{reason}") from error
