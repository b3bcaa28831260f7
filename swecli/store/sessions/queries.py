"""What is asked of the stored sessions: lists, totals, results and searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy
import sqlmodel
from sqlalchemy import func, or_
from sqlmodel import col

from swecli.models.errors import BadInput
from swecli.models.session import SessionInfo
from swecli.redact import redact
from swecli.store.reading import NEWEST_FIRST
from swecli.store.records import FoundInteraction, SearchHit, TextMatch, UsageTotals
from swecli.store.sessions.rows import totals
from swecli.store.sessions.search import FLOOR, find_text, search_all, search_session
from swecli.store.sessions.store import SessionWriter
from swecli.store.sqlite.database import driver
from swecli.store.tables.columns import clean_text
from swecli.store.tables.sessions import CallRow, FullResultRow, MessageRow, SessionRow

_ENDING = 400  # characters


class SessionQueries(SessionWriter):
    """The queries of `SessionManager`."""

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
