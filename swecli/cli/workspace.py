"""The folder that a command works in: that of `-C`, else the process's; the process itself never moves."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

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
    resolved = folder.resolve()
    homes = _home_folders()
    if not any(home.is_relative_to(resolved) for home in homes):
        return
    if resolved == Path("/"):
        description = "is the whole disk"
    elif resolved in homes:
        description = "is your home folder"
    else:
        description = "holds your home folder"
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


def _home_folders() -> list[Path]:
    """Return the environment's home and the account's, either of which may be unset or wrong, and the root."""
    try:
        account = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # in a container, the user may have no account
        account = ""
    homes = (os.environ.get("HOME", ""), account, "/")
    return [Path(home).resolve() for home in homes if home.startswith("/")]
