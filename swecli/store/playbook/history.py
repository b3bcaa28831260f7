"""The past of strategies: which change made each what it is, and in which prompts it stood."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Text, cast
from sqlmodel import col, select

from swecli.models.playbook import Bullet
from swecli.models.session import Session
from swecli.store.playbook import mapping
from swecli.store.playbook.scope import applies
from swecli.store.records import Change, InteractionInfo
from swecli.store.sessions import mapping as rows
from swecli.store.sqlite.database import Database
from swecli.store.tables.playbook import BulletRow, DeltaRow
from swecli.store.tables.sessions import InteractionRow


class PlaybookHistory:
    """Reads deltas and turns; changes nothing."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, bullet_id: str) -> list[Change]:
        """The changes that stand of one strategy, the oldest first; its current form is the last one's `after`."""
        names_it = _holds(col(DeltaRow.before), bullet_id)
        standing = select(DeltaRow).where(names_it, col(DeltaRow.undone).is_(False)).order_by(col(DeltaRow.number))
        with self._database.reading() as db:
            found = [mapping.applied_of(row) for row in db.exec(standing).all()]
            row = db.get(BulletRow, mapping.number_of(bullet_id))
            now = None if row is None else mapping.bullet_of(row)
        found = [applied for applied in found if bullet_id in applied.before]
        forms = [applied.before[bullet_id] for applied in found] + [now]
        return [Change(bullet_id, a, forms[i], forms[i + 1]) for i, a in enumerate(found)]

    def removed(self, session: Session) -> list[Bullet]:
        """The strategies the user removed, refused or took back, as far as the session could see them."""
        gone = select(BulletRow).where(applies(session), col(BulletRow.state) == "deleted")
        with self._database.reading() as db:
            return [mapping.bullet_of(row) for row in db.exec(gone).all()]

    def prompts(self, bullet_id: str, limit: int = 20) -> list[InteractionInfo]:
        """The turns in whose prompt a strategy stood, newest first."""
        which = select(InteractionRow).where(_holds(col(InteractionRow.shown), bullet_id))
        with self._database.reading() as db:
            found = db.exec(which.order_by(col(InteractionRow.id).desc()).limit(limit)).all()
            return [rows.interaction_of(row) for row in found]


def _holds(column: Any, bullet_id: str) -> ColumnElement[bool]:
    """Whether a JSON column holds the id as a string or a key."""
    return cast(column, Text).contains(f'"{bullet_id}"', autoescape=True)
