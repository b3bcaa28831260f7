"""Sessions as a whole: forked, exported, deleted."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy import and_, func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.message import ChatMessage
from swecli.store.playbook_scope import load_bullets
from swecli.store.playbook_standing import forget
from swecli.store.playbook_tables import ChoiceRow, DraftRow, TurnRow
from swecli.store.session_files.turns import copy_records, records_json
from swecli.store.sessions import mapping
from swecli.store.sessions.queries import find_row
from swecli.store.sessions.store import read_messages
from swecli.store.sqlite.database import Database
from swecli.store.tables.sessions import (
    BulletRow,
    CallRow,
    DeltaRow,
    EvidenceRow,
    FullResultRow,
    InteractionRow,
    MessageRow,
    ReductionRow,
    ReflectionRow,
    RequestRow,
    SessionRow,
    SurvivorRow,
)

RUNNING_ONLY = {"id", "partial", "partial_after"}  # of a turn's record: not its copy's


def fork(database: Database, ref: str, upto: int | None, title: str) -> str:
    """Copy a session up to that interaction (None: all) into a new one; returns its id.

    Messages, calls, turn records and the session's own strategies go along; what it cost stays with the first. What
    the copied turns say of strategies counts once (see `TurnRecords.here`).

    Raises:
        BadInput: none is meant by `ref`, or more than one.
    """
    with database.transaction() as db:
        old = find_row(db, ref, "")
        last = old.interactions if upto is None else max(0, min(upto, old.interactions))
        title = title or (old.title and f"{old.title} (fork)")
        now = datetime.now(UTC)
        kept = ("directory", "project", "model", "window_spec", "first_query")
        new = SessionRow(id=uuid7(), title=title, parent_id=old.id, **{name: getattr(old, name) for name in kept})
        new.window_start, new.interactions, new.created_at, new.updated_at = (
            max(1, min(old.window_start, last)),
            last,
            now,
            now,
        )
        db.add(new)
        db.flush()
        new.messages = _copy_messages(db, old.id, new.id, last)
        turns = select(InteractionRow).where(
            col(InteractionRow.session_id) == old.id, col(InteractionRow.number) <= last
        )
        for turn in db.exec(turns.order_by(col(InteractionRow.number))).all():
            db.add(InteractionRow(**turn.model_dump(exclude=RUNNING_ONLY) | {"session_id": new.id, "pending": False}))
        copy_records(db, old.id, new.id, last)
        _count_as_reflected(db, old.id, new.id, last)
        _copy_bullets(db, old.id, new.id)
        _copy_context(db, old.id, new.id, last)
        return new.id


def _copy_messages(db: sqlmodel.Session, old: str, new: str, last: int) -> int:
    rows = select(MessageRow).where(col(MessageRow.session_id) == old, col(MessageRow.interaction) <= last)
    theirs = select(CallRow).join(MessageRow, col(MessageRow.id) == col(CallRow.message_id))
    theirs = theirs.where(col(MessageRow.session_id) == old, col(MessageRow.interaction) <= last)
    fulls = select(FullResultRow).join(CallRow, col(CallRow.id) == col(FullResultRow.call))
    originals = db.exec(rows.order_by(col(MessageRow.id))).all()
    messages = {row.id: MessageRow(**row.model_dump(exclude={"id"}) | {"session_id": new}) for row in originals}
    db.add_all(messages.values())
    db.flush()
    calls: dict[int | None, CallRow] = {}
    for row in db.exec(theirs.order_by(col(CallRow.id))).all():
        place = {"session_id": new, "message_id": messages[row.message_id].id}
        calls[row.id] = CallRow(**row.model_dump(exclude={"id"}) | place)
    db.add_all(calls.values())
    db.flush()
    for full in db.exec(fulls.where(col(CallRow.session_id) == old)).all():
        if full.call in calls:
            db.add(FullResultRow(call=calls[full.call].id or 0, text=full.text))
    return len(messages)


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
    which = (
        sqlmodel.select(ReflectionRow.interaction, func.count()).where(*done).group_by(col(ReflectionRow.interaction))
    )
    times = dict(db.exec(which).all())
    for number in range(1, last + 1):
        for _ in range(max(1, times.get(number, 0))):
            row = ReflectionRow(session_id=new, interaction=number, status="done", author="copy")
            row.detail, row.cost = f"learned from in {old}", 0.0
            db.add(row)


def _copy_context(db: sqlmodel.Session, old: str, new: str, last: int) -> None:
    """Reductions, pins and survivors up to that interaction: the copy sends what the first one sent then."""
    for table in (ReductionRow, SurvivorRow):
        key = "number" if table is ReductionRow else "id"
        theirs = select(table).where(col(table.session_id) == old, col(table.interaction) <= last)
        for row in db.exec(theirs.order_by(col(getattr(table, key)))).all():
            db.add(table(**row.model_dump(exclude={key}) | {"session_id": new}))


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
        forget(db, session, 0)
        own = and_(col(BulletRow.session_id) == session, col(BulletRow.scope) == "session")
        bullets = select(BulletRow.number).where(own)
        for statement in (
            sqlmodel.delete(FullResultRow).where(col(FullResultRow.call).in_(calls)),
            sqlmodel.delete(CallRow).where(col(CallRow.session_id) == session),
            sqlmodel.delete(MessageRow).where(col(MessageRow.session_id) == session),
            sqlmodel.delete(RequestRow).where(col(RequestRow.session_id) == session),
            sqlmodel.delete(ReflectionRow).where(col(ReflectionRow.session_id) == session),
            *(
                sqlmodel.delete(table).where(col(table.session_id) == session)
                for table in (TurnRow, DraftRow, ChoiceRow)
            ),
            sqlmodel.delete(InteractionRow).where(col(InteractionRow.session_id) == session),
            sqlmodel.delete(ReductionRow).where(col(ReductionRow.session_id) == session),
            sqlmodel.delete(SurvivorRow).where(col(SurvivorRow.session_id) == session),
            sqlmodel.delete(EvidenceRow).where(col(EvidenceRow.bullet).in_(bullets)),
            sqlmodel.delete(BulletRow).where(own),
            sqlmodel.delete(DeltaRow).where(col(DeltaRow.session_id) == session, col(DeltaRow.reach) == "session"),
            sqlmodel.delete(SessionRow).where(col(SessionRow.id) == session),
        ):
            db.exec(statement)
        return session


def export(database: Database, ref: str) -> dict[str, Any]:
    """A session as plain JSON values: itself, its messages with calls, turn records and strategies.

    Raises:
        BadInput: none is meant by `ref`, or more than one.
    """
    with database.reading() as db:
        row = find_row(db, ref, "")
        messages = read_messages(db, row.id, 0, row.interactions)
        which = select(InteractionRow).where(col(InteractionRow.session_id) == row.id)
        turns = db.exec(which.order_by(col(InteractionRow.number))).all()
        playbook, records = load_bullets(db, mapping.session_of(row, [])), records_json(db, row.id)
    hidden = RUNNING_ONLY | {"session_id", "pid"}
    return row.model_dump(mode="json", exclude={"number", "messages", "interactions"}) | {
        "interactions": [
            turn.model_dump(mode="json", exclude=hidden) | {"playbook": records.get(turn.number)} for turn in turns
        ],
        "messages": [_message_json(message) for message in messages],
        "playbook": [bullet.to_json() for bullet in playbook.bullets.values()],
    }


def _message_json(message: ChatMessage) -> dict[str, Any]:
    return asdict(message) | {"role": message.role.value, "created_at": message.created_at.isoformat()}
