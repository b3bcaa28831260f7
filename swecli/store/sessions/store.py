"""What happens in the session in use: each function is one transaction with a fixed number of statements."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import sqlmodel
from sqlalchemy.exc import IntegrityError
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.ids import parse_short_id
from swecli.models.message import ChatMessage, Image, RequestRecord, Role, ToolCall
from swecli.models.session import Session
from swecli.redact import redact
from swecli.store.reading import CALL, MESSAGE, REQUEST, SESSION, USAGE, first_query
from swecli.store.records import InteractionInfo, UnfinishedTurn
from swecli.store.sessions import mapping
from swecli.store.sessions.mapping import INTERRUPTED, RUNNING, find_turn
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import clean_text, finite, values
from swecli.store.tables.learned import BulletRow, ChoiceRow
from swecli.store.tables.sessions import CallRow, FullResultRow, InteractionRow, MessageRow, RequestRow, SessionRow

_UNFINISHED = "swecli ended while it ran"  # the error of a call, until it is known what became of it


class SessionWriter:
    """Commits what happens in the session in use, and shows it in `current_session` after. Any of its functions may
    raise StoreError, with one line for the user; then neither has changed."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.current_session: Session | None = None
        self._open_calls: dict[str, int] = {}
        self._waiting: ChatMessage | None = None  # stored, and its turn has not begun

    @property
    def session(self) -> Session:
        """The session in use. Raises BadInput where there is none."""
        if self.current_session is None:
            raise BadInput("No session is open.")
        return self.current_session

    def store_query(self, query: str) -> None:
        """Commit what the user has sent before its turn is made ready: if the process ends meanwhile, it is there.

        `begin_interaction` of the same text goes on with it, `drop_query` takes it back.
        """
        if self._waiting is not None and self._waiting.content == clean_text(query):
            return  # it was stored before this store was opened
        self._leave_waiting()
        message = ChatMessage(Role.USER, query)
        self._commit(message, opens=True)
        self._waiting = message

    def drop_query(self) -> None:
        """Take back what `store_query` stored, with the interaction it opened: the user has it in the input line
        again. Nothing where none waits."""
        if (message := self._waiting) is None:
            return
        with self.database.transaction() as db:
            db.exec(sqlmodel.delete(MessageRow).filter_by(id=message.id))
            db.delete(self._turn(db, message.interaction))
            row = self._row(db)
            row.messages -= 1
            if row.interactions == message.interaction:  # else another process has gone on behind it
                row.interactions -= 1
            if not row.messages:
                with suppress(IntegrityError), db.begin_nested():  # something else may belong to it already
                    db.delete(row)
        self._waiting = None

    def _leave_waiting(self) -> None:
        """A stored query whose turn never began stays as one that was interrupted."""
        if (message := self._waiting) is not None:
            self.session.add_message(message)
            self._waiting = None
            self.finish_interaction(INTERRUPTED)

    def begin_interaction(
        self, query: str, sent: str | None = None, *, images: list[Image] | None = None, **counted: Any
    ) -> ChatMessage:
        """Commit the user's message, and with it a new interaction. `sent` is what the model gets in its place, with
        `images`; `counted` are `tokens` and `encoding` of its size, where it was counted."""
        message = self._waiting
        if message is None or message.content != clean_text(query):
            self._leave_waiting()
            return self._put(ChatMessage(Role.USER, query, sent=sent, images=images, **counted), opens=True)
        more = {"sent": sent, "images": images} | counted
        with self.database.transaction() as db:
            row = db.get_one(MessageRow, message.id)
            for name, value in more.items():
                setattr(row, name, value)
            mapping.read_back(db, [(row, message)], tuple(more))
        self._waiting, self._open_calls = None, {}
        self.session.add_message(message)
        return message

    def append(self, message: ChatMessage) -> ChatMessage:
        """Commit a message of the running interaction, with its calls; gives it its `id` and `interaction`."""
        return self._put(message, opens=False)

    def _put(self, message: ChatMessage, *, opens: bool) -> ChatMessage:
        self._open_calls = ({} if opens else self._open_calls) | self._commit(message, opens=opens)
        self.session.add_message(message)
        return message

    def _commit(self, message: ChatMessage, *, opens: bool) -> dict[str, int]:
        """Commit a message with its calls, and its session if this is the first; the keys of the calls by their ids.

        Sets `message.id` and `message.interaction`; the texts become what a reader will get. `opens` begins a new
        interaction, numbered after the newest in the database: another process may have added some.
        """
        session = self.session
        with self.database.transaction() as db:
            row = self._row(db)
            if opens:
                row.interactions += 1
                row.first_query = row.first_query or first_query(message.content)
                turn = InteractionRow(session_id=session.id, number=row.interactions, status=RUNNING, pid=os.getpid())
                turn.started_at = message.created_at
                turn.window_spec, turn.window_start = str(session.window), session.window_start
                db.add(turn)
            message.interaction = row.interactions if opens else session.interactions
            row.messages += 1
            row.updated_at = max(row.updated_at, message.created_at)
            stored = mapping.message_row(session.id, message)
            mapping.read_back(db, [(stored, message)], MESSAGE)
            message.id, kept = stored.id, list[tuple[CallRow, ToolCall]]()
            for call in message.tool_calls:
                call.id = clean_text(call.id)
                place: dict[str, Any] = {"message_id": stored.id, "session_id": session.id, "call_id": call.id}
                kept.append((CallRow(**place, **values(call, CALL)), call))
            mapping.read_back(db, kept, CALL)
        return {call.id: row.id or 0 for row, call in kept}

    def record_call(self, call: ToolCall, full_result: str | None = None) -> None:
        """Commit what became of a call: decision, result, error, duration. `full_result` is the whole output, where the
        model got less than that in `call.result`. Raises BadInput when no message of the session has such a call."""
        call.id = clean_text(call.id)
        with self.database.transaction() as db:
            row = db.get(CallRow, self._open_calls.get(call.id, 0))
            if row is None:
                theirs = select(CallRow).filter_by(session_id=self.session.id, call_id=call.id)
                row = db.exec(theirs.order_by(col(CallRow.id).desc()).limit(1)).first()
            if row is None or row.id is None:
                raise BadInput(f"The session has no call {call.id!r}.")
            if full_result is not None:
                db.merge(FullResultRow(call=row.id, text=full_result))
            elif row.error == _UNFINISHED:
                db.exec(sqlmodel.delete(FullResultRow).filter_by(call=row.id))
            for name in CALL:
                setattr(row, name, getattr(call, name))
            mapping.read_back(db, [(row, call)], CALL)

    def open_call(self, call_id: str) -> int | None:
        """The key by which `note_unfinished` takes a call of the running turn; None where no message of it has one."""
        return self._open_calls.get(call_id)

    def note_unfinished(self, now: UnfinishedTurn) -> None:
        """Commit what a running turn has so far: what a resumed session shows if this process is killed. What has come
        to its end meanwhile is left as it is. Any thread."""
        with self.database.transaction() as db:
            turn = find_turn(db, now.session_id, now.interaction)
            if now.partial is not None and turn is not None and turn.status == RUNNING:
                turn.partial, turn.partial_after = now.partial, now.after
            for key, (result, full) in now.outputs.items():
                call = db.get(CallRow, key)
                if call is not None and (call.result is None or call.error == _UNFINISHED):
                    call.result, call.error = result, _UNFINISHED
                    if full is not None:
                        db.merge(FullResultRow(call=key, text=full))

    def record_request(self, record: RequestRecord) -> None:
        """Commit what a request to a model took. The session's cost is unknown from the first unknown price on."""
        session, cost = self.session, finite(record.cost)
        with self.database.transaction() as db:
            row = self._row(db)
            row.cost = None if row.cost is None or cost is None else row.cost + cost
            took = values(record, REQUEST) | values(record.usage, USAGE)
            db.add(RequestRow(session_id=session.id, **took))
        session.cost = row.cost
        if record.purpose == "turn":
            session.context.record_request(record, datetime.now(UTC))

    def finish_interaction(
        self,
        outcome: str,
        *,
        shown: Sequence[str] = (),
        cited: Sequence[str] = (),
        choice: Mapping[str, Any] | None = None,
    ) -> None:
        """Commit how the newest interaction ended, which strategies it was shown and cited, and how they were chosen.

        From now on its reflection is pending. Raises BadInput when nothing was begun.
        """
        session, now = self.session, datetime.now(UTC)
        with self.database.transaction() as db:
            row = self._turn(db, session.interactions)
            row.status, row.finished_at, row.pending, row.partial = outcome, now, True, ""
            row.shown, row.cited = list(dict.fromkeys((*shown, *(row.shown or ())))), list(cited)
            if choice:
                db.merge(ChoiceRow(session_id=session.id, interaction=row.number, choice=dict(choice)))
            numbers = [int(name.removeprefix("P-")) for name in cited if parse_short_id("P", name) == name]
            if numbers:
                db.exec(sqlmodel.update(BulletRow).where(col(BulletRow.number).in_(numbers)).values(last_used=now))
        for name in cited:
            if bullet := session.playbook.bullets.get(name):
                session.playbook.bullets[name] = replace(bullet, last_used=now)

    def note_shown(self, names: Sequence[str]) -> None:
        """Commit that the running interaction was shown these strategies too. Raises BadInput where there is none."""
        with self.database.transaction() as db:
            row = self._turn(db, self.session.interactions)
            row.shown = list(dict.fromkeys((*(row.shown or ()), *names)))

    def interaction_info(self, n: int) -> InteractionInfo | None:
        """The record of the session's interaction `n`; None if there is none."""
        with self.database.reading() as db:
            row = find_turn(db, self.session.id, n)
            return None if row is None else mapping.interaction_of(row)

    def rename(self, title: str) -> None:
        """Give the session another title. A secret in it is not kept."""
        self._set(title=redact(clean_text(title)))

    def set_model(self, name: str) -> None:
        """Note that the session goes on with another model."""
        self._set(model=clean_text(name))

    def _set(self, **settings: Any) -> None:
        """Commit and show settings. A session without messages has no row yet and gets them with its first."""
        session = self.session
        with self.database.transaction() as db:
            row = db.exec(select(SessionRow).filter_by(id=session.id)).first()
            for name, value in settings.items() if row is not None else ():
                setattr(row, *(("window_spec", str(value)) if name == "window" else (name, value)))
        for name, value in settings.items():
            setattr(session, name, value)

    def _row(self, db: sqlmodel.Session) -> SessionRow:
        session = self.session
        row = db.exec(select(SessionRow).filter_by(id=session.id)).first()
        if row is None:
            names: dict[str, Any] = {"directory": session.working_directory, "window_spec": str(session.window)}
            row = SessionRow(**names, **values(session, SESSION))
            db.add(row)
            db.flush()
        return row

    def _turn(self, db: sqlmodel.Session, number: int) -> InteractionRow:
        row = find_turn(db, self.session.id, number)
        if row is None:
            raise BadInput(f"The session has no interaction {number}.")
        return row
