"""The files of a plug-in's folder: what counts as part of it, their digests, and a copy of them."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from swecli.folders import walk
from swecli.models.errors import BadInput
from swecli.regular_files import read_regular
from swecli.values import dataclass

# The largest of the plug-ins in the repository of Claude Code has 0.7 MB in 60 files. Each start of the program hashes
# the copies, and 20 MB take some 20 ms.
_MOST_BYTES = 20_000_000
_MOST_FILES = 5_000
_OF_GIT = ".git"  # of a clone, or of a submodule: changes with each fetch
_EXECUTABLE = "executable "
_LINK = "link to "


@dataclass(frozen=True, slots=True)
class PluginTree:
    """What a folder holds.

    Attributes:
        entries: Of each file the SHA-256, with `executable` in front if it is so, of a link where it leads, by the path
            in the folder.
        problems: A line for each entry that is left out.
        size: The bytes of all files.
    """

    entries: Mapping[str, str]
    problems: tuple[str, ...] = ()
    size: int = 0

    @property
    def digest(self) -> str:
        """The SHA-256 of all entries."""
        text = "".join(f"{name}\0{entry}\n" for name, entry in sorted(self.entries.items()))
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def read_tree(root: Path, copy: Path | None = None) -> PluginTree:
    """Look at all files of a folder, and copy them to the empty folder `copy` as they are looked at. Links that lead
    out of it are left out, and so is what git keeps there. Raises BadInput if it is too large or cannot be read."""
    root = root.resolve()
    entries: dict[str, str] = {}
    problems: list[str] = []
    size = 0
    for name, status in _find(root):
        path = root / name
        if len(entries) >= _MOST_FILES:
            raise BadInput(f"{root} has more than {_MOST_FILES:,} files: that is no plug-in.")
        if stat.S_ISLNK(status.st_mode):
            target = str(path.readlink())
            if not _leads_inside(path, target, root):
                problems.append(f"{name} is left out: it is a link that leads out of the folder")
                continue
            entries[name] = _LINK + target
            if copy is not None:
                _place(copy / name).symlink_to(target)
            continue
        if not stat.S_ISREG(status.st_mode):
            problems.append(f"{name} is left out: it is no file")
            continue
        size += status.st_size
        if size > _MOST_BYTES:
            raise BadInput(
                f"{root} has more than {_MOST_BYTES:,} bytes, with {name} of {status.st_size:,}.",
                "A plug-in is copied and hashed whole: keep data and dependencies elsewhere.",
            )
        is_executable = bool(status.st_mode & stat.S_IXUSR)
        try:
            data = read_regular(path, _MOST_BYTES)
            if copy is not None:
                place = _place(copy / name)
                place.write_bytes(data)
                place.chmod(0o700 if is_executable else 0o600)
        except OSError as error:
            raise BadInput(f"{path} cannot be read or copied: {error.strerror}.") from error
        entries[name] = (_EXECUTABLE if is_executable else "") + hashlib.sha256(data).hexdigest()
    return PluginTree(entries, tuple(problems), size)


def _find(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the path in the folder of each entry that is no folder, and what it is."""
    for folder, entries in walk(str(root)):
        entries[:] = [entry for entry in entries if entry.name != _OF_GIT]
        for entry in sorted(entries, key=lambda entry: entry.name):
            if not entry.is_dir(follow_symlinks=False):
                name = Path(folder, entry.name).relative_to(root).as_posix()
                yield name, entry.stat(follow_symlinks=False)


def _leads_inside(link: Path, target: str, root: Path) -> bool:
    """Return whether a link leads to the same place also in a copy of the folder."""
    if target.startswith("/"):
        return False
    resolved = os.path.realpath(link)
    return Path(resolved).is_relative_to(root) and resolved != str(root)


def _place(path: Path) -> Path:
    """Return a path in the copy, whose folder exists."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
