"""The folder that a command works in: that of `-C`, else the process's; the process itself never moves."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from swecli.models.errors import BadInput, UsageError


def working_folder(given: str | None) -> Path:
    """Return the folder to work in, without links; `given` is the value of `-C`. Raises BadInput."""
    if given is None:
        return process_folder()
    folder = Path(given) if given.startswith("/") else process_folder() / given
    try:
        # as chdir asks: it must be a folder, and one that may be entered
        os.stat(f"{folder}/.")  # noqa: PTH116  pathlib drops the dot
    except OSError as error:
        raise BadInput(
            f"Cannot change to {given!r}: {error.strerror}.", "Give -C an existing folder."
        ) from error
    return folder.resolve()


def require_workspace(folder: Path, *, allow_home: bool) -> None:
    """Raise UsageError for `/`, the user's home and its parents unless allowed, because they contain all files."""
    if allow_home:
        return
    place = folder.resolve()
    homes = _home_folders()
    if not any(home.is_relative_to(place) for home in homes):
        return
    if place == Path("/"):
        what = "is the whole disk"
    elif place in homes:
        what = "is your home folder"
    else:
        what = "holds your home folder"
    raise UsageError(
        f"{folder} {what}: everything in it could be read and changed.",
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
    named = (os.environ.get("HOME", ""), account, "/")
    return [Path(home).resolve() for home in named if home.startswith("/")]
