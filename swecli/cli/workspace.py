"""The folder that a command works in: that of `-C`, else the process's; the process itself never moves."""

from __future__ import annotations

import os
from pathlib import Path

from swecli.config.wide_folders import why_too_wide
from swecli.models.errors import BadInput, UsageError


def working_folder(directory: str | None) -> Path:
    """Return the folder to work in, without links; `directory` is the value of `-C`. Raises BadInput."""
    if directory is None:
        return process_folder()
    folder = Path(directory) if directory.startswith("/") else process_folder() / directory
    try:
        # as chdir asks: it must be a folder, and one that may be entered
        os.stat(f"{folder}/.")  # noqa: PTH116  pathlib drops the dot
    except OSError as error:
        raise BadInput(
            f"Cannot change to {directory!r}: {error.strerror}.", "Give -C an existing folder."
        ) from error
    return folder.resolve()


def require_workspace(folder: Path, *, allow_home: bool) -> None:
    """Raise UsageError for `/`, the user's home and its parents unless allowed, because they contain all files."""
    if allow_home:
        return
    description = why_too_wide(folder.resolve(), os.environ)
    if not description:
        return
    raise UsageError(
        f"{folder} {description}: everything in it could be read and changed.",
        "Change into a project (cd, or -C DIR), or pass --allow-home.",
    )


def process_folder() -> Path:
    """Return the current directory. Raises BadInput if it was deleted."""
    try:
        return Path.cwd()
    except OSError as error:
        raise BadInput(
            f"The working directory is gone: {error.strerror}.", "Change to another one."
        ) from error
