"""The session in use, and access to all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy
import sqlmodel
from sqlalchemy import func, or_
from sqlmodel import col

from swecli.models.context import Reduction
from swecli.models.errors import BadInput
from swecli.models.message import ChatMessage, RequestRecord
from swecli.models.session import Session, SessionInfo, uuid7
from swecli.models.window import WindowSpec
from swecli.redact import redact
from swecli.store.playbook.store import PlaybookStore
from swecli.store.reading import NEWEST, NEWEST_FIRST, load_back_to
from swecli.store.records import FoundInteraction, SearchHit, TextMatch, UsageTotals
from swecli.store.session_files import archive
from swecli.store.sessions.rows import ContextStore, load_session, report_damage, totals
from swecli.store.sessions.search import FLOOR, find_text, search_all, search_session
from swecli.store.sessions.store import SessionWriter
from swecli.store.sqlite.database import Database, driver, open_database
from swecli.store.tables.columns import clean_text
from swecli.store.tables.sessions import CallRow, FullResultRow, MessageRow, SessionRow
from swecli.store.undo import UndoStore

if TYPE_CHECKING:  # few sessions have findings
    from swecli.models.finding import Finding

_ENDING = 400  # characters


class SessionManager(SessionWriter):
    """Keeps `current_session` and the database in sync, see `SessionWriter`; lists, searches, forks and exports
    sessions."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.playbook = PlaybookStore(database)
        self.context = ContextStore(database)
        self.undo = UndoStore(database)

    @classmethod
    def open(cls, location: str | Path, *, to_read: bool = False) -> SessionManager:
        """Open the store; see `open_database`. Raises BadInput, StoreError."""
        return cls(open_database(location, to_read=to_read))

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
        unique prefix of an id; None or "" is the newest of the directory. Raises BadInput."""
        return self.use(load_session(self.database, ref, clean_text(directory), window_hint))

    def use(self, session: Session, waiting: ChatMessage | None = None) -> Session:
        """Use a session, with its playbook loaded anew; `waiting` is a stored message whose turn has not begun."""
        session.update_playbook(self.playbook.load(session))
        self.current_session, self._open_calls, self._waiting = session, {}, waiting
        return session

    def load_back_to(self, interaction: int) -> None:
        """Load the interactions from that number on into `current_session.messages`."""
        with report_damage(), self.database.reading() as db:
            load_back_to(driver(db), self.session, interaction)

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

    def list_sessions(self, directory: str | None = None, limit: int = 20) -> list[SessionInfo]:
        """Return the last used sessions of one directory, or of all, newest first."""
        which = sqlalchemy.select(*(col(getattr(SessionRow, name)) for name in SessionInfo.__slots__))
        if directory is not None:
            which = which.where(col(SessionRow.directory) == directory)
        else:  # undone turns are stored as sessions without a directory
            which = which.where(or_(col(SessionRow.directory) != "", col(SessionRow.parent_id).is_(None)))
        with self.database.reading() as db:
            rows = db.connection().execute(which.order_by(sqlalchemy.text(NEWEST_FIRST)).limit(max(0, limit)))
            found = [SessionInfo(*row) for row in rows]
        # rows of earlier versions are not redacted
        return [replace(info, title=redact(info.title), first_query=redact(info.first_query)) for info in found]

    def endings(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the beginnings of the last texts of "user" and "assistant" by session id."""
        last = sqlalchemy.select(func.max(col(MessageRow.id))).where(
            col(MessageRow.session_id).in_(ids), col(MessageRow.content) != ""
        )
        newest = last.group_by(col(MessageRow.session_id), col(MessageRow.role))
        of: list[Any] = [MessageRow.session_id, MessageRow.role, func.substr(col(MessageRow.content), 1, 10 * _ENDING)]
        found: dict[str, dict[str, str]] = {}
        with self.database.reading() as db:
            rows = db.connection().execute(sqlalchemy.select(*of).where(col(MessageRow.id).in_(newest)))
            for session, role, text in rows:  # redact before truncating, so that a secret is whole
                found.setdefault(session, {})[str(role)] = redact(text)[:_ENDING]
        return found

    def read_result(self, call_id: str) -> str | None:
        """Return the whole result of the newest call with that id, or None."""
        which = (
            sqlmodel.select(CallRow.result, FullResultRow.text)
            .filter_by(session_id=self.session.id, call_id=clean_text(call_id))
            .outerjoin(FullResultRow, col(FullResultRow.call) == col(CallRow.id))
            .order_by(col(CallRow.id).desc())
        )
        result, full = self.database.row(which.limit(1)) or (None, None)
        return result if full is None else full

    def totals(self) -> UsageTotals:
        """Sum the usage of this session's requests. The cost is None if any is unknown."""
        with self.database.reading() as db:
            return totals(db, self.session.id)

    def search(self, words: str, limit: int = 20) -> list[SearchHit]:
        """Find messages and titles of all sessions that contain all the words, newest first; `word*` matches a prefix.
        Raises BadInput without words."""
        if not (terms := clean_text(words).split()):
            raise BadInput("Give at least one word to search for.")
        with self.database.reading() as db:
            return search_all(driver(db), terms, max(0, limit))

    def find(self, text: str, limit: int = 20) -> list[TextMatch]:
        """Find a text in this session's messages and results, newest first."""
        with self.database.reading() as db:
            return find_text(driver(db), self.session.id, clean_text(text), limit)

    def search_session(
        self, query: str, *, before: int | None = None, limit: int = 3, floor: float = FLOOR
    ) -> list[FoundInteraction]:
        """Find interactions of this session that a query refers to, best first, each with excerpts: those `before` an
        interaction (None: all) with a score of at least `floor`, from 0 to 1."""
        with self.database.reading() as db:
            return search_session(driver(db), self.session, clean_text(query), before, limit, floor)

    def search_earlier(self, query: str) -> list[FoundInteraction]:
        """Find the five best interactions before the newest that contain any of the words."""
        return self.search_session(query, before=self.session.interactions, limit=5, floor=0)

    def open_findings(self, paths: Iterable[str]) -> list[Finding]:
        """Return the open review findings in these files of the session's project."""
        # late: few sessions have any
        from swecli.store.reviews import ReviewStore  # noqa: PLC0415

        return ReviewStore(self.database, self.session.project).findings(("open", "regressed"), paths)

    def fork(self, ref: str | None = None, *, upto: int | None = None) -> Session:
        """Copy a session (None: this one) and resume the copy; see `archive.fork`."""
        new = archive.fork(self.database, ref or self.session.id, upto)
        return self.resume(new, "")

    def delete(self, ref: str) -> str:
        """Delete a session other than the one in use; return its id. See `archive.delete`."""
        current = self.current_session
        return archive.delete(self.database, ref, keep=current.id if current else "")

    def export(self, ref: str) -> dict[str, Any]:
        """Export a session as JSON values: messages, calls, turn records, strategies and totals. Raises BadInput if
        none or several match `ref`."""
        return archive.export(self.database, ref)


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
        self.playbook.record_reflection(self.session.id, self.session.interactions, "skipped")
