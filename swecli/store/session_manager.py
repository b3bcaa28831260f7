"""The session in use, and access to all others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlmodel
from sqlalchemy import func
from sqlmodel import col

from swecli.models.context import BEGIN, UNDO, Reduction, RetainedFact, WindowSpec
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.message import ChatMessage, RequestRecord, Role
from swecli.models.session import Session
from swecli.redact import redact
from swecli.store.journal.reader import NEWEST, PIN, REDUCTION, first_loaded
from swecli.store.journal.values import clean_text, values
from swecli.store.playbook.store import PlaybookStore
from swecli.store.session_files.archive import SessionArchive
from swecli.store.sessions.store import INTERRUPTED
from swecli.store.sqlite.database import Database, open_database
from swecli.store.sqlite.orm import reader
from swecli.store.tables.sessions import (
    InteractionRow,
    MessageRow,
    ReductionRow,
    SessionRow,
    SurvivorRow,
)
from swecli.store.undo import UndoStore

if TYPE_CHECKING:  # few sessions have findings
    from swecli.models.finding import Finding

_ALL = 1_000_000  # more reductions than a session has


class SessionManager(SessionArchive):
    """Keeps `current_session` and the database in sync, see `SessionWriter`; starts, resumes and forks sessions."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.playbook = PlaybookStore(database)
        self.context = _ContextStore(database)
        self.undo = UndoStore(database)

    @classmethod
    def open(cls, location: str | Path, *, even_read_only: bool = False) -> SessionManager:
        """Open the store; see `open_database`. Raises BadInput, StoreError."""
        return cls(open_database(location, even_read_only=even_read_only))

    def start(
        self,
        directory: str,
        model: str,
        *,
        title: str = "",
        window: WindowSpec | None = None,
        project: str = "",
    ) -> Session:
        """Start a session; nothing is stored before its first message. Strategies of project scope are shared by
        `project`, which is the directory if it is empty."""
        directory, title = clean_text(directory), redact(clean_text(title))
        session = Session(
            uuid7(), directory, title=title, model=clean_text(model), window=window or WindowSpec()
        )
        session.project = clean_text(project) or directory
        return self.use(session)

    def start_task(self, title: str) -> SessionManager:
        """Start a session for a task of the running turn. It is not listed and not learned from, and its usage is
        recorded in this session as "task"."""
        task, session = _TaskSessions(self), self.session
        task.start("", session.model, title=f"task: {title}").parent_id = session.id
        return task

    def resume(self, ref: str | None, directory: str, window_hint: int = NEWEST) -> Session:
        """Resume a session with its newest `window_hint` interactions and its playbook. `ref` is an id, a title or a
        unique prefix of an id; None or "" is the newest of the directory. Turns of dead processes are marked as
        interrupted first, unless the store is read-only. Raises BadInput, DamagedDatabase."""
        database = self.database
        begin = database.reading if database.is_read_only else database.transaction
        with begin() as db:
            session_id = reader(db).find_session(ref and clean_text(ref), clean_text(directory))
            if not database.is_read_only:
                _settle_interrupted(db, session_id)
            session = reader(db).session(session_id, window_hint)
        return self.use(session)

    def use(self, session: Session, waiting: ChatMessage | None = None) -> Session:
        """Use a session, with its playbook reloaded; `waiting` is a stored message whose turn has not begun."""
        session.update_playbook(self.playbook.load(session))
        self.current_session, self._waiting = session, waiting
        return session

    def load_back_to(self, interaction: int) -> None:
        """Load the interactions from that number on into `current_session.messages`."""
        with self.database.reading() as db:
            reader(db).load_back_to(self.session, interaction)

    def unload_old_turns(self) -> None:
        """Drop from memory the messages that a resumed session would not load either."""
        session = self.session
        first = first_loaded(session)
        kept = [message for message in session.messages if message.interaction >= first]
        if len(kept) == len(session.messages):
            return
        session.messages = kept
        with self.database.reading() as db:
            reader(db).load_pinned(session)

    def set_window(self, spec: WindowSpec) -> None:
        """Set the session's window, and load the turns that it keeps."""
        self._set(window=spec)
        self.load_back_to(spec.first_kept(self.session.interactions, self.session.window_start))

    def undo_reduction(self, hold_turns: int, hold_tokens: int) -> Reduction:
        """Undo the session's newest reduction and return it: the next request is built without it. The undo row delays
        its repetition, see `Reduction`. Raises BadInput if there is none."""
        session = self.session
        with self.database.transaction() as db:
            known = reader(db).reductions(session.id, _ALL)
            taken = next(
                (one for one in known if not one.undone and one.how not in (BEGIN, UNDO)), None
            )
            if taken is None:
                raise BadInput("Nothing has been removed from this session's requests yet.")
            db.get_one(ReductionRow, taken.number).undone = True
            undo = ReductionRow(session_id=session.id, how=UNDO, interaction=session.interactions)
            undo.detail, undo.hold_turns, undo.hold_tokens = (
                f"R-{taken.number}",
                hold_turns,
                hold_tokens,
            )
            db.add(undo)
            present = reader(db).reductions(session.id)
        session.context.reductions = present
        if (epoch := session.context.epoch) is not None:
            self.load_back_to(epoch.first)
        return replace(taken, undone=True)

    def open_findings(self, paths: Iterable[str]) -> list[Finding]:
        """Return the open review findings in these files of the session's project."""
        # late: few sessions have any
        from swecli.store.reviews import ReviewStore

        return ReviewStore(self.database, self.session.project).findings(
            ("open", "regressed"), paths
        )

    def fork(self, ref: str | None = None, *, upto: int | None = None) -> Session:
        """Copy a session (None: this one) and resume the copy; see `SessionArchive`."""
        return self.resume(self._copy(ref or self.session.id, upto), "")


def _settle_interrupted(db: sqlmodel.Session, session_id: str) -> None:
    """Mark running turns of dead processes as interrupted. A partial answer becomes a message, unless the whole answer
    was stored later."""
    for turn in InteractionRow.find_running(db, session_id):
        if turn.is_running_elsewhere:
            continue
        newest = db.exec(
            sqlmodel.select(func.max(MessageRow.id)).filter_by(session_id=session_id)
        ).one()
        if turn.partial and (newest or 0) <= turn.partial_after:
            message = ChatMessage(
                Role.ASSISTANT, turn.partial, interaction=turn.number, status="partial"
            )
            db.add(MessageRow.from_message(session_id, message))
            counted = sqlmodel.update(SessionRow).filter_by(id=session_id)
            db.exec(counted.values(messages=col(SessionRow.messages) + 1))
        turn.status, turn.pending, turn.partial = INTERRUPTED, True, ""


class _ContextStore:
    """Keeps `session.context` and the database in sync. Every function may raise StoreError; then neither has
    changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, session: Session, row: Reduction) -> Reduction:
        """Commit a reduction; return it as it is read back, with its number."""
        epoch, edits = row.epoch and asdict(row.epoch), asdict(row.edits) if row.edits else None
        stored = ReductionRow(session_id=session.id, opens=bool(epoch), **values(row, REDUCTION))
        stored.epoch, stored.edits = epoch, edits
        with self._database.transaction() as db:
            db.add(stored)
            if row.epoch is not None:
                db.exec(
                    sqlmodel.update(SessionRow)
                    .filter_by(id=session.id)
                    .values(window_start=row.epoch.first)
                )
            clean = reader(db).reductions(session.id, 1)[0]
        session.context.add(clean)
        if clean.epoch is not None:
            session.window_start = clean.epoch.first
        return clean

    def log(self, session: Session, limit: int = 1000) -> list[Reduction]:
        """Return the session's reductions, undone ones too, newest first."""
        with self._database.reading() as db:
            return reader(db).reductions(session.id, limit)

    def pin(self, session: Session, interaction: int) -> None:
        """Commit that an interaction is pinned. Raises BadInput if it does not exist."""
        if not 1 <= interaction <= session.interactions:
            raise BadInput(f"There is no turn T{interaction} in this session.", "See /window.")
        if interaction in session.context.pins:
            return
        row = SurvivorRow(
            session_id=session.id, kind=PIN, key=str(interaction), interaction=interaction
        )
        with self._database.transaction() as db:
            db.add(row)
        session.context.pins = tuple(sorted({*session.context.pins, interaction}))
        with self._database.reading() as db:
            reader(db).load_pinned(session)

    def unpin(self, session: Session, interaction: int) -> None:
        """Commit that an interaction is not pinned any more. Raises BadInput if it is not pinned."""
        if interaction not in session.context.pins:
            raise BadInput(f"T{interaction} is not pinned.")
        with self._database.transaction() as db:
            db.exec(
                sqlmodel.delete(SurvivorRow).filter_by(
                    session_id=session.id, kind=PIN, key=str(interaction)
                )
            )
        session.context.pins = tuple(pin for pin in session.context.pins if pin != interaction)

    def keep(self, session: Session, facts: Iterable[RetainedFact]) -> None:
        """Commit facts; a fact replaces one of the same kind and key, and removes it if its text is empty."""
        clean = [
            RetainedFact(s.kind, clean_text(s.key), clean_text(s.text), s.interaction)
            for s in facts
        ]
        known = session.context.facts
        fresh = [
            s
            for s in clean
            if known.get((s.kind, s.key)) != s and (s.text or (s.kind, s.key) in known)
        ]
        if not fresh:
            return
        with self._database.transaction() as db:
            for one in fresh:
                db.exec(
                    sqlmodel.delete(SurvivorRow).filter_by(
                        session_id=session.id, kind=one.kind, key=one.key
                    )
                )
                if one.text:
                    db.add(SurvivorRow(session_id=session.id, **asdict(one)))
        session.context.keep(fresh)


class _TaskSessions(SessionManager):
    """The sessions of a task, whose usage is recorded in its parent's session."""

    def __init__(self, parent: SessionManager) -> None:
        super().__init__(parent.database)
        self._parent = parent

    def record_request(self, record: RequestRecord) -> None:
        given = self._parent.current_session
        self._parent.record_request(
            replace(record, purpose="task", interaction=given.interactions if given else 0)
        )
        if record.purpose == "turn":
            self.session.context.record_request(record, datetime.now(UTC))

    def finish_interaction(self, outcome: str, **what: Any) -> None:
        super().finish_interaction(outcome, **what)
        self.playbook.skip(self.session.id, self.session.interactions)
