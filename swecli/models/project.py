"""Whose memory it is: the key of a project, and the folders that it was found for."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from swecli.models.json_value import JsonObject
from swecli.values import dataclass


class KeyBasis(StrEnum):
    """What the key of a project was made of."""

    COMMIT = "commit"  # the first commit: every clone has it
    REPOSITORY = "repository"  # the git folder that worktrees share: there is no commit yet, or not the whole history
    FOLDER = "folder"  # the path: there is no git
    CHOSEN = "chosen"  # the user said which project it is


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """A folder of a project: the key of the `project`, and the `subfolder` from its root, "" for the root itself."""

    project: str
    subfolder: str = ""


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """That a folder is of a project.

    Attributes:
        project: The project's key.
        folder: The git folder that worktrees share; a folder without git itself.
        inode: The number of that folder on its disk, which a renamed folder keeps.
        basis: What the key was made of.
        first_commit: The first commit of the checked out branch, "" if it is not known.
        seen_at: When the key was found.
    """

    project: str
    folder: str
    inode: int
    basis: KeyBasis
    first_commit: str
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class LeftMemory:
    """What lies under the key of a project that no folder here has. `folder` is where it was last, "" if that is not
    known; `used_at` is the last change of a session, None without one."""

    project: str
    folder: str
    strategies: int
    findings: int
    sessions: int
    used_at: datetime | None

    @property
    def name(self) -> str:
        """What a person calls it: where it was, else the key."""
        return self.folder or self.project

    @property
    def contents(self) -> str:
        """Return the counts in words: `3 strategies, 1 finding`; "" if there is nothing."""
        counts = (
            (self.strategies, "strategy", "strategies"),
            (self.findings, "finding", "findings"),
            (self.sessions, "session", "sessions"),
        )
        return ", ".join(
            f"{count} {singular if count == 1 else plural}"
            for count, singular, plural in counts
            if count
        )

    def to_json(self) -> JsonObject:
        return {
            "project": self.project,
            "folder": self.folder,
            "strategies": self.strategies,
            "findings": self.findings,
            "sessions": self.sessions,
            "used_at": self.used_at.isoformat() if self.used_at else None,
        }
