"""The past of strategies: which change made each what it is, and in which prompts it stood."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlmodel
from sqlalchemy import ColumnElement, Text, cast
from sqlmodel import col, select

from swecli.models.playbook import AppliedDelta, Bullet
from swecli.models.session import Session
from swecli.store import playbook_mapping as mapping
from swecli.store.playbook_scope import applies, concerns, made_here
from swecli.store.playbook_undo import newest
from swecli.store.records import Change, InteractionInfo
from swecli.store.sessions import mapping as rows
from swecli.store.sqlite.database import Database
from swecli.store.tables.sessions import BulletRow, DeltaRow, InteractionRow


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

    def of_each(self, names: Collection[str]) -> dict[str, list[Change]]:
        """`of` for many strategies at once; the changes are read through one time."""
        wanted = frozenset(names)
        standing = select(DeltaRow).where(col(DeltaRow.undone).is_(False)).order_by(col(DeltaRow.number))
        with self._database.reading() as db:
            found = (
                [mapping.applied_of(row) for row in db.exec(standing) if wanted & row.before.keys()] if wanted else []
            )
            numbers = [mapping.number_of(name) for name in wanted]
            there = db.exec(select(BulletRow).where(col(BulletRow.number).in_(numbers))).all()
            form: dict[str, Bullet | None] = {f"P-{row.number}": mapping.bullet_of(row) for row in there}
        changes: dict[str, list[Change]] = {name: [] for name in wanted}
        for applied in reversed(found):
            for name in wanted & applied.before.keys():
                changes[name].insert(0, Change(name, applied, applied.before[name], form.get(name)))
                form[name] = applied.before[name]
        return changes

    def since(self, session: Session, n: int) -> list[tuple[str, Bullet | None, Bullet | None]]:
        """What the newest `n` standing changes came to, as `PlaybookStore.undo` counts them: (id, before, now) of each
        strategy."""
        with self._database.reading() as db:
            applied: list[AppliedDelta] = [mapping.applied_of(row) for row in newest(db, session, n, every=False)]
            before = {name: old for change in applied for name, old in change.before.items()}
            numbers = [mapping.number_of(name) for name in before]
            found = db.exec(select(BulletRow).where(col(BulletRow.number).in_(numbers))).all()
            now = {f"P-{row.number}": mapping.bullet_of(row) for row in found}
        names = sorted(before, key=mapping.number_of)
        return [(name, before[name], now.get(name)) for name in names if not _same(before[name], now.get(name))]

    def taken_back(self, session: Session, reason: str) -> set[str]:
        """The strategies that a change made for that reason touched before it was taken back."""
        which = select(DeltaRow).where(concerns(session), col(DeltaRow.undone) == sqlmodel.true())
        with self._database.reading() as db:
            found = db.exec(which.where(col(DeltaRow.reason) == reason)).all()
            return {name for row in found for name in row.before}

    def unmade(self, bullet_id: str, session: Session) -> bool:
        """Whether the change that added a strategy here was taken back."""
        undone = (made_here(session), col(DeltaRow.undone) == sqlmodel.true(), _holds(col(DeltaRow.added), bullet_id))
        with self._database.reading() as db:
            return db.exec(select(DeltaRow.number).where(*undone).limit(1)).first() is not None

    def removed(self, session: Session) -> list[Bullet]:
        """The strategies the user removed, refused or took back, as far as the session could see them."""
        gone = select(BulletRow).where(applies(session), col(BulletRow.state) == "deleted")
        undone = select(DeltaRow).where(made_here(session), col(DeltaRow.undone) == sqlmodel.true())
        with self._database.reading() as db:
            removed = {f"P-{row.number}": mapping.bullet_of(row) for row in db.exec(gone).all()}
            taken = [mapping.applied_of(row) for row in db.exec(undone).all()]
        for applied in taken:
            added = (op for op in applied.delta.ops if op.op == "ADD")
            for name, op in zip(applied.added, added, strict=True):
                removed.setdefault(name, Bullet(name, str(op.fields["content"]), state="deleted"))
        return list(removed.values())

    def prompts(self, bullet_id: str, limit: int = 20) -> list[InteractionInfo]:
        """The turns in whose prompt a strategy stood, newest first."""
        which = select(InteractionRow).where(_holds(col(InteractionRow.shown), bullet_id))
        with self._database.reading() as db:
            found = db.exec(which.order_by(col(InteractionRow.id).desc()).limit(limit)).all()
            return [rows.interaction_of(row) for row in found]

    def last_shown(self, names: Collection[str]) -> dict[str, datetime]:
        """When each of these strategies last stood in a prompt; those that never did are not in it."""
        found: dict[str, datetime] = {}
        wanted = frozenset(names)
        with self._database.reading() as db:
            for shown, when in db.exec(select(InteractionRow.shown, InteractionRow.started_at)):
                for name in wanted.intersection(shown or ()):
                    found[name] = max(when, found.get(name, when))
        return found


def _holds(column: Any, bullet_id: str) -> ColumnElement[bool]:
    """Whether a JSON column holds the id as a string or a key."""
    return cast(column, Text).contains(f'"{bullet_id}"', autoescape=True)


def _same(one: Bullet | None, other: Bullet | None) -> bool:
    """Whether two forms differ in nothing but the times of their changes."""
    if one is None or other is None:
        return one is other
    return replace(one, updated_at=None, vouched_at=None) == replace(other, updated_at=None, vouched_at=None)
