"""The recorded changes by turns that no undo takes back."""

from __future__ import annotations

from collections.abc import Iterable

from swecli.models.session import Session
from swecli.store.journal.tables import LASTING_CHANGE
from swecli.store.journal.values import decode_name
from swecli.store.sqlite.database import Database
from swecli.store.undo_records import LastingChange

_COLUMNS = "kind, name, before, after, interaction"


class LastingChanges:
    """Stores lasting changes. Each method may raise StoreError; then nothing has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, session_id: str, changes: Iterable[LastingChange]) -> None:
        """Store changes by turns of a session, each with the number of its turn."""
        with self._database.write() as db:
            for change in changes:
                LASTING_CHANGE.insert(
                    db,
                    {
                        "session_id": session_id,
                        "interaction": change.interaction,
                        "kind": change.kind,
                        "name": change.name,
                        "before": change.before,
                        "after": change.after,
                    },
                )

    def load(self, session: Session, first: int) -> list[LastingChange]:
        """Return the changes by the turns from `first` on, oldest first."""
        question = (
            f"SELECT {_COLUMNS} FROM lasting_change WHERE session_id = ? AND interaction >= ?"
            " ORDER BY id"
        )
        with self._database.read() as db:
            rows = db.execute(question, (session.id, first)).fetchall()
        return [
            LastingChange(kind, decode_name(name), before, after, turn)
            for kind, name, before, after, turn in rows
        ]
