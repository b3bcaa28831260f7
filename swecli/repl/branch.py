"""The git branch of a folder, read from git's files: starting git takes longer than a key may wait, and a repository
can make git run programs."""

from __future__ import annotations

import re
from pathlib import Path

from swecli.regular_files import read_regular

_MAX_BYTES = 4_096  # of `HEAD`, and of the file `.git` of a worktree
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_SHORT_COMMIT = 7  # characters, as git abbreviates


def read_branch(folder: Path) -> str:
    """Return the branch, of a detached HEAD the beginning of its commit; "" outside of a repository."""
    for parent in (folder, *folder.parents):
        git_path = parent / ".git"
        if git_path.is_dir():
            return _read_head(git_path)
        if git_path.is_file():  # a worktree
            _, _, path = _read_line(git_path).partition("gitdir: ")
            return _read_head(parent / path) if path else ""
    return ""


def _read_head(git_folder: Path) -> str:
    """Return the branch that `HEAD` names, or the beginning of its commit; "" if it has neither."""
    reference = _read_line(git_folder / "HEAD")
    if reference.startswith("ref: "):
        return reference.removeprefix("ref: ").removeprefix("refs/heads/")
    return reference[:_SHORT_COMMIT] if _COMMIT.fullmatch(reference) else ""


def _read_line(path: Path) -> str:
    """Return the text of a file, "" if it cannot be read."""
    try:
        return read_regular(path, _MAX_BYTES).decode("utf-8", "replace").strip()
    except (OSError, ValueError):  # a path with a NUL byte, too
        return ""
