"""The one session that is in use, and the way to all the others: every change is committed before it is shown."""

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
from swecli.store.sessions.context import ContextStore
from swecli.store.sessions.mapping import legible, load_session, totals
from swecli.store.sessions.search import FLOOR, find_text, search_all, search_session
from swecli.store.sessions.store import SessionWriter
from swecli.store.sqlite.database import Database, driver, open_database
from swecli.store.tables.columns import clean_text
from swecli.store.tables.sessions import CallRow, FullResultRow, MessageRow, SessionRow
from swecli.store.undo import UndoStore

if TYPE_CHECKING:  # few sessions have findings
    from swecli.models.finding import Finding

_ENDING = 400  # characters of how a session ended


class SessionManager(SessionWriter):
    """Keeps `current_session` and the database the same: see `SessionWriter`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.playbook = PlaybookStore(database)
        self.context = ContextStore(database)
        self.undo = UndoStore(database)

    @classmethod
    def open(cls, location: str | Path, *, to_read: bool = False) -> SessionManager:
        """The store at that place; `to_read` as `open_database` takes it. Raises BadInput, StoreError."""
        return cls(open_database(location, to_read=to_read))

    def start(
        self, directory: str, model: str, *, title: str = "", window: WindowSpec | None = None, project: str = ""
    ) -> Session:
        """Begin a session. Nothing is written before its first message.

        `project` is what strategies of project scope are shared by; the directory where it is empty.
        """
        directory, title = clean_text(directory), redact(clean_text(title))
        session = Session(uuid7(), directory, title=title, model=clean_text(model), window=window or WindowSpec())
        session.project = clean_text(project) or directory
        return self.use(session)

    def start_task(self, title: str) -> SessionManager:
        """Begin a session for a task of the running turn: it stands in no list, nothing learns of it, and what its
        requests take is stored with this one, as "task"."""
        task, session = _TaskSessions(self), self.session
        task.start("", session.model, title=f"task: {title}").parent_id = session.id
        return task

    def resume(self, ref: str | None, directory: str, window_hint: int = NEWEST) -> Session:
        """Go on with a session: its newest `window_hint` interactions and its playbook are loaded. `ref` is an id, a
        title, or the unique beginning of an id; None or "" for the newest of the directory. Raises BadInput."""
        return self.use(load_session(self.database, ref, clean_text(directory), window_hint))

    def use(self, session: Session, waiting: ChatMessage | None = None) -> Session:
        """Use a session, with its playbook as it is now; `waiting` is its first message, committed before this."""
        session.update_playbook(self.playbook.load(session))
        self.current_session, self._open_calls, self._waiting = session, {}, waiting
        return session

    def load_back_to(self, interaction: int) -> None:
        """Load the interactions from that number on into `current_session.messages`, where they are not yet."""
        with legible(), self.database.reading() as db:
            load_back_to(driver(db), self.session, interaction)

    def set_window(self, spec: WindowSpec) -> None:
        """Set the session's window, and load the turns that it keeps."""
        self._set(window=spec)
        self.load_back_to(spec.first_kept(self.session.interactions, self.session.window_start))

    def undo_reduction(self, hold_turns: int, hold_tokens: int) -> Reduction:
        """Take the newest reduction of this session's requests back; see `ContextStore.undo`. Raises BadInput."""
        session = self.session
        taken = self.context.undo(session, hold_turns, hold_tokens)
        if (epoch := session.context.epoch) is not None:
            self.load_back_to(epoch.first)
        return taken

    def list_sessions(self, directory: str | None = None, limit: int = 20) -> list[SessionInfo]:
        """The sessions used last, newest first; of one directory, or of all."""
        which = sqlalchemy.select(*(col(getattr(SessionRow, name)) for name in SessionInfo.__slots__))
        if directory is not None:
            which = which.where(col(SessionRow.directory) == directory)
        else:  # turns that were undone are no session of their own
            which = which.where(or_(col(SessionRow.directory) != "", col(SessionRow.parent_id).is_(None)))
        with self.database.reading() as db:
            rows = db.connection().execute(which.order_by(sqlalchemy.text(NEWEST_FIRST)).limit(max(0, limit)))
            found = [SessionInfo(*row) for row in rows]
        # rows of earlier versions hold what was typed
        return [replace(info, title=redact(info.title), first_query=redact(info.first_query)) for info in found]

    def endings(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """How these sessions ended: by id, the beginnings of the last text of "user" and of "assistant"."""
        last = sqlalchemy.select(func.max(col(MessageRow.id))).where(
            col(MessageRow.session_id).in_(ids), col(MessageRow.content) != ""
        )
        newest = last.group_by(col(MessageRow.session_id), col(MessageRow.role))
        of: list[Any] = [MessageRow.session_id, MessageRow.role, func.substr(col(MessageRow.content), 1, 10 * _ENDING)]
        found: dict[str, dict[str, str]] = {}
        with self.database.reading() as db:
            rows = db.connection().execute(sqlalchemy.select(*of).where(col(MessageRow.id).in_(newest)))
            for session, role, text in rows:  # a secret that reaches over the cut is seen whole
                found.setdefault(session, {})[str(role)] = redact(text)[:_ENDING]
        return found

    def read_result(self, call_id: str) -> str | None:
        """The whole text of a call's result in this session, of the newest call of that id; None for an unknown id, or
        without a result."""
        which = (
            sqlmodel.select(CallRow.result, FullResultRow.text)
            .filter_by(session_id=self.session.id, call_id=clean_text(call_id))
            .outerjoin(FullResultRow, col(FullResultRow.call) == col(CallRow.id))
            .order_by(col(CallRow.id).desc())
        )
        result, full = self.database.row(which.limit(1)) or (None, None)
        return result if full is None else full

    def totals(self) -> UsageTotals:
        """What this session's requests took. A sum of which a part is unknown is unknown."""
        with self.database.reading() as db:
            return totals(db, self.session.id)

    def search(self, words: str, limit: int = 20) -> list[SearchHit]:
        """Where all the words stand together, in messages and titles of all sessions, newest first.

        `word*` finds what begins so. Raises BadInput without words.
        """
        if not (terms := clean_text(words).split()):
            raise BadInput("Give at least one word to search for.")
        with self.database.reading() as db:
            return search_all(driver(db), terms, max(0, limit))

    def find(self, text: str, limit: int = 20) -> list[TextMatch]:
        """Where a text stands in this session, in messages and in results, newest first."""
        with self.database.reading() as db:
            return find_text(driver(db), self.session.id, clean_text(text), limit)

    def search_session(
        self, query: str, *, before: int | None = None, limit: int = 3, floor: float = FLOOR
    ) -> list[FoundInteraction]:
        """The interactions of this session that a query refers to, best first, each with excerpts; often none. Only
        those `before` an interaction (None: all), whose score, 0 to 1, is at least `floor`: see `search`."""
        with self.database.reading() as db:
            return search_session(driver(db), self.session, clean_text(query), before, limit, floor)

    def search_earlier(self, query: str) -> list[FoundInteraction]:
        """The five best interactions before the newest that have any of the words."""
        return self.search_session(query, before=self.session.interactions, limit=5, floor=0)

    def open_findings(self, paths: Iterable[str]) -> list[Finding]:
        """What reviews found in these files of the session's project, and is still open."""
        # late: few sessions have any
        from swecli.store.reviews import ReviewStore  # noqa: PLC0415

        return ReviewStore(self.database, self.session.project).findings(("open", "regressed"), paths)

    def fork(self, ref: str | None = None, *, upto: int | None = None) -> Session:
        """Go on in a copy of a session (None: this one): see `archive.fork`."""
        new = archive.fork(self.database, ref or self.session.id, upto)
        return self.resume(new, "")

    def delete(self, ref: str) -> str:
        """Delete a session, but not the one in use; returns its id: see `archive.delete`."""
        current = self.current_session
        return archive.delete(self.database, ref, keep=current.id if current else "")

    def export(self, ref: str) -> dict[str, Any]:
        """A session as plain JSON values, with messages, calls, turn records, strategies and totals. Raises BadInput
        when none is meant by `ref`, or more than one."""
        return archive.export(self.database, ref)


class _TaskSessions(SessionManager):
    """The session of a task, which another session has given."""

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
