"""Export, fork and delete sessions. An `Archive` is a session with all its rows as one JSON-like value, which forks and
imports write.

The value holds the columns of each table, so that a new column needs no code here. Database keys are left out: messages
and reductions are numbered from 1 within the session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import count
from typing import Any

import sqlmodel
from sqlmodel import col, select

from swecli.models.context import UNDO
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
from swecli.store.tables.undo import FileChangeRow, LastingChangeRow

Archive = dict[str, Any]
_FOREIGN = "elsewhere:"  # prefix of the id of a strategy that does not exist here
# columns that belong to this database, or to the process that runs a turn
EXCLUDED_COLUMNS: Mapping[type[sqlmodel.SQLModel], set[str]] = {
    # what the user allowed for a session is not allowed by whoever sends it to him
    SessionRow: {"number", "interactions", "messages", "allowed", "folders"},
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
    session_id = reader(db).find_session(clean_text(ref), "")
    return db.exec(select(SessionRow).filter_by(id=session_id)).one()


def rename_strategies(archive: Archive, new_ids: Mapping[str, str]) -> None:
    """Replace the strategy ids in the turns by `new_ids`. Ids not in it get a prefix, so that they match no
    strategy."""
    for turn in archive["interactions"]:
        for column in ("shown", "cited"):
            if turn.get(column):
                turn[column] = [
                    new_ids.get(name, _FOREIGN + name.removeprefix(_FOREIGN))
                    for name in turn[column]
                ]


def _read_turns(db: sqlmodel.Session, session_id: str, last: int) -> Archive:
    """Return the rows of a session's interactions up to number `last`. Must run in a transaction."""
    records = {row.interaction: _columns(row) for row in _rows(db, TurnRow, session_id, last)}
    calls = _read_calls(db, session_id)
    return {
        "interactions": [
            _columns(row) | {"playbook": records.get(row.number)}
            for row in _rows(db, InteractionRow, session_id, last)
        ],
        "messages": [
            _columns(row) | {"id": number, "tool_calls": calls.get(row.id or 0, [])}
            for number, row in enumerate(_rows(db, MessageRow, session_id, last), 1)
        ],
        "requests": [_columns(row) for row in _rows(db, RequestRow, session_id, last)],
        "reductions": _numbered(_rows(db, ReductionRow, session_id, last)),
        "survivors": [_columns(row) for row in _rows(db, SurvivorRow, session_id, last)],
    }


def _read_calls(db: sqlmodel.Session, session_id: str) -> dict[int, list[Archive]]:
    """Return the calls of a session by the key of their message, with the results that were truncated in full."""
    joined = (
        select(CallRow, FullResultRow.text)
        .outerjoin(FullResultRow, col(FullResultRow.call) == col(CallRow.id))
        .filter_by(session_id=session_id)
        .order_by(col(CallRow.id))
    )
    calls: dict[int, list[Archive]] = {}
    for row, full_result in db.exec(joined).all():
        call = {"id": row.call_id} | _columns(row)
        if full_result is not None:
            call["full_result"] = full_result
        calls.setdefault(row.message_id, []).append(call)
    return calls


def _rows(db: sqlmodel.Session, table: Any, session_id: str, last: int) -> list[Any]:
    """Return a session's rows in the order of their primary keys."""
    number = table.number if table is InteractionRow else table.interaction
    in_range = select(table).filter_by(session_id=session_id).where(number <= last)
    return list(db.exec(in_range.order_by(*table.__table__.primary_key.columns)).all())


def _columns(row: sqlmodel.SQLModel) -> Archive:
    excluded = EXCLUDED_COLUMNS[type(row)]
    return values(row, [name for name in type(row).model_fields if name not in excluded])


def _numbered(rows: list[ReductionRow]) -> list[Archive]:
    """Number reductions from 1; the undo of a reduction refers to it by that number."""
    new_ids = {f"R-{row.number}": f"R-{number}" for number, row in enumerate(rows, 1)}
    numbered = []
    for number, row in enumerate(rows, 1):
        reduction = _columns(row) | {"number": number}
        if row.how == UNDO and row.detail in new_ids:
            reduction["detail"] = new_ids[row.detail]
        numbered.append(reduction)
    return numbered


def write_turns(db: sqlmodel.Session, session_id: str, archive: Archive) -> None:
    """Store the rows of `_read_turns` under another session, whose own row exists. Must run in a transaction."""
    owner: Archive = {"session_id": session_id}
    for turn in archive["interactions"]:
        db.add(InteractionRow(**_omit(turn, "playbook"), **owner, pending=False))
        if turn["playbook"] is not None:
            db.add(TurnRow(**turn["playbook"], **owner, interaction=turn["number"]))
    messages = [
        MessageRow(**_omit(message, "id", "tool_calls"), **owner) for message in archive["messages"]
    ]
    db.add_all(messages)
    db.flush()  # assigns the keys, in this order
    for row, message in zip(messages, archive["messages"], strict=True):
        for call in message["tool_calls"]:
            _write_call(db, call, row)
    db.add_all(RequestRow(**request, **owner) for request in archive["requests"])
    db.add_all(SurvivorRow(**survivor, **owner) for survivor in archive["survivors"])
    _write_reductions(db, archive["reductions"], session_id)
    db.flush()


def _write_call(db: sqlmodel.Session, call: Archive, message: MessageRow) -> None:
    """Store a call of a message, with its result in full if that was truncated."""
    row = CallRow(
        **_omit(call, "id", "full_result"),
        session_id=message.session_id,
        call_id=call["id"],
        message_id=message.id or 0,
    )
    db.add(row)
    if call.get("full_result") is not None:
        db.flush()
        db.add(FullResultRow(call=row.id or 0, text=call["full_result"]))


def _write_reductions(db: sqlmodel.Session, reductions: list[Archive], session_id: str) -> None:
    """Store reductions under new numbers, to which their undos then refer."""
    new_ids: dict[str, str] = {}
    for reduction in reductions:
        row = ReductionRow(**reduction | {"number": None}, session_id=session_id)
        if row.how == UNDO and row.detail in new_ids:
            row.detail = new_ids[row.detail]
        db.add(row)
        db.flush()
        new_ids[f"R-{reduction['number']}"] = f"R-{row.number}"


def _omit(value: Archive, *names: str) -> Archive:
    return {name: item for name, item in value.items() if name not in names}


def _copy_bullets(db: sqlmodel.Session, source_id: str, target_id: str) -> None:
    """Copy the strategies of a session, and the evidence on them, to another one."""
    bullets = (
        select(BulletRow)
        .filter_by(session_id=source_id, scope="session")
        .where(col(BulletRow.state) != "deleted")
        .order_by(col(BulletRow.number))
    )
    for bullet in db.exec(bullets).all():
        copy = BulletRow(**bullet.model_dump(exclude={"number"}) | {"session_id": target_id})
        db.add(copy)
        db.flush()
        owner = {"bullet": copy.number, "delta": None}
        evidence = select(EvidenceRow).filter_by(bullet=bullet.number)
        for item in db.exec(evidence.order_by(col(EvidenceRow.id))).all():
            db.add(EvidenceRow(**item.model_dump(exclude={"id"}) | owner))


def _unused_title(db: sqlmodel.Session, title: str) -> str:
    """Return the title of a copy, with a number if an earlier copy has it: a session is found by its title."""
    copy = f"{title} (fork)"
    for number in count(2):
        if db.exec(select(SessionRow.id).where(SessionRow.title == copy)).first() is None:
            break
        copy = f"{title} (fork {number})"
    return copy


def _changes_without_contents(
    db: sqlmodel.Session, original: str, copy: str, last: int
) -> Iterator[LastingChangeRow]:
    """Yield a row for each file that copied turns changed: what was in it is undone in the original alone."""
    rows = _rows(db, FileChangeRow, original, last)
    names = [
        (row.interaction, row.path, original)
        for row in rows
        if not row.made_by and not row.undone_by
    ]
    earlier = _rows(db, LastingChangeRow, original, last)
    names += [(row.interaction, row.name, row.before) for row in earlier if row.kind == "copied"]
    for turn, name, source in dict.fromkeys(names):
        yield LastingChangeRow(
            session_id=copy, interaction=turn, kind="copied", name=name, before=source
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
            archive = _columns(row) | _read_turns(db, row.id, row.interactions)
            archive["playbook"] = [bullet.to_json() for bullet in bullets]
            archive["totals"] = asdict(reader(db).totals(row.id))
        rename_strategies(archive, {bullet.id: bullet.id for bullet in bullets})
        return dict(json.loads(json.dumps(archive, default=datetime.isoformat)))

    def copy(self, ref: str, upto: int | None) -> str:
        """Copy a session up to interaction `upto` (None: all) into a new one, and return its id. Copies messages,
        calls, turn records, reductions and the session's own strategies, but neither costs nor evidence, and of changed
        files the names alone. Raises BadInput if `ref` matches no session or several."""
        with self._database.transaction() as db:
            original = _find_row(db, ref)
            last = (
                original.interactions if upto is None else max(0, min(upto, original.interactions))
            )
            archive = _read_turns(db, original.id, last)
            copy = SessionRow(**original.model_dump(exclude={"number"}))
            copy.id = uuid7()
            copy.parent_id = original.id
            if original.title:
                copy.title = _unused_title(db, original.title)
            copy.interactions = last
            copy.messages = len(archive["messages"])
            copy.cost = 0.0
            copy.folders = None  # they are of the session that the user added them to
            copy.window_start = max(1, min(original.window_start, last))
            copy.created_at = copy.updated_at = datetime.now(UTC)
            db.add(copy)
            db.flush()
            write_turns(db, copy.id, archive | {"requests": []})
            for choice in _rows(db, ChoiceRow, original.id, last):
                db.add(ChoiceRow(**choice.model_dump() | {"session_id": copy.id}))
            # evidence counts once: reflections run on the original turns only
            db.add_all(
                ReflectionRow(session_id=copy.id, interaction=number, status="done")
                for number in range(1, last + 1)
            )
            db.add_all(_changes_without_contents(db, original.id, copy.id, last))
            _copy_bullets(db, original.id, copy.id)
            return copy.id

    def delete(self, ref: str) -> str:
        """Delete a session with its own strategies, and return its id. Strategies of the project and the user are kept,
        with their evidence. Raises BadInput if `ref` matches no session or several."""
        with self._database.transaction() as db:
            session_id = _find_row(db, ref).id
            # its tasks and its undone turns
            hidden_sessions = db.exec(
                select(SessionRow.id).filter_by(parent_id=session_id, directory="")
            )
            deleted = [session_id, *hidden_sessions.all()]
            owner = {"session_id": session_id}
            calls = select(CallRow.id).where(col(CallRow.session_id).in_(deleted))
            bullets = select(BulletRow.number).filter_by(**owner, scope="session")
            db.exec(sqlmodel.delete(FullResultRow).where(col(FullResultRow.call).in_(calls)))
            for table in reversed(Row.metadata.sorted_tables):  # children before parents
                if any(key.target_fullname == "session.id" for key in table.foreign_keys):
                    db.connection().execute(table.delete().where(table.c.session_id.in_(deleted)))
            db.exec(sqlmodel.delete(EvidenceRow).where(col(EvidenceRow.bullet).in_(bullets)))
            db.exec(sqlmodel.delete(BulletRow).filter_by(**owner, scope="session"))
            db.exec(sqlmodel.delete(DeltaRow).filter_by(**owner, reach="session"))
            db.exec(sqlmodel.delete(SessionRow).where(col(SessionRow.id).in_(deleted)))
            return session_id
