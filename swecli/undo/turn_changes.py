"""Collects which files differ since a turn began, and who changed them."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import field

from swecli.file_names import write_name
from swecli.models.changed_files import ChangedFile, ChangeKind, Changer
from swecli.models.session import Session
from swecli.store.undo_records import FileState
from swecli.values import dataclass


@dataclass(slots=True)
class _Change:
    """A path as it was before the turn and as it is now; `changers` are in the order of their changes."""

    before: FileState
    after: FileState
    changers: dict[Changer, None] = field(default_factory=dict)


class TurnChanges:
    """The changes of the newest turn of a session. What is added for another turn takes their place."""

    def __init__(self) -> None:
        self._turn = ("", 0)  # the session's id and the number of the turn
        self._changes: dict[str, _Change] = {}
        self._ignored: dict[str, None] = {}

    def add(
        self, session: Session, name: str, before: FileState, after: FileState, changer: Changer
    ) -> None:
        """Add a change of a path in the turn that the session is in."""
        self._enter(session)
        change = self._changes.setdefault(name, _Change(before, after))
        change.after = after
        change.changers[changer] = None

    def add_ignored(self, session: Session, names: Iterable[str]) -> None:
        """Add what changed during a command and is ignored."""
        self._enter(session)
        self._ignored |= dict.fromkeys(names)

    def clear(self) -> None:
        """Forget all: the turn was set aside, and the next one gets its number."""
        self._turn = ("", 0)

    def files_of(self, session_id: str, number: int) -> list[ChangedFile]:
        """Return the files that differ since the turn began, sorted by name, and then what is ignored."""
        if self._turn != (session_id, number):
            return []
        changed_files = [
            ChangedFile(write_name(name), _kind_of(change), tuple(change.changers))
            for name, change in sorted(self._changes.items())
            if change.before != change.after and not _is_folder(change)
        ]
        ignored = [
            ChangedFile(write_name(name), "changed", ("command",), is_ignored=True)
            for name in sorted(self._ignored)
        ]
        return changed_files + ignored

    def _enter(self, session: Session) -> None:
        turn = (session.id, session.interactions)
        if self._turn != turn:
            self._turn = turn
            self._changes = {}
            self._ignored = {}


def _kind_of(change: _Change) -> ChangeKind:
    if not change.before.mode:
        return "created"
    return "changed" if change.after.mode else "removed"


def _is_folder(change: _Change) -> bool:
    return stat.S_ISDIR(change.before.mode or change.after.mode)
