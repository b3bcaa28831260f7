"""Keeps the permission rules that the user allows for the session in use with that session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swecli.store.session_manager import SessionManager


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
