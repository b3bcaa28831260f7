"""A folder beside the workspace that the user opened for a session."""

from __future__ import annotations

import os
from pathlib import Path

from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class AddedFolder:
    """A folder that is read, and if it `may_change` also changed, like the workspace."""

    path: str  # absolute, without links, and without characters that cannot be seen
    may_change: bool

    @property
    def is_there(self) -> bool:
        """Whether the folder still lies where the user added it: a link in its place may lead anywhere."""
        return os.path.isdir(self.path) and os.path.realpath(self.path) == self.path  # noqa: PTH112  raises nothing

    def holds(self, path: str) -> bool:
        """Return whether an absolute path without links is the folder or lies in it."""
        return f"{path.rstrip('/')}/".startswith(f"{self.path}/")

    def __str__(self) -> str:
        access = "may be changed" if self.may_change else "read only"
        return f"{self.path} ({access})"


def innermost(folders: tuple[AddedFolder, ...], path: str) -> AddedFolder | None:
    """Return the folder that holds an absolute path, of several the one inside of the others; None if none does."""
    holding = [folder for folder in folders if folder.holds(path)]
    return max(holding, key=lambda folder: len(folder.path), default=None)


def relative_to(folder: AddedFolder, path: str) -> str:
    """Return a path that the folder holds relative to it, "." for itself."""
    return Path(path).relative_to(folder.path).as_posix()
