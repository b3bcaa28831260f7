"""Export, fork and delete sessions. An `Archive` is a session with all its rows as one JSON-like value, which forks and
imports write.

The value holds the columns of each table, so that a new column needs no code here. Database keys are left out: messages
and reductions are numbered from 1 within the session.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlmodel import col, select

from swecli.models.context import UNDO
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.session import Session
from swecli.store.journal.values import clean_text, values
from swecli.store.sqlite.database import Database
from swecli.store.sqlite.orm import reader
from swecli.store.tables.playbook import BulletRow, DeltaRow, EvidenceRow
from swecli.store.tables.sessions import (
    CallRow,
    FullResultRow,
    InteractionRow,
    MessageRow,
    ReductionRow,
    RequestRow,
    Row,
    SessionRow,
    SurvivorRow,
)
from swecli.store.tables.turns import ChoiceRow, ReflectionRow, TurnRow

Archive = dict[str, Any]
_FOREIGN = "elsewhere:"  # prefix of the id of a strategy that does not exist here
# columns that belong to this database, or to the process that runs a turn
EXCLUDED_COLUMNS: Mapping[type[sqlmodel.SQLModel], set[str]] = {
    # what the user allowed for a session is not allowed by whoever sends it to him
    SessionRow: {"number", "interactions", "messages", "allowed"},
    InteractionRow: {"id", "session_id", "pid", "pending", "partial", "partial_after"},
    TurnRow: {"id", "session_id", "interaction"},
    MessageRow: {"session_id", "blocks"},  # `blocks` is in the format of one provider
    CallRow: {"id", "session_id", "message_id", "call_id"},
    RequestRow: {"id", "session_id"},
    ReductionRow: {"session_id"},
    SurvivorRow: {"id", "session_id"},
    BulletRow: {"number", "session_id", "project"},
}


def _find_row(db: sqlmodel.Session, ref: str) -> SessionRow:
    """Return the row of the session that `find_session` finds. Raises BadInput."""
    return db.exec(
        select(SessionRow).filter_by(id=reader(db).find_session(clean_text(ref), ""))
    ).one()


def rename_strategies(whole: Archive, names: Mapping[str, str]) -> None:
    """Replace the strategy ids in the turns by `names`. Ids not in it get a prefix, so that they match no strategy."""
    for turn in whole["interactions"]:
        for name in ("shown", "cited"):
            if turn.get(name):
                turn[name] = [
                    names.get(one, _FOREIGN + one.removeprefix(_FOREIGN)) for one in turn[name]
                ]


def _read_turns(db: sqlmodel.Session, session_id: str, last: int) -> Archive:
    """Return the rows of a session's interactions up to number `last`. Must run in a transaction."""
    records = {row.interaction: _columns(row) for row in _rows(db, TurnRow, session_id, last)}
    calls: dict[int, list[Archive]] = {}
    theirs = (
        select(CallRow, FullResultRow.text)
        .filter_by(session_id=session_id)
        .order_by(col(CallRow.id))
    )
    whole = theirs.outerjoin(FullResultRow, col(FullResultRow.call) == col(CallRow.id))
    for call, full in db.exec(whole).all():
        more = {} if full is None else {"full_result": full}
        calls.setdefault(call.message_id, []).append({"id": call.call_id} | _columns(call) | more)
    return {
        "interactions": [
            _columns(row) | {"playbook": records.get(row.number)}
            for row in _rows(db, InteractionRow, session_id, last)
        ],
        "messages": [
            _columns(row) | {"id": place, "tool_calls": calls.get(row.id or 0, [])}
            for place, row in enumerate(_rows(db, MessageRow, session_id, last), 1)
        ],
        "requests": [_columns(row) for row in _rows(db, RequestRow, session_id, last)],
        "reductions": _numbered(_rows(db, ReductionRow, session_id, last)),
        "survivors": [_columns(row) for row in _rows(db, SurvivorRow, session_id, last)],
    }


def _rows(db: sqlmodel.Session, table: Any, session_id: str, last: int) -> list[Any]:
    """Return a session's rows in the order of their primary keys."""
    number = table.number if table is InteractionRow else table.interaction
    theirs = select(table).filter_by(session_id=session_id).where(number <= last)
    return list(db.exec(theirs.order_by(*table.__table__.primary_key.columns)).all())


def _columns(row: sqlmodel.SQLModel) -> Archive:
    return values(
        row, [name for name in type(row).model_fields if name not in EXCLUDED_COLUMNS[type(row)]]
    )


def _numbered(rows: list[ReductionRow]) -> list[Archive]:
    """Number reductions from 1; the undo of a reduction refers to it by that number."""
    places = {f"R-{row.number}": place for place, row in enumerate(rows, 1)}
    found = []
    for place, row in enumerate(rows, 1):
        undone = (
            {"detail": f"R-{places[row.detail]}"}
            if row.how == UNDO and row.detail in places
            else {}
        )
        found.append(_columns(row) | {"number": place} | undone)
    return found


def write_turns(db: sqlmodel.Session, session_id: str, whole: Archive) -> None:
    """Store the rows of `_read_turns` under another session, whose own row exists. Must run in a transaction."""
    of: Archive = {"session_id": session_id}
    for turn in whole["interactions"]:
        db.add(InteractionRow(**_omit(turn, "playbook"), **of, pending=False))
        if turn["playbook"] is not None:
            db.add(TurnRow(**turn["playbook"], **of, interaction=turn["number"]))
    messages = [
        MessageRow(**_omit(message, "id", "tool_calls"), **of) for message in whole["messages"]
    ]
    db.add_all(messages)
    db.flush()  # assigns the keys, in this order
    for row, message in zip(messages, whole["messages"], strict=True):
        for call in message["tool_calls"]:
            _write_call(db, call, row)
    db.add_all(RequestRow(**request, **of) for request in whole["requests"])
    db.add_all(SurvivorRow(**survivor, **of) for survivor in whole["survivors"])
    _write_reductions(db, whole["reductions"], session_id)
    db.flush()


def _write_call(db: sqlmodel.Session, call: Archive, message: MessageRow) -> None:
    """Store a call of a message, with its result in full if that was truncated."""
    known = _omit(call, "id", "full_result")
    stored = CallRow(
        **known, session_id=message.session_id, call_id=call["id"], message_id=message.id or 0
    )
    db.add(stored)
    if call.get("full_result") is not None:
        db.flush()
        db.add(FullResultRow(call=stored.id or 0, text=call["full_result"]))


def _write_reductions(db: sqlmodel.Session, reductions: list[Archive], session_id: str) -> None:
    """Store reductions under new numbers, to which their undos then refer."""
    numbers: dict[str, int | None] = {}
    for reduction in reductions:
        stored = ReductionRow(**reduction | {"number": None}, session_id=session_id)
        if stored.how == UNDO and stored.detail in numbers:
            stored.detail = f"R-{numbers[stored.detail]}"
        db.add(stored)
        db.flush()
        numbers[f"R-{reduction['number']}"] = stored.number


def _omit(value: Archive, *names: str) -> Archive:
    return {name: item for name, item in value.items() if name not in names}


def _copy_bullets(db: sqlmodel.Session, old: str, new: str) -> None:
    own = (
        select(BulletRow).filter_by(session_id=old, scope="session").order_by(col(BulletRow.number))
    )
    for bullet in db.exec(own.where(col(BulletRow.state) != "deleted")).all():
        copy = BulletRow(**bullet.model_dump(exclude={"number"}) | {"session_id": new})
        db.add(copy)
        db.flush()
        for item in db.exec(
            select(EvidenceRow).filter_by(bullet=bullet.number).order_by(col(EvidenceRow.id))
        ).all():
            db.add(
                EvidenceRow(
                    **item.model_dump(exclude={"id"}) | {"bullet": copy.number, "delta": None}
                )
            )


class SessionArchive:
    """Exports, copies and deletes sessions. Each method may raise StoreError; then nothing has changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def export(self, ref: str) -> Archive:
        """Return a session as plain JSON values. Raises BadInput if `ref` matches no session or several."""
        with self._database.reading() as db:
            row = _find_row(db, ref)
            owner = Session(row.id, row.directory, project=row.project)
            bullets = reader(db).playbook(owner).bullets.values()
            whole = _columns(row) | _read_turns(db, row.id, row.interactions)
            whole |= {
                "playbook": [one.to_json() for one in bullets],
                "totals": asdict(reader(db).totals(row.id)),
            }
        rename_strategies(whole, {bullet.id: bullet.id for bullet in bullets})
        return dict(json.loads(json.dumps(whole, default=datetime.isoformat)))

    def copy(self, ref: str, upto: int | None) -> str:
        """Copy a session up to interaction `upto` (None: all) into a new one, and return its id. Copies messages,
        calls, turn records, reductions and the session's own strategies, but neither costs nor evidence. Raises
        BadInput if `ref` matches no session or several."""
        with self._database.transaction() as db:
            old = _find_row(db, ref)
            last = old.interactions if upto is None else max(0, min(upto, old.interactions))
            whole = _read_turns(db, old.id, last)
            new = SessionRow(**old.model_dump(exclude={"number"}))
            new.id = uuid7()
            new.parent_id = old.id
            if old.title:
                new.title = f"{old.title} (fork)"
            new.interactions = last
            new.messages = len(whole["messages"])
            new.cost = 0.0
            new.window_start = max(1, min(old.window_start, last))
            new.created_at = new.updated_at = datetime.now(UTC)
            db.add(new)
            db.flush()
            write_turns(db, new.id, whole | {"requests": []})
            for choice in _rows(db, ChoiceRow, old.id, last):
                db.add(ChoiceRow(**choice.model_dump() | {"session_id": new.id}))
            # evidence counts once: reflections run on the original turns only
            db.add_all(
                ReflectionRow(session_id=new.id, interaction=n, status="done")
                for n in range(1, last + 1)
            )
            _copy_bullets(db, old.id, new.id)
            return new.id

    def delete(self, ref: str, *, keep: str = "") -> str:
        """Delete a session with its own strategies, and return its id. Strategies of the project and the user are kept,
        with their evidence. Raises BadInput if `ref` matches no session, several, or the one with the id `keep`."""
        with self._database.transaction() as db:
            session = _find_row(db, ref).id
            if session == keep:
                raise BadInput(
                    "The current session cannot be deleted.", "Start or resume another one first."
                )
            gone = [
                session,
                *db.exec(select(SessionRow.id).filter_by(parent_id=session, directory="")).all(),
            ]
            calls = select(CallRow.id).where(col(CallRow.session_id).in_(gone))
            bullets = select(BulletRow.number).filter_by(session_id=session, scope="session")
            db.exec(sqlmodel.delete(FullResultRow).where(col(FullResultRow.call).in_(calls)))
            for table in reversed(Row.metadata.sorted_tables):  # children before parents
                if any(key.target_fullname == "session.id" for key in table.foreign_keys):
                    db.connection().execute(table.delete().where(table.c.session_id.in_(gone)))
            db.exec(sqlmodel.delete(EvidenceRow).where(col(EvidenceRow.bullet).in_(bullets)))
            db.exec(sqlmodel.delete(BulletRow).filter_by(session_id=session, scope="session"))
            db.exec(sqlmodel.delete(DeltaRow).filter_by(session_id=session, reach="session"))
            db.exec(sqlmodel.delete(SessionRow).where(col(SessionRow.id).in_(gone)))
            return session
