"""Sessions in the database: each function is one transaction and a fixed number of statements."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import sqlmodel
from sqlalchemy import func
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from swecli.models.errors import BadInput, DamagedDatabase
from swecli.models.ids import short_id
from swecli.models.message import ChatMessage, RequestRecord, Role, ToolCall
from swecli.models.session import Session
from swecli.store.records import InteractionInfo, Unfinished
from swecli.store.sessions import mapping
from swecli.store.sessions.queries import find_row
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import finite
from swecli.store.tables.playbook import BulletRow, ChoiceRow
from swecli.store.tables.sessions import CallRow, FullResultRow, InteractionRow, MessageRow, SessionRow

_RUNNING = "running"
INTERRUPTED = "interrupted"
_UNFINISHED = "swecli ended while it ran"  # the error of a call, until it is known what became of it


class SessionStore:
    """Writes sessions and reads them back."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put_message(self, session: Session, message: ChatMessage, *, opens: bool = False) -> list[int]:
        """Commit a message with its calls, and its session if this is the first; returns the keys of the calls.

        Sets `message.id` and `message.interaction`; the texts become what a reader will get. `opens` begins a new
        interaction, numbered after the newest in the database: another process may have added some.
        """
        mapping.clean_message(message)
        with self._database.transaction() as db:
            row = _session_row(db, session)
            if opens:
                row.interactions += 1
                row.first_query = row.first_query or mapping.first_query(message.content)
                db.add(_running(session.id, row.interactions, message.created_at))
            message.interaction = row.interactions if opens else session.interactions
            row.messages += 1
            row.updated_at = max(row.updated_at, message.created_at)
            stored = mapping.message_row(session.id, message)
            db.add(stored)
            db.flush()
            calls = [mapping.call_row(session.id, stored.id or 0, call) for call in message.tool_calls]
            db.add_all(calls)
        message.id = stored.id
        return [call.id or 0 for call in calls]

    def put_sent(self, message: ChatMessage) -> None:
        """Commit what the model gets of a stored user message."""
        mapping.clean_message(message)
        row = sqlmodel.update(MessageRow).where(col(MessageRow.id) == message.id)
        with self._database.transaction() as db:
            db.exec(row.values(sent=message.sent, tokens=message.tokens, encoding=message.encoding))

    def drop_query(self, session_id: str, message: ChatMessage) -> None:
        """Delete a user message, and the interaction it opened, to which nothing else belongs yet."""
        turn = (col(InteractionRow.session_id) == session_id, col(InteractionRow.number) == message.interaction)
        with self._database.transaction() as db:
            db.exec(sqlmodel.delete(MessageRow).where(col(MessageRow.id) == message.id))
            db.exec(sqlmodel.delete(InteractionRow).where(*turn))
            row = db.exec(select(SessionRow).where(col(SessionRow.id) == session_id)).one()
            row.messages -= 1
            if row.interactions == message.interaction:  # else another process has gone on behind it
                row.interactions -= 1
            if not row.messages:
                with suppress(IntegrityError), db.begin_nested():  # something else may belong to it already
                    db.delete(row)

    def put_result(self, session_id: str, call: ToolCall, full_result: str | None, key: int | None = None) -> None:
        """Commit what became of a call; `key` as given by `put_message`, else the newest call of that id is meant.

        Raises:
            BadInput: the session has no such call.
        """
        mapping.clean_call(call)
        with self._database.transaction() as db:
            which = select(CallRow).where(col(CallRow.session_id) == session_id)
            if key is None:
                which = which.where(col(CallRow.call_id) == call.id).order_by(col(CallRow.id).desc()).limit(1)
            else:
                which = which.where(col(CallRow.id) == key)
            row = db.exec(which).first()
            if row is None or row.id is None:
                raise BadInput(f"The session has no call {call.id!r}.")
            if full_result is not None:
                db.merge(FullResultRow(call=row.id, text=full_result))
            elif row.error == _UNFINISHED:
                db.exec(sqlmodel.delete(FullResultRow).where(col(FullResultRow.call) == row.id))
            mapping.fill_call(row, call)

    def put_unfinished(self, now: Unfinished) -> None:
        """Commit what a running turn has so far. What has come to its end meanwhile is left as it is."""
        of = (col(InteractionRow.session_id) == now.session_id, col(InteractionRow.number) == now.interaction)
        running = sqlmodel.update(InteractionRow).where(*of, col(InteractionRow.status) == _RUNNING)
        with self._database.transaction() as db:
            if now.partial is not None:
                db.exec(running.values(partial=now.partial, partial_after=now.after))
            for key, (result, full) in now.outputs.items():
                open_call = sqlmodel.update(CallRow).where(col(CallRow.id) == key)
                open_call = open_call.where(col(CallRow.result).is_(None) | (col(CallRow.error) == _UNFINISHED))
                if db.exec(open_call.values(result=result, error=_UNFINISHED)).rowcount and full is not None:
                    db.merge(FullResultRow(call=key, text=full))

    def put_request(self, session: Session, record: RequestRecord) -> float | None:
        """Commit what a request took; returns what the session has cost so far, None once that is not known."""
        with self._database.transaction() as db:
            row = _session_row(db, session)
            cost = finite(record.cost)
            row.cost = None if row.cost is None or cost is None else row.cost + cost
            db.add(mapping.request_row(session.id, record))
            return row.cost

    def finish(
        self,
        session_id: str,
        number: int,
        outcome: str,
        shown: Sequence[str],
        cited: Sequence[str],
        choice: Mapping[str, Any] | None = None,
    ) -> InteractionInfo:
        """Commit how an interaction ended; from now on its reflection is pending. Raises BadInput if there is none."""
        now = datetime.now(UTC)
        with self._database.transaction() as db:
            row = _interaction(db, session_id, number)
            row.status, row.finished_at, row.pending, row.partial = outcome, now, True, ""
            row.shown, row.cited = list(dict.fromkeys((*shown, *(row.shown or ())))), list(cited)
            if choice:
                db.merge(ChoiceRow(session_id=session_id, interaction=number, choice=dict(choice)))
            ids = (short_id("P", name) for name in cited)
            if numbers := [int(name.removeprefix("P-")) for name in ids if name]:
                used = sqlmodel.update(BulletRow).where(col(BulletRow.number).in_(numbers))
                db.exec(used.values(last_used=now))
            return mapping.interaction_of(row)

    def note_shown(self, session_id: str, number: int, names: Sequence[str]) -> None:
        """Commit that a running interaction was shown these strategies too. Raises BadInput if there is none."""
        with self._database.transaction() as db:
            row = _interaction(db, session_id, number)
            row.shown = list(dict.fromkeys((*(row.shown or ()), *names)))

    def interaction(self, session_id: str, number: int) -> InteractionInfo | None:
        """A turn's record."""
        with self._database.reading() as db:
            row = _find_interaction(db, session_id, number)
            return None if row is None else mapping.interaction_of(row)

    def put_settings(self, session: Session) -> None:
        """Commit title, model and window. A session without messages has no row yet and gets them with its first."""
        with self._database.transaction() as db:
            row = db.exec(select(SessionRow).where(col(SessionRow.id) == session.id)).first()
            if row is not None:
                mapping.fill_settings(row, session)

    def load(self, ref: str | None, directory: str, newest: int) -> Session:
        """A session with its newest interactions; one that a dead process left running is marked as interrupted.

        Raises:
            BadInput: none is meant by `ref`, or more than one.
            DamagedDatabase: a row of it holds what was never written.
        """
        reading = bool(self._database.only_read)
        with _legible(), self._database.reading() if reading else self._database.transaction() as db:
            row = find_row(db, ref, directory)
            if not reading:
                _settle(db, row.id)
            first = row.interactions - max(1, newest) + 1
            return mapping.session_of(row, read_messages(db, row.id, first if first > 1 else 0, row.interactions))

    def messages(self, session_id: str, first: int, last: int) -> list[ChatMessage]:
        """The messages of the interactions from `first` to `last`, in order."""
        with _legible(), self._database.reading() as db:
            return read_messages(db, session_id, first, last)


@contextmanager
def _legible() -> Iterator[None]:
    """Damage that leaves the structure whole shows as a time, a role or JSON that cannot be read."""
    try:
        yield
    except ValueError as error:
        raise DamagedDatabase(
            f"The session cannot be read: {' '.join(str(error).split())}.",
            "Resume another; a copy of the file may help.",
        ) from error


def _session_row(db: sqlmodel.Session, session: Session) -> SessionRow:
    row = db.exec(select(SessionRow).where(col(SessionRow.id) == session.id)).first()
    if row is None:
        row = mapping.session_row(session)
        db.add(row)
        db.flush()
    return row


def _running(session_id: str, number: int, started_at: datetime) -> InteractionRow:
    return InteractionRow(session_id=session_id, number=number, status=_RUNNING, pid=os.getpid(), started_at=started_at)


def _find_interaction(db: sqlmodel.Session, session_id: str, number: int) -> InteractionRow | None:
    which = select(InteractionRow).where(
        col(InteractionRow.session_id) == session_id, col(InteractionRow.number) == number
    )
    return db.exec(which).first()


def _interaction(db: sqlmodel.Session, session_id: str, number: int) -> InteractionRow:
    row = _find_interaction(db, session_id, number)
    if row is None:
        raise BadInput(f"The session has no interaction {number}.")
    return row


def read_messages(db: sqlmodel.Session, session_id: str, first: int, last: int) -> list[ChatMessage]:
    """The messages of those interactions, within a transaction."""
    theirs = (col(MessageRow.session_id) == session_id, col(MessageRow.interaction).between(first, last))
    rows = db.exec(select(MessageRow).where(*theirs).order_by(col(MessageRow.id))).all()
    which = select(CallRow).join(MessageRow, col(CallRow.message_id) == col(MessageRow.id)).where(*theirs)
    calls = db.exec(which.order_by(col(CallRow.message_id), col(CallRow.id))).all()
    of = {message: list(group) for message, group in groupby(calls, key=lambda call: call.message_id)}
    return [mapping.message_of(row, of.get(row.id or 0, [])) for row in rows]


def _settle(db: sqlmodel.Session, session_id: str) -> None:
    which = select(InteractionRow).where(
        col(InteractionRow.session_id) == session_id, col(InteractionRow.status) == _RUNNING
    )
    for row in db.exec(which).all():
        if not runs_elsewhere(row.pid):
            row.status, row.pending = INTERRUPTED, True
            _keep_partial(db, row)


def _keep_partial(db: sqlmodel.Session, turn: InteractionRow) -> None:
    """What a dead process had of an answer becomes a message, unless the answer was stored whole after that."""
    of_session = col(MessageRow.session_id) == turn.session_id
    newest = db.exec(sqlmodel.select(func.max(MessageRow.id)).where(of_session)).one() or 0
    if turn.partial and newest <= turn.partial_after:
        message = ChatMessage(Role.ASSISTANT, turn.partial, interaction=turn.number, status="partial")
        db.add(mapping.message_row(turn.session_id, message))
        counted = sqlmodel.update(SessionRow).where(col(SessionRow.id) == turn.session_id)
        db.exec(counted.values(messages=SessionRow.messages + 1))
    turn.partial = ""


def runs_elsewhere(pid: int) -> bool:
    """Whether another process of that number is alive. (Nothing runs in this one: it is just resuming.)"""
    if pid <= 0 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
