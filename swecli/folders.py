"""Look for files and folders, go through folders of any depth, make and remove them: names may be of any length, and a
stranger's folder may be deeper than a function can call itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def path_exists(path: str | Path) -> bool:
    """Return whether there is something at a path. Unlike `Path.exists` before Python 3.14 it raises nothing: not for a
    name that the system does not take, nor for a place that this user may not see."""
    return os.path.exists(path)  # noqa: PTH110  raises nothing


def is_folder(path: str | Path) -> bool:
    """Return whether a path is a folder; raises nothing, as `path_exists`."""
    return os.path.isdir(path)  # noqa: PTH112  raises nothing


def list_entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; none if it cannot be read."""
    with suppress(OSError), os.scandir(folder) as entries:
        return list(entries)
    return []


def walk(root: str) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Yield a folder and each below it with its entries. What is taken out of a list is not entered; links are not
    followed."""
    pending = [root]
    while pending:
        folder = pending.pop()
        entries = list_entries(folder)
        yield folder, entries
        pending += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def make_folders(folder: str) -> None:
    """Make a folder of an absolute path, and those above it that are missing; nothing if it is there. Raises
    OSError."""
    missing_folders = [folder]
    while missing_folders:
        path = missing_folders[-1]
        try:
            os.mkdir(path)  # noqa: PTH102  a text
        except FileNotFoundError:
            missing_folders.append(os.path.dirname(path))  # noqa: PTH120  as above
            continue
        except FileExistsError:
            if not os.path.isdir(path):  # noqa: PTH112  as above
                raise
        missing_folders.pop()


def remove_tree(root: str) -> None:
    """Remove a folder with all that is in it, as far as that is possible."""
    pending = [root]
    number = 0
    while pending:
        folder = pending.pop()
        for entry in list_entries(folder):
            with suppress(OSError):
                if not entry.is_dir(follow_symlinks=False):
                    os.unlink(entry.path)  # noqa: PTH108  a text
                    continue
                # to the top: the path of what is deep down may be longer than the system takes
                number += 1
                moved_path = f"{root}/.removed-{number}"
                os.rename(entry.path, moved_path)  # noqa: PTH104  as above
                pending.append(moved_path)
        if folder != root:
            with suppress(OSError):
                os.rmdir(folder)  # noqa: PTH106  as above
    with suppress(OSError):
        os.rmdir(root)  # noqa: PTH106  as above
