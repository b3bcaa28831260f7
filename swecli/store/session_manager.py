"""The session in use, and access to all others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlmodel
from sqlalchemy import func
from sqlmodel import col

from swecli.models.context import Reduction, WindowSpec
from swecli.models.message import ChatMessage, RequestRecord, Role
from swecli.models.session import Session, uuid7
from swecli.redact import redact
from swecli.store.playbook.store import PlaybookStore
from swecli.store.reading import NEWEST
from swecli.store.session_files.archive import SessionArchive
from swecli.store.sessions.rows import INTERRUPTED, ContextStore
from swecli.store.sqlite.database import Database, open_database, reader
from swecli.store.tables.columns import clean_text
from swecli.store.tables.sessions import InteractionRow, MessageRow, SessionRow
from swecli.store.undo import UndoStore

if TYPE_CHECKING:  # few sessions have findings
    from swecli.models.finding import Finding


class SessionManager(SessionArchive):
    """Keeps `current_session` and the database in sync, see `SessionWriter`; starts, resumes and forks
    sessions."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.playbook = PlaybookStore(database)
        self.context = ContextStore(database)
        self.undo = UndoStore(database)

    @classmethod
    def open(cls, location: str | Path) -> SessionManager:
        """Open the store; see `open_database`. Raises BadInput, StoreError."""
        return cls(open_database(location))

    def start(
        self, directory: str, model: str, *, title: str = "", window: WindowSpec | None = None, project: str = ""
    ) -> Session:
        """Start a session; nothing is stored before its first message. Strategies of project scope are shared by
        `project`, which is the directory if it is empty."""
        directory, title = clean_text(directory), redact(clean_text(title))
        session = Session(uuid7(), directory, title=title, model=clean_text(model), window=window or WindowSpec())
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
        unique prefix of an id; None or "" is the newest of the directory. Turns of
        dead processes are marked as interrupted first. Raises BadInput, DamagedDatabase."""
        with self.database.transaction() as db:
            session_id = reader(db).find_session(ref and clean_text(ref), clean_text(directory))
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

    def set_window(self, spec: WindowSpec) -> None:
        """Set the session's window, and load the turns that it keeps."""
        self._set(window=spec)
        self.load_back_to(spec.first_kept(self.session.interactions, self.session.window_start))

    def undo_reduction(self, hold_turns: int, hold_tokens: int) -> Reduction:
        """Undo the session's newest reduction; see `ContextStore.undo`. Raises BadInput."""
        session = self.session
        taken = self.context.undo(session, hold_turns, hold_tokens)
        if (epoch := session.context.epoch) is not None:
            self.load_back_to(epoch.first)
        return taken

    def open_findings(self, paths: Iterable[str]) -> list[Finding]:
        """Return the open review findings in these files of the session's project."""
        # late: few sessions have any
        from swecli.store.reviews import ReviewStore  # noqa: PLC0415

        return ReviewStore(self.database, self.session.project).findings(("open", "regressed"), paths)

    def fork(self, ref: str | None = None, *, upto: int | None = None) -> Session:
        """Copy a session (None: this one) and resume the copy; see `SessionArchive`."""
        return self.resume(self._copy(ref or self.session.id, upto), "")


def _settle_interrupted(db: sqlmodel.Session, session_id: str) -> None:
    """Mark running turns of dead processes as interrupted. A partial answer becomes a message, unless the whole answer
    was stored later."""
    for turn in InteractionRow.running(db, session_id):
        if turn.is_running_elsewhere:
            continue
        newest = db.exec(sqlmodel.select(func.max(MessageRow.id)).filter_by(session_id=session_id)).one()
        if turn.partial and (newest or 0) <= turn.partial_after:
            message = ChatMessage(Role.ASSISTANT, turn.partial, interaction=turn.number, status="partial")
            db.add(MessageRow.of(session_id, message))
            counted = sqlmodel.update(SessionRow).filter_by(id=session_id)
            db.exec(counted.values(messages=col(SessionRow.messages) + 1))
        turn.status, turn.pending, turn.partial = INTERRUPTED, True, ""


class _TaskSessions(SessionManager):
    """The sessions of a task, whose usage is recorded in its parent's session."""

    def __init__(self, parent: SessionManager) -> None:
        super().__init__(parent.database)
        self._parent = parent

    def record_request(self, record: RequestRecord) -> None:
        given = self._parent.current_session
        self._parent.record_request(replace(record, purpose="task", interaction=given.interactions if given else 0))
        if record.purpose == "turn":
            self.session.context.record_request(record, datetime.now(UTC))

    def finish_interaction(self, outcome: str, **what: Any) -> None:
        super().finish_interaction(outcome, **what)
        self.playbook.skip(self.session.id, self.session.interactions)
