"""Writes what a turn stores: its query, its messages and calls, its requests and its end."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from typing import Any

from swecli.models.context import Reduction, RetainedFact
from swecli.models.errors import BadInput
from swecli.models.message import CallStatus, ChatMessage, RequestRecord, Role, ToolCall
from swecli.models.project import ProjectPlace
from swecli.models.session import Session
from swecli.store.journal.reader import USAGE, Reader, first_query, is_other_process
from swecli.store.journal.table import now
from swecli.store.journal.tables import (
    FULL_RESULT,
    INTERACTION,
    MESSAGE,
    MODEL_REQUEST,
    PLAYBOOK_CHOICE,
    REDUCTION,
    SESSION,
    SURVIVOR,
    TOOL_CALL,
)
from swecli.store.journal.values import clean_text, finite, values, write_moment
from swecli.store.records import UnfinishedTurn
from swecli.values import dataclass

INTERRUPTED = "interrupted"  # the status of a turn
_CUT_OFF = "swecli ended while it ran"  # what people read of a call whose result is not stored
_OF_TURN = "session_id = ? AND number = ?"
_RUNNING = (  # the calls of a turn that have no result
    "status = 'running' AND message_id IN"
    " (SELECT id FROM message WHERE session_id = ? AND interaction = ?)"
)


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it is in the database: its key, its interaction, and its fields and those of its calls by name. The
    model takes them over after the commit: a resumed session sends the same."""

    id: int
    interaction: int
    fields: Mapping[str, Any]
    calls: tuple[Mapping[str, Any], ...]

    def apply(self, message: ChatMessage) -> None:
        """Write the stored values into the message and its calls."""
        message.id = self.id
        message.interaction = self.interaction
        set_fields(message, self.fields)
        for call, fields in zip(message.tool_calls, self.calls, strict=True):
            set_fields(call, fields)


_MOVE_FILES = (
    "UPDATE file_change SET path = :new || substr(path, length(:old) + 1)"
    " WHERE session_id = :id AND substr(path, 1, length(:old) + 1) = :old || '/'"
)


def set_fields(model: Any, fields: Mapping[str, Any]) -> None:
    """Set attributes by name."""
    for name, value in fields.items():
        setattr(model, name, value)


class Writer:
    """Writes over a connection, in the transaction that is open. Nothing in memory is changed."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._reader = Reader(db)

    def add_session(self, session: Session) -> None:
        """Insert the session's row, unless it has one."""
        if self.db.execute("SELECT 1 FROM session WHERE id = ?", (session.id,)).fetchone():
            return
        place = {"directory": session.working_directory, "window_spec": str(session.window)}
        SESSION.insert(self.db, values(session, SESSION.fields) | place)

    def set_session(self, session_id: str, columns: Mapping[str, Any]) -> None:
        """Set columns of a session; one without messages has no row yet."""
        SESSION.update(self.db, columns, "id = ?", session_id)

    def move_session(self, session: Session, directory: str, place: ProjectPlace) -> None:
        """Store where a session works from now on. If its folder was renamed, its undo finds the files there."""
        columns = {"directory": directory, "project": place.project, "subfolder": place.subfolder}
        self.set_session(session.id, columns)
        if session.subfolder == place.subfolder:
            places = {"id": session.id, "old": session.working_directory, "new": directory}
            self.db.execute(_MOVE_FILES, places)

    def begin_turn(self, session: Session, message: ChatMessage) -> StoredMessage:
        """Store a query and begin its interaction, numbered after the newest in the database, to which another process
        may have added."""
        self.add_session(session)
        statement = (
            "UPDATE session SET interactions = interactions + 1,"
            " first_query = CASE first_query WHEN '' THEN ? ELSE first_query END WHERE id = ?"
        )
        self.db.execute(statement, (clean_text(first_query(message.content)), session.id))
        (number,) = self.db.execute(
            "SELECT interactions FROM session WHERE id = ?", (session.id,)
        ).fetchone()
        turn = {"session_id": session.id, "number": number, "pid": os.getpid()}
        turn |= {"started_at": message.created_at}
        turn |= {"window_spec": str(session.window), "window_start": session.window_start}
        INTERACTION.insert(self.db, turn)
        return self._insert_message(session.id, message, number)

    def add_message(self, session: Session, message: ChatMessage) -> StoredMessage:
        """Store a message of the session's newest interaction, with its calls."""
        self.add_session(session)
        return self._insert_message(session.id, message, session.interactions)

    def _insert_message(
        self, session_id: str, message: ChatMessage, interaction: int
    ) -> StoredMessage:
        self._count_message(session_id, message.created_at)
        place = {"session_id": session_id, "interaction": interaction, "role": message.role.value}
        key = MESSAGE.insert(self.db, values(message, MESSAGE.fields) | place)
        calls = [self._insert_call(session_id, key, call) for call in message.tool_calls]
        stored_fields = self._reader.fields(MESSAGE, key, MESSAGE.fields) | {
            "interaction": interaction
        }
        return StoredMessage(key, interaction, stored_fields, tuple(calls))

    def _count_message(self, session_id: str, moment: datetime) -> None:
        statement = "UPDATE session SET messages = messages + 1, updated_at = max(updated_at, ?) WHERE id = ?"
        self.db.execute(statement, (write_moment(moment), session_id))

    def _insert_call(self, session_id: str, message: int, call: ToolCall) -> dict[str, Any]:
        name = clean_text(call.id)
        place = {"message_id": message, "session_id": session_id, "call_id": name}
        key = TOOL_CALL.insert(self.db, values(call, TOOL_CALL.fields) | place)
        return {"id": name} | self._reader.fields(TOOL_CALL, key, TOOL_CALL.fields)

    def change_message(self, key: int, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Set fields of a stored message, and return them as they are stored."""
        MESSAGE.update(self.db, columns, "id = ?", key)
        return self._reader.fields(MESSAGE, key, tuple(columns))

    def drop_turn(self, session_id: str, message: ChatMessage) -> None:
        """Remove a query with its interaction, and the session if nothing refers to it any more."""
        number = message.interaction
        self.db.execute("DELETE FROM message WHERE id = ?", (message.id,))
        self.db.execute(f"DELETE FROM interaction WHERE {_OF_TURN}", (session_id, number))
        # what was recorded before the turn began; what was undone of an earlier turn with its number may be redone
        self.db.execute(
            "DELETE FROM file_change WHERE session_id = ? AND interaction = ?"
            " AND made_by = 0 AND undone_by = 0",
            (session_id, number),
        )
        self.db.execute(
            "DELETE FROM lasting_change WHERE session_id = ? AND interaction = ?",
            (session_id, number),
        )
        # another process may have added to the session
        statement = (
            "UPDATE session SET messages = messages - 1,"
            " interactions = interactions - (interactions = ?) WHERE id = ?"
        )
        self.db.execute(statement, (number, session_id))
        with suppress(sqlite3.IntegrityError):  # other rows may refer to it already
            self.db.execute("DELETE FROM session WHERE id = ? AND messages = 0", (session_id,))

    def record_call(
        self, session_id: str, call: ToolCall, full_result: str | None
    ) -> dict[str, Any]:
        """Store a call's decision and result, and return its fields as they are stored. Raises BadInput if the session
        has no such call."""
        name = clean_text(call.id)
        newest_call = self._newest_call(session_id, name)
        if newest_call is None:
            raise BadInput(f"The session has no call {name!r}.")
        key, status = newest_call
        if full_result is not None:
            FULL_RESULT.replace(self.db, {"call": key, "text": full_result})
        elif status in (CallStatus.RUNNING, CallStatus.INTERRUPTED):
            self.db.execute("DELETE FROM full_result WHERE call = ?", (key,))
        TOOL_CALL.update(self.db, values(call, TOOL_CALL.fields), "id = ?", key)
        return {"id": name} | self._reader.fields(TOOL_CALL, key, TOOL_CALL.fields)

    def _newest_call(self, session_id: str, name: str) -> tuple[int, str] | None:
        """Return key and status of the newest call with that id: a provider may use one twice."""
        newest = (
            "SELECT id, status FROM tool_call WHERE session_id = ? AND call_id = ?"
            " ORDER BY id DESC LIMIT 1"
        )
        row: tuple[int, str] | None = self.db.execute(newest, (session_id, name)).fetchone()
        return row

    def save_unfinished(self, turn: UnfinishedTurn) -> None:
        """Store the partial answer and outputs of a running turn; what has finished since is not changed."""
        if turn.partial is not None:
            fields = {"partial": turn.partial, "partial_after": turn.after}
            of = (turn.session_id, turn.interaction)
            INTERACTION.update(self.db, fields, f"{_OF_TURN} AND status = 'running'", *of)
        for name, (result, full) in turn.outputs.items():
            newest_call = self._newest_call(turn.session_id, clean_text(name))
            if newest_call is None:
                continue
            key, status = newest_call
            if status != CallStatus.RUNNING:
                continue
            TOOL_CALL.update(self.db, {"result": result, "error": _CUT_OFF}, "id = ?", key)
            if full is not None:
                FULL_RESULT.replace(self.db, {"call": key, "text": full})

    def settle_interrupted(self, session_id: str) -> None:
        """Mark running turns of dead processes as interrupted, and so their running calls. A partial answer becomes a
        message, unless the whole answer was stored later."""
        running = (
            "SELECT number, pid, partial, partial_after FROM interaction"
            " WHERE session_id = ? AND status = 'running'"
        )
        for number, pid, partial, after in self.db.execute(running, (session_id,)).fetchall():
            if is_other_process(pid):
                continue
            (newest,) = self.db.execute(
                "SELECT coalesce(max(id), 0) FROM message WHERE session_id = ?", (session_id,)
            ).fetchone()
            if partial and newest <= after:
                message = ChatMessage(Role.ASSISTANT, partial, status="partial")
                self._insert_partial(session_id, message, number)
            TOOL_CALL.update(
                self.db, {"status": CallStatus.INTERRUPTED}, _RUNNING, session_id, number
            )
            ended = {"status": INTERRUPTED, "pending": True, "partial": ""}
            INTERACTION.update(self.db, ended, _OF_TURN, session_id, number)

    def _insert_partial(self, session_id: str, message: ChatMessage, number: int) -> None:
        """Store a partial answer, without making the session the last used one."""
        place = {"session_id": session_id, "interaction": number, "role": message.role.value}
        MESSAGE.insert(self.db, values(message, MESSAGE.fields) | place)
        self.db.execute("UPDATE session SET messages = messages + 1 WHERE id = ?", (session_id,))

    def record_request(self, session: Session, record: RequestRecord) -> float | None:
        """Store the usage of a request, and return the session's cost: None with the first unknown one."""
        self.add_session(session)
        (earlier_cost,) = self.db.execute(
            "SELECT cost FROM session WHERE id = ?", (session.id,)
        ).fetchone()
        cost = finite(record.cost)
        total = None if earlier_cost is None or cost is None else earlier_cost + cost
        self.set_session(session.id, {"cost": total})
        fields = values(record, MODEL_REQUEST.fields) | values(record.usage, USAGE)
        MODEL_REQUEST.insert(self.db, fields | {"session_id": session.id})
        return total

    def finish_turn(
        self,
        session_id: str,
        number: int,
        outcome: str,
        *,
        shown_names: Sequence[str] = (),
        cited: Sequence[str] = (),
        choice: Mapping[str, Any] | None = None,
    ) -> datetime:
        """Store how an interaction ended; its reflection is pending from now on. Returns the time. Raises BadInput if
        there is no such interaction."""
        earlier_names, moment = self._shown_names(session_id, number), now()
        ended = {"status": outcome, "finished_at": moment, "pending": True, "partial": ""}
        ended |= {
            "shown": list(dict.fromkeys((*shown_names, *earlier_names))),
            "cited": list(cited),
        }
        INTERACTION.update(self.db, ended, _OF_TURN, session_id, number)
        if choice:
            row = {"session_id": session_id, "interaction": number, "choice": dict(choice)}
            PLAYBOOK_CHOICE.replace(self.db, row)
        return moment

    def add_shown(self, session_id: str, number: int, names: Sequence[str]) -> None:
        """Store that an interaction was shown these strategies, too. Raises BadInput if there is none."""
        earlier_names = self._shown_names(session_id, number)
        shown_names = {"shown": list(dict.fromkeys((*earlier_names, *names)))}
        INTERACTION.update(self.db, shown_names, _OF_TURN, session_id, number)

    def _shown_names(self, session_id: str, number: int) -> Sequence[str]:
        condition = f"interaction WHERE {_OF_TURN}"
        for row in self._reader.select(INTERACTION, ("shown",), condition, (session_id, number)):
            return row["shown"] or ()
        raise BadInput(f"The session has no interaction {number}.")

    def set_last_used(self, numbers: Iterable[int], moment: datetime) -> None:
        """Store when bullets were last cited."""
        self.db.executemany(
            "UPDATE bullet SET last_used = ? WHERE number = ?",
            [(write_moment(moment), number) for number in numbers],
        )

    def add_reduction(self, session_id: str, row: Reduction) -> None:
        """Store a reduction; one that begins an epoch moves the session's window."""
        epoch = asdict(row.epoch) if row.epoch else None
        edits = asdict(row.edits) if row.edits else None
        columns = {"session_id": session_id, "opens": bool(epoch), "epoch": epoch, "edits": edits}
        REDUCTION.insert(self.db, values(row, REDUCTION.fields) | columns)
        if row.epoch is not None:
            self.set_session(session_id, {"window_start": row.epoch.first})

    def mark_reduction_undone(self, number: int) -> None:
        """Store that a reduction was undone."""
        REDUCTION.update(self.db, {"undone": True}, "number = ?", number)

    def replace_fact(self, session_id: str, fact: RetainedFact) -> None:
        """Store a retained fact in place of the one of the same kind and key; one without a text removes it."""
        self.remove_fact(session_id, fact.kind, fact.key)
        if fact.text:
            self.add_fact(session_id, fact)

    def add_fact(self, session_id: str, fact: RetainedFact) -> None:
        """Store a new fact."""
        SURVIVOR.insert(self.db, values(fact, SURVIVOR.fields) | {"session_id": session_id})

    def remove_fact(self, session_id: str, kind: str, key: str) -> None:
        """Remove the fact of this kind and key, if there is one."""
        statement = "DELETE FROM survivor WHERE session_id = ? AND kind = ? AND key = ?"
        self.db.execute(statement, (session_id, kind, key))
