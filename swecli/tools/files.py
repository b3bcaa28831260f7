"""Single files of the workspace: read and written whole or not at all, no link followed; and a file's bytes as text."""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from swecli.tools.base import ToolError
from swecli.tools.paths import display_path, not_found_error

_MAX_BYTES = 10_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_REGULAR = " is not a regular file (a pipe, socket or device). It is left alone."
_ANOTHER_WAY = ": a folder or link on the way is not what it was. It is not followed."
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def digest(data: bytes) -> str:
    """What a file's bytes are remembered by."""
    return hashlib.sha256(data).hexdigest()


def read_bytes(root: Path, path: Path, limit: int = _MAX_BYTES) -> bytes:
    """The bytes of a regular file at a located path. Raises ToolError: it is missing, no regular file, longer than
    `limit`, or may not be read."""
    with _tool_errors(root, path), _folder(root, path.parent) as folder:
        return _read(root, path, folder, limit)[0]


def write_atomic(root: Path, path: Path, data: bytes, expected: str | None) -> None:
    """Put `data` at a located path: temporary file beside it, fsync, rename. Missing folders are made; the mode stays.
    `expected` is the digest the file must still have, None where it must not exist. Raises ToolError: the file is
    not what was expected, or cannot be written; nothing was written."""
    with _tool_errors(root, path), _folder(root, path.parent, make=True) as folder:
        status = _check(root, path, folder, expected)
        temporary = f".{path.name[:40]}.{secrets.token_hex(6)}.tmp"
        try:
            _write(folder, temporary, data, status)
            # looked at again, so that the gap between looking and replacing is as short as it can be
            _check(root, path, folder, expected)
            os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)


def _check(root: Path, path: Path, folder: int, expected: str | None) -> os.stat_result | None:
    name = display_path(root, path)
    try:
        data, status = _read(root, path, folder, _MAX_BYTES)
    except FileNotFoundError:
        if expected is None:
            return None
        raise ToolError(f"{name} was removed since it was read. Nothing was written.") from None
    if expected is None:
        raise ToolError(f"{name} was made by someone else in the meantime. Nothing was written: read it first.")
    if digest(data) != expected:
        raise ToolError(f"{name} changed since it was read. Nothing was written: read it again.")
    if not status.st_mode & 0o222:
        raise ToolError(f"{name} is read-only. Nothing was written.")
    return status


def _read(root: Path, path: Path, folder: int, limit: int) -> tuple[bytes, os.stat_result]:
    handle = os.open(path.name, _FILE, dir_fd=folder)
    try:
        status = os.fstat(handle)
        _refuse_special(display_path(root, path), status, limit)
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(), status
    finally:
        os.close(handle)


def _refuse_special(name: str, status: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{name} is a directory. Use list_files to see what is in it.")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(name + _NOT_REGULAR)
    if status.st_size > limit:
        raise ToolError(
            f"{name} is too large ({status.st_size:,} bytes; at most {limit:,} are read). "
            "Use search_files, or run_command with sed -n, head or tail, for parts of it."
        )


def _write(folder: int, name: str, data: bytes, like: os.stat_result | None) -> None:
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder)
    with os.fdopen(handle, "wb") as file:
        if like is not None:
            if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(PermissionError):
                    os.fchown(handle, like.st_uid, like.st_gid)
            os.fchmod(handle, stat.S_IMODE(like.st_mode))
        file.write(data)
        file.flush()
        os.fsync(handle)


@contextmanager
def _folder(root: Path, path: Path, *, make: bool = False) -> Iterator[int]:
    """A descriptor of a folder beneath `root`, opened one component at a time so that no link can slip in."""
    top = root.resolve()
    handle = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in path.relative_to(top).parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=handle)
            below = os.open(part, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


@contextmanager
def _tool_errors(root: Path, path: Path) -> Iterator[None]:
    """Failures of the operating system as one line the model can act upon."""
    if path == root.resolve():
        raise ToolError("This is the workspace itself, a directory. Use list_files to see what is in it.")
    try:
        yield
    except FileNotFoundError as error:
        raise not_found_error(root, path) from error
    except OSError as error:
        why = {errno.ENXIO: _NOT_REGULAR, errno.ELOOP: _ANOTHER_WAY, errno.ENOTDIR: _ANOTHER_WAY}.get(error.errno or 0)
        raise ToolError(f"{display_path(root, path)}{why or f': {error.strerror or error}.'}") from error


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT = 8192


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file. Bytes that are no valid text stand in it as lone surrogates and come back unharmed."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        """How most of its lines end: "\\n" or "\\r\\n"; "" where it has no line end at all."""
        pairs = self.text.count("\r\n")
        if not pairs:
            return "\n" if "\n" in self.text else ""
        return "\r\n" if pairs * 2 >= self.text.count("\n") else "\n"

    @property
    def clean(self) -> bool:
        """Whether all of its bytes were valid text."""
        return not re.search(r"[\udc80-\udcff]", self.text)

    def encode(self, text: str) -> bytes:
        """Bytes for `text` in this file's encoding, with its mark. Raises ToolError for what cannot be written."""
        errors = "surrogateescape" if self.encoding == "utf-8" and not self.clean else "strict"
        try:
            return self.mark + text.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            letter = ord(text[error.start])
            raise ToolError(f"The text holds a letter that cannot be written to a file (U+{letter:04X}).") from error


def decode(data: bytes) -> TextFile | None:
    """The text in `data`; None where it is binary."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                errors = "surrogateescape" if encoding == "utf-8" else "strict"
                return TextFile(data[len(mark) :].decode(encoding, errors), encoding, mark)
            except UnicodeDecodeError:
                return None
    if b"\0" in data[:_LOOKED_AT]:
        return None
    return TextFile(data.decode("utf-8", "surrogateescape"))


def split_lines(text: str) -> list[str]:
    """Lines without their ends. Only "\\n" and "\\r\\n" end a line; a last line end does not open another line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def escape_invalid_bytes(text: str) -> str:
    """Text fit for a message: bytes that are no valid text written out as `\\xNN`."""
    if text.isascii():
        return text
    return "".join(f"\\x{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else c for c in text)


def encode_like(old: TextFile, content: str) -> bytes:
    """New content for a file that exists, in its encoding and, unless `content` chose its own, its line ends."""
    if old.newline == "\r\n" and "\r\n" not in content:
        content = content.replace("\n", "\r\n")
    return old.encode(content)
