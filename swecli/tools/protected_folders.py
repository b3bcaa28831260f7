"""Find the folders and links of a workspace that commands may not change, by their names and at any depth."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from swecli.folders import walk
from swecli.tools.base import ToolError
from swecli.tools.sensitive import is_protected_name

_SECONDS = 20.0  # as long as the listing of files may take
# What lies at the top of an environment: https://docs.python.org/3/library/venv.html, and conda's.
_OF_ENVIRONMENTS = frozenset({"pyvenv.cfg", "conda-meta"})

FileIdentity = tuple[int, int]  # device and inode


@dataclass(frozen=True, slots=True)
class ProtectedFolders:
    """Absolute paths in the workspace. `links` have protected names, with the text that each of them holds."""

    folders: tuple[str, ...]
    links: tuple[tuple[str, str], ...]


def find_protected_folders(root: Path) -> ProtectedFolders:
    """Return the outermost folders that are protected, or are the environment of an interpreter, and the links with
    protected names. No list of what is worth showing leaves any out. Raises ToolError if it takes too long."""
    folders: list[str] = []
    links: list[tuple[str, str]] = []
    until = time.monotonic() + _SECONDS
    for folder, entries in walk(str(root)):
        if time.monotonic() > until:
            raise ToolError(f"Looking through the folders took longer than {_SECONDS:g} s.")
        if _OF_ENVIRONMENTS.intersection(entry.name for entry in entries):
            if folder != str(root):
                folders.append(folder)
                entries.clear()
                continue
            folders += [f"{folder}/{name}" for name in ("bin", "lib")]
        entries[:] = [one for one in entries if one.is_symlink() or one.is_dir()]
        for entry in [one for one in entries if is_protected_name(one.name)]:
            entries.remove(entry)
            if not entry.is_symlink():
                folders.append(entry.path)
                continue
            with suppress(OSError):
                links.append((entry.path, os.readlink(entry.path)))  # noqa: PTH115  its text
    return ProtectedFolders(tuple(folders), tuple(links))


def linked_places(root: Path, links: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield the real paths in the workspace to which links lead, but for those that hold the whole workspace."""
    for path, _ in links:
        target = Path(os.path.realpath(path))
        if target.is_relative_to(root) and target != root and os.path.lexists(target):
            yield str(target)


def restore_links(root: Path, links: tuple[tuple[str, str], ...]) -> list[str]:
    """Put back the links that a command has replaced, since no mount protects a link. What it put in place of one is
    kept beside it. Returns a line for each."""
    lines = []
    for path, text in links:
        with suppress(OSError):
            if _has_text(path, text):
                continue
            kept = _put_back(root, Path(path), text)
            name = os.path.relpath(path, root)
            moved = f"; what replaced it is {kept}" if kept else ""
            lines.append(f"{name} is the link to {text} again{moved}")
    return lines


def restore_moved(
    root: Path, before: Mapping[str, FileIdentity | None], now: Iterable[str]
) -> list[str]:
    """Put back the protected files and folders that a command has moved away, with a folder above them, to put others
    in their place. These are kept beside them. `before` tells which file each path led to; `now` are the paths that are
    protected after the command. Returns a line for each."""
    places = {identify(path): path for path in now}
    lines = []
    for path, identity in before.items():
        moved_to = places.get(identity) if identity else None
        if moved_to is None or moved_to == path or not os.path.lexists(path):
            continue
        with suppress(OSError):
            kept = _put_back(root, Path(path), Path(moved_to))
            name = os.path.relpath(path, root)
            lines.append(f"{name} is in its place again; what replaced it is {kept}")
    return lines


def identify(path: str) -> FileIdentity | None:
    """Return what tells a file or folder from every other one, None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _has_text(path: str, text: str) -> bool:
    try:
        return os.readlink(path) == text  # noqa: PTH115  a Path would normalise it
    except OSError:  # something else, or nothing
        return False


def _put_back(root: Path, path: Path, original: Path | str) -> str:
    """Put a file or folder that now lies elsewhere in its place again, or make a link with a text anew. Returns the
    relative path under which what was there is kept, "" if nothing was. Raises OSError, also if a folder on the way has
    become a link: what lies behind it is no business of the command."""
    kept = ""
    with _opened(root, path.parent) as folder:
        if os.path.lexists(path):
            kept = _free_name(path)
            os.rename(path.name, kept, src_dir_fd=folder, dst_dir_fd=folder)
        if isinstance(original, str):
            os.symlink(original, path.name, dir_fd=folder)
        else:
            with _opened(root, original.parent) as source:
                os.rename(original.name, path.name, src_dir_fd=source, dst_dir_fd=folder)
    return os.path.relpath(path.with_name(kept), root) if kept else ""


def _free_name(path: Path) -> str:
    number = 1
    while os.path.lexists(path.with_name(f"{path.name}.replaced-{number}")):
        number += 1
    return f"{path.name}.replaced-{number}"


@contextmanager
def _opened(root: Path, folder: Path) -> Iterator[int]:
    """Yield a descriptor of a folder in the workspace, reached without following a link. Raises OSError."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with ExitStack() as stack:
        descriptor = os.open(root, flags)
        stack.callback(os.close, descriptor)
        for part in folder.relative_to(root).parts:
            descriptor = os.open(part, flags, dir_fd=descriptor)
            stack.callback(os.close, descriptor)
        yield descriptor
