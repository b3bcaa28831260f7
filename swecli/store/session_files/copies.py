"""Sessions forked and deleted."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy import and_
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.store.session_files import archive
from swecli.store.sessions.queries import find_row
from swecli.store.sqlite.database import Database
from swecli.store.tables.playbook import BulletRow, ChoiceRow, DeltaRow, EvidenceRow, ReflectionRow
from swecli.store.tables.sessions import CallRow, FullResultRow, Row, SessionRow


def fork(database: Database, ref: str, upto: int | None, title: str) -> str:
    """Copy a session up to that interaction (None: all) into a new one; returns its id.

    Messages, calls, turn records, reductions and the session's own strategies go along; what it cost stays with the
    first. What the copied turns say of strategies counts once (see `TurnRecords.here`).

    Raises:
        BadInput: none is meant by `ref`, or more than one.
    """
    with database.transaction() as db:
        old = find_row(db, ref, "")
        last = old.interactions if upto is None else max(0, min(upto, old.interactions))
        whole, now = archive.read(db, old.id, last), datetime.now(UTC)
        changed = {
            "id": uuid7(),
            "title": title or (old.title and f"{old.title} (fork)"),
            "parent_id": old.id,
            "window_start": max(1, min(old.window_start, last)),
            "interactions": last,
            "messages": len(whole["messages"]),
            "cost": 0.0,
            "created_at": now,
            "updated_at": now,
        }
        new = SessionRow(**old.model_dump(exclude={"number"}) | changed)
        db.add(new)
        db.flush()
        archive.write(db, new.id, whole | {"requests": []})
        theirs = select(ChoiceRow).where(col(ChoiceRow.session_id) == old.id, col(ChoiceRow.interaction) <= last)
        for choice in db.exec(theirs).all():
            db.add(ChoiceRow(**choice.model_dump() | {"session_id": new.id}))
        _count_as_reflected(db, old.id, new.id, last)
        _copy_bullets(db, old.id, new.id)
        return new.id


def _copy_bullets(db: sqlmodel.Session, old: str, new: str) -> None:
    own = select(BulletRow).where(col(BulletRow.session_id) == old, col(BulletRow.scope) == "session")
    for bullet in db.exec(own.where(col(BulletRow.state) != "deleted").order_by(col(BulletRow.number))).all():
        copy = BulletRow(**bullet.model_dump(exclude={"number"}) | {"session_id": new})
        db.add(copy)
        db.flush()
        theirs = select(EvidenceRow).where(col(EvidenceRow.bullet) == bullet.number).order_by(col(EvidenceRow.id))
        for item in db.exec(theirs).all():
            db.add(EvidenceRow(**item.model_dump(exclude={"id"}) | {"bullet": copy.number, "delta": None}))


def _count_as_reflected(db: sqlmodel.Session, old: str, new: str, last: int) -> None:
    """Copied turns are reflected upon as often as those they were copied from, at least once: what they teach is
    learned there, and counts once."""
    done = (col(ReflectionRow.session_id) == old, col(ReflectionRow.status) == "done")
    times = Counter(db.exec(select(ReflectionRow.interaction).where(*done)).all())
    what: dict[str, Any] = {
        "session_id": new,
        "status": "done",
        "author": "copy",
        "detail": f"learned from in {old}",
        "cost": 0.0,
    }
    for number in range(1, last + 1):
        db.add_all(ReflectionRow(**what, interaction=number) for _ in range(max(1, times[number])))


def delete(database: Database, ref: str, keep: str = "") -> str:
    """Delete a session with all that belongs to it alone; returns its id.

    Strategies of its project and of the user stay, with the evidence that speaks for them.

    Raises:
        BadInput: none is meant by `ref`, more than one, or the one with the id `keep`.
    """
    with database.transaction() as db:
        session = find_row(db, ref, "").id
        if session == keep:
            raise BadInput("The session in use cannot be deleted.", "Start or resume another one first.")
        calls = select(CallRow.id).where(col(CallRow.session_id) == session)
        own = and_(col(BulletRow.session_id) == session, col(BulletRow.scope) == "session")
        bullets = select(BulletRow.number).where(own)
        db.exec(sqlmodel.delete(FullResultRow).where(col(FullResultRow.call).in_(calls)))
        for table in reversed(Row.metadata.sorted_tables):  # children before parents
            if any(key.target_fullname == "session.id" for key in table.foreign_keys):
                db.connection().execute(table.delete().where(table.c.session_id == session))
        db.exec(sqlmodel.delete(EvidenceRow).where(col(EvidenceRow.bullet).in_(bullets)))
        db.exec(sqlmodel.delete(BulletRow).where(own))
        db.exec(sqlmodel.delete(DeltaRow).where(col(DeltaRow.session_id) == session, col(DeltaRow.reach) == "session"))
        db.exec(sqlmodel.delete(SessionRow).where(col(SessionRow.id) == session))
        return session
