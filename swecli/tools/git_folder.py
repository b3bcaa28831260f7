"""What a repository's folder holds besides its history, as its files tell: linked work trees, hooks and rules of its
own."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from swecli.regular_files import read_regular

_OWN_FILES = (
    "hooks",
    "info",
)  # folders whose files the user or a program writes, and git only reads
_SAMPLE = ".sample"  # of hooks, which git never runs


def find_common_folder(git_folder: Path) -> Path:
    """Return the folder that all work trees of a repository share: that of a linked one names it."""
    with suppress(OSError):
        return git_folder / _read_line(git_folder / "commondir")
    return git_folder


def read_work_trees(common: Path) -> dict[str, str]:
    """Return the linked work trees: path → `refs/heads/BRANCH`, or the commit of a detached one."""
    work_trees: dict[str, str] = {}
    for folder in _list(common / "worktrees"):
        with suppress(OSError):
            path = (folder / _read_line(folder / "gitdir")).parent
            work_trees[os.path.normpath(path)] = _read_line(folder / "HEAD").removeprefix("ref: ")
    return work_trees


def read_own_files(common: Path) -> dict[str, str]:
    """Return what is the same as long as a file is not written: path in the folder → its size and time."""
    stamps: dict[str, str] = {}
    for name in _OWN_FILES:
        for file in _list(common / name):
            if file.suffix == _SAMPLE:
                continue
            with suppress(OSError):
                status = file.lstat()
                stamps[f"{name}/{file.name}"] = f"{status.st_size} {status.st_mtime_ns}"
    return stamps


def _list(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(folder.iterdir())
    return []


def _read_line(file: Path) -> str:
    """Return the line of a file. Raises OSError."""
    return os.fsdecode(read_regular(file)).strip("\n")
