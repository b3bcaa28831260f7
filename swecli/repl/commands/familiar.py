"""Answers to commands that a user knows from elsewhere: of other assistants, and of a folder that is not trusted."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

from swecli.config.paths import project_root
from swecli.config.project_files import find_command_files


def familiar_command(name: str) -> str:
    """Return what takes the place of a command of another assistant, "" for a name that is none."""
    text = files(__package__).joinpath("familiar.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text).get(name.lower(), ""))


def is_untrusted_command(name: str, folder: Path) -> bool:
    """Return whether the folder's project has a command of this name. A trusted one would have been found before."""
    root = project_root(folder)
    return any(path.stem.lower() == name.lower() for path in find_command_files(root))
