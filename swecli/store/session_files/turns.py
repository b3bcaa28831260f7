"""What a session's turns say of strategies, taken along when the session is copied, exported or imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlmodel
from sqlmodel import col, select

from swecli.models.playbook import Bullet
from swecli.store.playbook_tables import ChoiceRow, TurnRow
from swecli.store.tables.sessions import BulletRow

ELSEWHERE = "elsewhere:"  # before the id of a strategy that is not here: its number belongs to another one
_HIDDEN = {"id", "session_id", "interaction"}


def copy_records(db: sqlmodel.Session, old: str, new: str, last: int) -> None:
    """The records up to that interaction, and how strategies were chosen, for a fork."""
    for row in _rows(db, old):
        if row.interaction <= last:
            db.add(TurnRow(**row.model_dump(exclude={"id"}) | {"session_id": new}))
    theirs = select(ChoiceRow).where(col(ChoiceRow.session_id) == old, col(ChoiceRow.interaction) <= last)
    for choice in db.exec(theirs).all():
        db.add(ChoiceRow(session_id=new, interaction=choice.interaction, choice=choice.choice))


def records_json(db: sqlmodel.Session, session_id: str) -> dict[int, dict[str, Any]]:
    """By interaction, what is known of it, as plain JSON values."""
    return {row.interaction: row.model_dump(mode="json", exclude=_HIDDEN) for row in _rows(db, session_id)}


def write_record(db: sqlmodel.Session, session_id: str, interaction: int, known: Mapping[str, Any]) -> None:
    """Keep an imported record."""
    db.add(TurnRow(session_id=session_id, interaction=interaction, **known))


def _rows(db: sqlmodel.Session, session_id: str) -> Sequence[TurnRow]:
    theirs = select(TurnRow).where(col(TurnRow.session_id) == session_id)
    return db.exec(theirs.order_by(col(TurnRow.interaction))).all()


def known_here(db: sqlmodel.Session, project: str, bullets: Iterable[Bullet]) -> dict[str, str]:
    """Which of an export's strategies of a project and of its user are here too, word for word: their ids by the ids
    that the export has for them."""
    found: dict[str, str] = {}
    for bullet in bullets:
        same = select(BulletRow).where(col(BulletRow.content) == bullet.content, col(BulletRow.scope) == bullet.scope)
        if bullet.scope == "project":
            same = same.where(col(BulletRow.project) == project)
        row = db.exec(same.where(col(BulletRow.state) != "deleted").order_by(col(BulletRow.number))).first()
        if row is not None:
            found[bullet.id] = f"P-{row.number}"
    return found


def translated(names: Sequence[str] | None, here: Mapping[str, str]) -> list[str] | None:
    """Ids of an export as they are here; those that are not here are marked, so that no other one gets their credit."""
    if names is None:
        return None
    return [here.get(name, name if name.startswith(ELSEWHERE) else f"{ELSEWHERE}{name}") for name in names]
