"""The session in use, and queries over all: each change is one transaction with a fixed number of statements."""

from __future__ import annotations

import json
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
from swecli.models.message import ChatMessage, Image, RequestRecord, Role, ToolCall
from swecli.models.session import Session, SessionInfo
from swecli.redact import redact
from swecli.store.journal.reader import CALL, MESSAGE, REQUEST, SESSION, USAGE, first_query
from swecli.store.journal.values import clean_text, values
from swecli.store.records import FoundInteraction, SearchHit, TextMatch, UnfinishedTurn, UsageTotals
from swecli.store.sessions.search import FLOOR, find_text, search_all, search_session
from swecli.store.sqlite.database import Database
from swecli.store.sqlite.orm import reader
from swecli.store.tables.columns import Money
from swecli.store.tables.learned import BulletRow, ChoiceRow
from swecli.store.tables.sessions import (
    CallRow,
    FullResultRow,
    InteractionRow,
    MessageRow,
    RequestRow,
    SessionRow,
)

INTERRUPTED = "interrupted"  # the status of a turn
_ENDING = 400  # characters
_ENDINGS = (
    "SELECT session_id, role, substr(content, 1, :most) FROM message WHERE id IN (SELECT max(id) FROM message WHERE"
    " session_id IN (SELECT value FROM json_each(:ids)) AND content != '' GROUP BY session_id, role)"
)
_UNFINISHED = "swecli ended while it ran"  # the error of a call until its result is stored


class SessionWriter:
    """The session in use: commits changes to the database, then applies them to `current_session`; and queries over all
    sessions. Every function may raise StoreError; then neither has changed."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.current_session: Session | None = None
        self._waiting: ChatMessage | None = None  # stored, but its turn has not begun

    @property
    def session(self) -> Session:
        """The session in use. Raises BadInput if there is none."""
        if self.current_session is None:
            raise BadInput("No session is open.")
        return self.current_session

    def list_sessions(self, directory: str | None = None, limit: int = 20) -> list[SessionInfo]:
        """Return the last used sessions of one directory, or of all, newest first."""
        with self.database.reading() as db:
            found = reader(db).list_sessions(directory, max(0, limit))
        # rows of earlier versions are not redacted
        return [
            replace(info, title=redact(info.title), first_query=redact(info.first_query))
            for info in found
        ]

    def endings(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the beginnings of the last texts of "user" and "assistant" by session id."""
        found: dict[str, dict[str, str]] = {}
        with self.database.reading() as db:
            rows = reader(db).db.execute(_ENDINGS, {"ids": json.dumps(ids), "most": 10 * _ENDING})
            for session, role, text in rows:  # redact before truncating, so that a secret is whole
                found.setdefault(session, {})[role] = redact(text)[:_ENDING]
        return found

    def read_result(self, call_id: str) -> str | None:
        """Return the whole result of the newest call with that id, or None."""
        with self.database.reading() as db:
            row = CallRow.find_newest(db, self.session.id, clean_text(call_id))
            full = row and db.get(FullResultRow, row.id)
        return full.text if full else row.result if row else None

    def totals(self) -> UsageTotals:
        """Sum the usage of this session's requests. The cost is None if any is unknown."""
        with self.database.reading() as db:
            return reader(db).totals(self.session.id)

    def search(self, words: str, limit: int = 20) -> list[SearchHit]:
        """Find messages and titles of all sessions that contain all the words, newest first; `word*` matches a prefix.
        Raises BadInput without words."""
        if not (terms := clean_text(words).split()):
            raise BadInput("Give at least one word to search for.")
        with self.database.reading() as db:
            return search_all(reader(db).db, terms, max(0, limit))

    def find(self, text: str, limit: int = 20) -> list[TextMatch]:
        """Find a text in this session's messages and results, newest first."""
        with self.database.reading() as db:
            return find_text(reader(db).db, self.session.id, clean_text(text), limit)

    def search_session(
        self, query: str, *, before: int | None = None, limit: int = 3, floor: float = FLOOR
    ) -> list[FoundInteraction]:
        """Find interactions of this session that a query refers to, best first, each with excerpts: those `before` an
        interaction (None: all) with a score of at least `floor`, from 0 to 1."""
        with self.database.reading() as db:
            return search_session(
                reader(db).db, self.session, clean_text(query), before, limit, floor
            )

    def store_query(self, query: str, **more: Any) -> ChatMessage:
        """Commit a query before its turn is prepared, so that it survives a kill, and return its message.
        `begin_interaction` with the same text continues with it, `drop_query` removes it."""
        if (waiting := self._waiting) is not None and waiting.content == clean_text(query):
            return waiting  # stored before this store was opened
        self._interrupt_waiting()
        message = ChatMessage(Role.USER, query, **more)
        self._commit(message, opens=True)
        self._waiting = message
        return message

    def drop_query(self) -> None:
        """Remove the query that `store_query` stored, with its interaction: the user edits it again."""
        if (message := self._waiting) is None:
            return
        with self.database.transaction() as db:
            db.exec(sqlmodel.delete(MessageRow).filter_by(id=message.id))
            db.delete(self._turn(db, message.interaction))
            row = self._row(db)
            row.messages -= 1
            if (
                row.interactions == message.interaction
            ):  # else another process has added to the session
                row.interactions -= 1
            if not row.messages:
                with (
                    suppress(IntegrityError),
                    db.begin_nested(),
                ):  # other rows may refer to it already
                    db.delete(row)
        self._waiting = None

    def _interrupt_waiting(self) -> None:
        """Mark a stored query whose turn never began as interrupted."""
        if (message := self._waiting) is not None:
            self.session.add_message(message)
            self._waiting = None
            self.finish_interaction(INTERRUPTED)

    def begin_interaction(
        self,
        query: str,
        sent: str | None = None,
        *,
        images: list[Image] | None = None,
        **counted: Any,
    ) -> ChatMessage:
        """Commit the user's message, unless it is stored, and begin its turn. `sent` and `images` are sent in place of
        the query; `counted` is its `tokens` and `encoding`, if they are known."""
        more = {"sent": sent, "images": images} | counted
        message = self.store_query(query, **more)
        if any(
            getattr(message, name) != value for name, value in more.items()
        ):  # it was stored without them
            with self.database.transaction() as db:
                row = db.get_one(MessageRow, message.id)
                for name, value in more.items():
                    setattr(row, name, value)
                _read_back(db, [(row, message)], tuple(more))
        self._waiting = None
        self.session.add_message(message)
        return message

    def append(self, message: ChatMessage) -> ChatMessage:
        """Commit a message of the running interaction with its calls; sets its `id` and `interaction`."""
        self._commit(message, opens=False)
        self.session.add_message(message)
        return message

    def _commit(self, message: ChatMessage, *, opens: bool) -> None:
        """Commit a message with its calls, and its session if it has no row. Sets `message.id`, `message.interaction`
        and the texts as they are stored. `opens` begins an interaction, numbered after the newest in the database, to
        which another process may have added."""
        session = self.session
        with self.database.transaction() as db:
            row = self._row(db)
            if opens:
                row.interactions += 1
                row.first_query = row.first_query or first_query(message.content)
                turn = InteractionRow(
                    session_id=session.id, number=row.interactions, pid=os.getpid()
                )
                turn.started_at = message.created_at
                turn.window_spec, turn.window_start = str(session.window), session.window_start
                db.add(turn)
            message.interaction = row.interactions if opens else session.interactions
            row.messages += 1
            row.updated_at = max(row.updated_at, message.created_at)
            stored = MessageRow.from_message(session.id, message)
            _read_back(db, [(stored, message)], MESSAGE)
            message.id, kept = stored.id, list[tuple[CallRow, ToolCall]]()
            for call in message.tool_calls:
                call.id = clean_text(call.id)
                place: dict[str, Any] = {
                    "message_id": stored.id,
                    "session_id": session.id,
                    "call_id": call.id,
                    "effects": call.effects.to_json(),
                }
                kept.append((CallRow(**place, **values(call, CALL)), call))
            _read_back(db, kept, CALL)

    def record_call(self, call: ToolCall, full_result: str | None = None) -> None:
        """Commit a call's decision, result, error and duration. `full_result` is the whole output, if the model got
        less in `call.result`. Raises BadInput if the session has no such call."""
        call.id = clean_text(call.id)
        with self.database.transaction() as db:
            row = CallRow.find_newest(db, self.session.id, call.id)
            if row is None or row.id is None:
                raise BadInput(f"The session has no call {call.id!r}.")
            if full_result is not None:
                db.merge(FullResultRow(call=row.id, text=full_result))
            elif row.error == _UNFINISHED:
                db.exec(sqlmodel.delete(FullResultRow).filter_by(call=row.id))
            for name in CALL:
                setattr(row, name, getattr(call, name))
            row.effects = call.effects.to_json()
            _read_back(db, [(row, call)], CALL)

    def save_unfinished(self, now: UnfinishedTurn) -> None:
        """Commit the partial answer and outputs of a running turn, which a resumed session shows if this process is
        killed; what has finished since is not changed. Thread-safe."""
        with self.database.transaction() as db:
            turn = InteractionRow.find(db, now.session_id, now.interaction)
            if now.partial is not None and turn is not None and turn.status == "running":
                turn.partial, turn.partial_after = now.partial, now.after
            for name, (result, full) in now.outputs.items():
                call = CallRow.find_newest(db, now.session_id, clean_text(name))
                if call is not None and (call.result is None or call.error == _UNFINISHED):
                    call.result, call.error = result, _UNFINISHED
                    if full is not None:
                        db.merge(FullResultRow(call=call.id or 0, text=full))

    def record_request(self, record: RequestRecord) -> None:
        """Commit the usage of a request. The session's cost becomes None with the first unknown cost."""
        session, cost = self.session, Money.clean(record.cost)
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
        """Commit how the newest interaction ended, the strategies it was shown and cited, and their selection. Its
        reflection is pending from now on. Raises BadInput if there is no interaction."""
        session, now = self.session, datetime.now(UTC)
        with self.database.transaction() as db:
            row = self._turn(db, session.interactions)
            row.status, row.finished_at, row.pending, row.partial = outcome, now, True, ""
            row.shown, row.cited = list(dict.fromkeys((*shown, *(row.shown or ())))), list(cited)
            if choice:
                db.merge(
                    ChoiceRow(session_id=session.id, interaction=row.number, choice=dict(choice))
                )
            used = [bullet for name in cited if (bullet := session.playbook.bullets.get(name))]
            if numbers := [bullet.number for bullet in used]:
                db.exec(
                    sqlmodel.update(BulletRow)
                    .where(col(BulletRow.number).in_(numbers))
                    .values(last_used=now)
                )
        for bullet in used:
            session.playbook.bullets[bullet.id] = replace(bullet, last_used=now)

    def add_shown(self, names: Sequence[str]) -> None:
        """Commit that the running interaction was shown these strategies, too. Raises BadInput if there is none."""
        with self.database.transaction() as db:
            row = self._turn(db, self.session.interactions)
            row.shown = list(dict.fromkeys((*(row.shown or ()), *names)))

    def rename(self, title: str) -> None:
        """Set the session's title, redacted."""
        self._set(title=redact(clean_text(title)))

    def set_model(self, name: str) -> None:
        """Set the session's model."""
        self._set(model=clean_text(name))

    def _set(self, **settings: Any) -> None:
        """Commit and apply settings. A session without messages has no row yet; its first message stores them."""
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
            names: dict[str, Any] = {
                "directory": session.working_directory,
                "window_spec": str(session.window),
            }
            row = SessionRow(**names, **values(session, SESSION))
            db.add(row)
            db.flush()
        return row

    def _turn(self, db: sqlmodel.Session, number: int) -> InteractionRow:
        row = InteractionRow.find(db, self.session.id, number)
        if row is None:
            raise BadInput(f"The session has no interaction {number}.")
        return row


def _read_back(
    db: sqlmodel.Session, pairs: Sequence[tuple[Any, Any]], names: Sequence[str]
) -> None:
    """Insert or update rows, and copy the stored values into their models: a resumed session sends the same."""
    db.add_all([row for row, _ in pairs])
    db.flush()
    for row, model in pairs:
        db.refresh(row, names)
        for name in names:
            setattr(model, name, getattr(row, name))
