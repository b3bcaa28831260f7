"""The folders that hold all files of a user, or of the disk."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from pathlib import Path


def why_too_wide(folder: Path, environ: Mapping[str, str]) -> str:
    """Return what makes a folder without links too wide to work in, as the end of a sentence about it; "" for any
    other."""
    homes = _home_folders(environ)
    if not any(home.is_relative_to(folder) for home in homes):
        return ""
    if folder == Path("/"):
        return "is the whole disk"
    return "is your home folder" if folder in homes else "holds your home folder"


def _home_folders(environ: Mapping[str, str]) -> list[Path]:
    """Return the environment's home and the account's, either of which may be unset or wrong, and the root."""
    try:
        account = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:  # in a container, the user may have no account
        account = ""
    homes = (environ.get("HOME", ""), account, "/")
    return [Path(home).resolve() for home in homes if home.startswith("/")]
