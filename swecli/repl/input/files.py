"""The files an `@` may name: what git tracks first, then what it does not ignore; read in a thread."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from swecli.models.errors import BadInput
from swecli.repl.daemon import spawn
from swecli.tools.git import run_git

_MAX_FILES = 20_000
_SKIPPED = frozenset({".git", ".venv", "node_modules", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
_SECONDS = 10  # for git to list them


class FileIndex:
    """The files below `root`. `forget` makes the next question look again."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: asyncio.Future[list[str]] | None = None

    def forget(self) -> None:
        """Look again at the next question: files may have come and gone."""
        if self._found is not None and self._found.done():
            self._found = None

    async def paths(self) -> Sequence[str]:
        """Paths relative to the root, folders with a slash at their end."""
        if self._found is None:
            self._found = spawn(lambda: list_files(self._root), "swecli-files")
        return await asyncio.shield(self._found)


def list_files(root: Path) -> list[str]:
    """Tracked files, untracked ones that are not ignored, and their folders; without git, all but the usual clutter."""
    found = _git(root, "--cached")
    if found is None:
        found = _walked(root)
    else:
        found += _git(root, "--others", "--exclude-standard") or []
    files = [path for path in dict.fromkeys(found) if path.isprintable()][:_MAX_FILES]
    folders = {f"{parent.as_posix()}/" for path in files for parent in Path(path).parents if parent.name}
    return files + sorted(folders)


def _git(root: Path, *which: str) -> list[str] | None:
    try:
        listed = run_git(root, "ls-files", "-z", *which, seconds=_SECONDS)
    except BadInput:
        return None
    return [name for name in listed.split("\0") if name]


def _walked(root: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        found += [Path(folder, name).relative_to(root).as_posix() for name in sorted(names)]
        if len(found) >= _MAX_FILES:
            break
    return found
