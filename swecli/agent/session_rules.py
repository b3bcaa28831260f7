"""Keeps what the user allows for the session in use with that session: permission rules, and added folders."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.models.added_folder import AddedFolder
from swecli.store.session_manager import SessionManager
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class StoredSessionRules:
    """The rules of the session in use for one folder: in another, where it may be resumed, none of them applies."""

    sessions: SessionManager
    folder: str

    def read(self) -> Sequence[str]:
        return self.sessions.allowed_in(self.folder)

    def write(self, rules: Sequence[str], /) -> None:
        """Replace the rules. Raises StoreError and then changes nothing."""
        self.sessions.set_allowed(self.folder, rules)


@dataclass(frozen=True, slots=True)
class StoredFolders:
    """The folders that were added to the session in use in one workspace: in another, none of them is open."""

    sessions: SessionManager
    workspace: str

    def read(self) -> Sequence[AddedFolder]:
        return self.sessions.folders_in(self.workspace)

    def write(self, folders: Sequence[AddedFolder], /) -> None:
        """Replace the folders. Raises StoreError and then changes nothing."""
        self.sessions.set_folders(self.workspace, folders)
