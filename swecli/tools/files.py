"""Files of the workspace: resolve paths, tell which ones need approval, read and write without following links."""

from __future__ import annotations

import codecs
import difflib
import errno
import hashlib
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from pathspec import GitIgnoreSpec

from swecli.text import escape_hidden
from swecli.tools.base import ToolError
from swecli.tools.limits import one_line


def resolve_path(root: Path, text: str) -> Path:
    """Return the real path of `text`, with every link followed; it need not exist. Relative paths start at `root`;
    absolute ones must be inside it. Raises ToolError: the path or a link leaves the workspace, or it is not a path."""
    if not text.strip():
        raise ToolError("The path is empty.", "Give one relative to the workspace.")
    if "\0" in text:
        raise ToolError("The path contains a NUL character.")
    if text == "~" or text.startswith("~/"):
        raise ToolError("~ is not expanded here.", "Give a path relative to the workspace.")
    top = root.resolve()
    try:
        os.fsencode(text)
        path = _follow(top, Path("/") if text.startswith("/") else top, text)
    except (OSError, UnicodeEncodeError) as error:
        raise ToolError(
            f"{one_line(text)}: {getattr(error, 'strerror', None) or 'not a usable path'}."
        ) from error
    if not path.is_relative_to(top):
        raise ToolError(
            f"{one_line(text)} is outside the workspace.", f"Only paths inside {top} can be used."
        )
    return path


def _follow(top: Path, position: Path, text: str) -> Path:
    """Return the real path of `text` below `position`, which is one. Each part is looked up once."""
    for part in text.split("/"):
        if part in ("", "."):
            continue
        if position.exists() and not position.is_dir():
            raise ToolError(f"{escape_hidden(str(position), keep='')} is not a directory.")
        if part == "..":
            position = position.parent
            continue
        step = position / part
        if not step.is_symlink():
            position = step
            continue
        position = Path(os.path.realpath(step))
        if position.is_symlink():
            raise ToolError(f"{escape_hidden(str(step), keep='')} is a symbolic link to itself.")
        if step.is_relative_to(top) and not position.is_relative_to(top):
            raise ToolError(
                f"{display_path(top, step)} is a link out of the workspace.",
                "It is not followed.",
            )
    return position


def relative_path(root: Path, path: Path) -> str:
    """Return a resolved path relative to the workspace, with `/`; "." for the workspace itself."""
    return path.relative_to(root.resolve()).as_posix()


def display_path(root: Path, path: Path) -> str:
    """Return a resolved path relative to the workspace, with hidden characters escaped."""
    return escape_hidden(relative_path(root, path), keep="")


def not_found_error(root: Path, path: Path) -> ToolError:
    """Return the error for a path that does not exist, with similar names nearby."""
    top, folder = root.resolve(), path.parent
    while not folder.is_dir() and folder.parent.is_relative_to(top):
        folder = folder.parent
    names = dict[str, str]()
    with suppress(OSError):
        names = {
            name.lower(): name for name in sorted(entry.name for entry in folder.iterdir())[:5000]
        }
    wanted = path.relative_to(folder).parts[0].lower()
    near = [names[name] for name in difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)]
    hint = (
        f" Near names: {', '.join(display_path(root, folder / name) for name in near)}."
        if near
        else ""
    )
    return ToolError(f"{display_path(root, path)} does not exist.{hint}")


_SENSITIVE_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud"})
_SENSITIVE_FILES = re.compile(
    r"\.env(?:[._-].*|rc)?|.*\.(?:env|pem|key|p12|pfx|jks|keystore|ppk|kdbx|tfstate|tfvars)|id_(?:rsa|dsa|ecdsa|ed25519)|"
    r"[._]netrc|\.(?:npmrc|pypirc|pgpass|my\.cnf|git-credentials|htpasswd|vault-token)|credentials(?:\..*)?|"
    r".*[_-]credentials\.json|client_secret.*\.json|service[_-]account.*\.json|secrets\.(?:json|ya?ml|toml)",
    re.DOTALL,
)
_TEMPLATES = (".env.example", ".env.sample", ".env.template", ".env.dist")


def is_sensitive(path: str) -> bool:
    """Return whether this workspace-relative path may contain secrets, so that every mode asks before it is read."""
    *folders, name = normalize(path).split("/")
    secret_name = name not in _TEMPLATES and _SENSITIVE_FILES.fullmatch(name) is not None
    return secret_name or not _SENSITIVE_FOLDERS.isdisjoint(folders)


def read_guard(path: str) -> str:
    """Return why every mode asks before reading this workspace-relative path; "" if none does."""
    return f"{escape_hidden(path, keep='')} may contain secrets" if is_sensitive(path) else ""


def write_guard(path: str) -> str:
    """Return why every mode asks before writing to this workspace-relative path; "" if none does."""
    if not (why := read_guard(path)) and _is_protected(path):
        shown = escape_hidden(path, keep="")
        return f"{shown} is protected: what is written there can start programs or change settings"
    return why


def protected_part(path: str) -> str:
    """Return the shortest leading part of a workspace-relative path that `write_guard` protects, "" if none is."""
    parts = path.split("/")
    leading = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    return next((part for part in leading if _is_protected(part)), "")


@lru_cache(maxsize=10_000)  # of the many files of a folder, each asks about the same folders
def _is_protected(path: str) -> bool:
    return _protected().match_file(normalize(path))


@cache
def _protected() -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines(_protected_lines())


def protected_patterns() -> list[str]:
    """Return the patterns of protected files, without the exceptions from them."""
    return [line for line in _protected_lines() if line and line[0] not in "#!"]


def _protected_lines() -> list[str]:
    return Path(__file__).with_name("protected.txt").read_text(encoding="utf-8").splitlines()


def normalize(path: str) -> str:
    """Return the path without case and invisible characters, as some file systems compare names."""
    if path.isascii() and path.isprintable():  # a search compares thousands of names
        return path.lower()
    plain = unicodedata.normalize("NFKC", path)
    return "".join(
        char for char in plain if unicodedata.category(char) not in ("Cf", "Cc")
    ).casefold()


_MAX_BYTES = 10_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
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


def write_atomic(root: Path, path: Path, data: bytes, expected: str | None) -> None:
    """Write `data` to a resolved path by a temporary file, fsync and rename. Missing folders are created, the mode is
    kept. `expected` is the digest of the present content, None for a new file. Raises ToolError, and writes nothing, if
    the file differs from that or cannot be written."""
    with _open_folder(root, path, create=True) as folder:
        status = _check(root, path, folder, expected)
        temporary = f".{path.name[:40]}.{secrets.token_hex(6)}.tmp"
        try:
            _write(folder, temporary, data, status)
            _check(root, path, folder, expected)  # again, right before the rename
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


@contextmanager
def _open_folder(root: Path, path: Path, *, create: bool = False) -> Iterator[int]:
    """Yield a descriptor of the folder of `path`, opened one component at a time so that no link can be slipped in.
    Errors of the operating system are raised as ToolError."""
    top = root.resolve()
    if path == top:
        raise ToolError(
            "This is the workspace itself, a directory. Use list_files to see what is in it."
        )
    try:
        handle = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in path.parent.relative_to(top).parts:
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
        why = _ERRORS.get(error.errno or 0, f": {error.strerror or error}.")
        raise ToolError(f"{display_path(root, path)}{why}") from error


_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file. Undecodable bytes are lone surrogates, and written back unchanged."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        """The line end of most lines, "\\n" or "\\r\\n"; "" if the text has none."""
        pairs, ends = self.text.count("\r\n"), self.text.count("\n")
        return ("\r\n" if pairs * 2 >= ends else "\n") if ends else ""

    @property
    def is_valid(self) -> bool:
        """Whether all bytes could be decoded."""
        return not re.search(r"[\udc80-\udcff]", self.text)

    def encode(self, text: str) -> bytes:
        """Return `text` in this file's encoding, with its byte order mark. Raises ToolError if it cannot be encoded."""
        errors = "surrogateescape" if self.encoding == "utf-8" and not self.is_valid else "strict"
        try:
            return self.mark + text.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            letter = ord(text[error.start])
            raise ToolError(
                f"The text contains a character that files cannot hold (U+{letter:04X})."
            ) from error


def decode(data: bytes) -> TextFile | None:
    """Return the text of `data`, or None if it is binary."""
    mark, encoding = next(
        (pair for pair in _BYTE_ORDER_MARKS if data.startswith(pair[0])), (b"", "utf-8")
    )
    if not mark and b"\0" in data[:8192]:
        return None
    try:
        text = data[len(mark) :].decode(
            encoding, "surrogateescape" if encoding == "utf-8" else "strict"
        )
    except UnicodeDecodeError:
        return None
    return TextFile(text, encoding, mark)


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends. Only "\\n" and "\\r\\n" end a line; there is no empty line after the
    last."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines
