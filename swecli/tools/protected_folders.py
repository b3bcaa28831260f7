"""Find the folders, files and links of a workspace that commands may not change, by their names and at any depth."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from swecli.folders import walk
from swecli.models.errors import ToolError
from swecli.tools.sensitive import is_protected, may_be_protected
from swecli.values import dataclass

_SECONDS = 20.0  # as long as the listing of files may take
# What lies at the top of an environment: https://docs.python.org/3/library/venv.html, and conda's.
OF_ENVIRONMENTS = frozenset({"pyvenv.cfg", "conda-meta"})
# By these git takes any folder for a repository, where it is asked (`is_git_directory` in its setup.c).
OF_REPOSITORIES = frozenset({"HEAD", "objects", "refs"})

PROGRAMS_OF_ENVIRONMENTS = ("bin", "lib")  # of one that is the workspace, the only protected parts


@dataclass(frozen=True, slots=True)
class ProtectedNames:
    """Absolute paths in the workspace, but for `judged_names`: workspace-relative ones of files, and of folders that
    are protected because of what they lie in, about which a rule may say otherwise. `links` have protected names, with
    the text that each of them holds; `repositories` are those of git that are not named `.git`."""

    folders: tuple[str, ...]
    judged_names: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    repositories: tuple[str, ...]


def find_protected_names(root: Path) -> ProtectedNames:
    """Return the outermost folders that are protected, or are the environment of an interpreter, and the other files
    and links with protected names. No list of what is worth showing leaves any out. Raises ToolError if it takes too
    long."""
    folders: list[str] = []
    judged_names: list[str] = []
    links: list[tuple[str, str]] = []
    repositories: list[str] = []
    until = time.monotonic() + _SECONDS
    for folder, entries in walk(str(root)):
        if time.monotonic() > until:
            raise ToolError(f"Looking through the folders took longer than {_SECONDS:g} s.")
        names = {entry.name for entry in entries}
        if names >= OF_REPOSITORIES:
            repositories.append(folder)
        if OF_ENVIRONMENTS & names:
            if folder != str(root):
                folders.append(folder)
                entries.clear()
                continue
            folders += [f"{folder}/{name}" for name in PROGRAMS_OF_ENVIRONMENTS]
        for entry in [entry for entry in entries if may_be_protected(entry.name)]:
            relative = os.path.relpath(entry.path, root)
            if not is_protected(relative):
                continue
            if entry.is_symlink():
                with suppress(OSError):
                    links.append((entry.path, os.readlink(entry.path)))  # noqa: PTH115  its text
            elif entry.is_dir() and is_protected(entry.name):
                folders.append(entry.path)
                entries.remove(entry)
            elif entry.is_dir() or entry.is_file():
                judged_names.append(relative)
    return ProtectedNames(tuple(folders), tuple(judged_names), tuple(links), tuple(repositories))


def linked_places(root: Path, links: tuple[tuple[str, str], ...]) -> Iterator[str]:
    """Yield the real paths in the workspace to which links lead, but for those that hold the whole workspace."""
    for path, _ in links:
        target = Path(os.path.realpath(path))
        if target.is_relative_to(root) and target != root and os.path.lexists(target):
            yield str(target)
