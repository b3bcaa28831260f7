"""Which folders' project files may be used: a list the user wrote by saying yes, nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from swecli.config.paths import Paths
from swecli.models.errors import BadInput


def is_trusted(paths: Paths, folder: Path) -> bool:
    """Whether the user has said yes to this folder or to one above it."""
    try:
        text = paths.trusted.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    # not splitlines: it would also cut names at letters that are no line end here
    trusted = {Path(line) for line in text.split("\n") if line.strip()}
    resolved = folder.resolve()
    return any(parent in trusted for parent in (resolved, *resolved.parents))


def trust(paths: Paths, folder: Path) -> None:
    """Remember a yes. Raises OSError, and BadInput for a name that would read as two folders."""
    if is_trusted(paths, folder):
        return
    line = str(folder.resolve())
    if "\n" in line:
        raise BadInput(f"{line!r} has a line break in its name and cannot be trusted.", "Rename it first.")
    paths.ensure()
    with os.fdopen(os.open(paths.trusted, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "ab") as file:
        file.write(f"{line}\n".encode("utf-8", "surrogateescape"))


def project_root(folder: Path) -> Path:
    """The repository a folder belongs to, or the folder itself."""
    resolved = folder.resolve()
    return next((parent for parent in (resolved, *resolved.parents) if _is_there(parent / ".git")), resolved)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder above that may not be looked into
        return False
