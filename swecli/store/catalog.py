"""Questions about all sessions: which there are, how they end, and which contain some words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from swecli.models.errors import BadInput
from swecli.models.project import ProjectPlace
from swecli.models.session import Session, SessionInfo
from swecli.redact import redact
from swecli.store.journal.reader import Reader
from swecli.store.journal.values import clean_text, folder_key
from swecli.store.search_results import SearchHit
from swecli.store.sqlite.database import Database

_ENDING = 400  # characters
_PREFIX = 13  # characters of an id: the millisecond of its start
_ENDINGS = (
    "SELECT session_id, role, substr(content, 1, :most) FROM message WHERE id IN (SELECT max(id) FROM message WHERE"
    " session_id IN (SELECT value FROM json_each(:ids)) AND content != '' GROUP BY session_id, role)"
)


class SessionCatalog:
    """The sessions of a database. Each method may raise StoreError."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list_sessions(
        self,
        directory: str | None = None,
        limit: int = 20,
        *,
        place: ProjectPlace | None = None,
    ) -> list[SessionInfo]:
        """Return the last used sessions of one directory and its `place` in the project, or of all, newest first."""
        key = None if directory is None else folder_key(directory)
        with self._database.read() as db:
            sessions = Reader(db).list_sessions(key, place, max(0, limit))
        # rows of earlier versions are not redacted
        return [
            replace(info, title=redact(info.title), first_query=redact(info.first_query))
            for info in sessions
        ]

    def reference(self, session: Session) -> str:
        """Return what finds this session when it is resumed: its title if no other session has it, else the beginning
        of its id."""
        title = session.title.strip()
        if not title:
            return session.id[:_PREFIX]
        with self._database.read() as db:
            try:
                Reader(db).find_session(clean_text(title), "")
            except BadInput:  # another session has it too
                return session.id[:_PREFIX]
        return title

    def endings(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the beginnings of the last texts of "user" and "assistant" by session id."""
        parameters = {"ids": json.dumps(ids), "most": 10 * _ENDING}
        endings: dict[str, dict[str, str]] = {}
        with self._database.read() as db:
            for session_id, role, text in db.execute(_ENDINGS, parameters):
                # redact before truncating, so that a secret is whole
                endings.setdefault(session_id, {})[role] = redact(text)[:_ENDING]
        return endings

    def search(self, words: str, limit: int = 20) -> list[SearchHit]:
        """Find messages and titles of all sessions that contain all the words, newest first; `word*` matches a prefix.
        Raises BadInput without words."""
        # late: a turn does not search all sessions
        from swecli.store.sessions.search import search_all

        terms = clean_text(words).split()
        if not terms:
            raise BadInput("Give at least one word to search for.")
        with self._database.read() as db:
            return search_all(db, terms, max(0, limit))
