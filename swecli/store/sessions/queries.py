"""Questions about sessions: which one is meant, lists, search, results, totals. Nothing here writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy
import sqlmodel
from sqlalchemy import ColumnElement, Select, func, or_
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.message import Usage
from swecli.models.session import Session, SessionInfo
from swecli.redact import redact, redact_part
from swecli.store.records import Place, SearchHit, SessionTotals, Spent
from swecli.store.sqlite import connection as sqlite
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import clean_text
from swecli.store.tables.sessions import CallRow, FullResultRow, MessageRow, RequestRow, SessionRow

_SNIPPET = 60  # characters shown on either side of a word that was found without the index
_NEAR = 4_000  # characters on either side of a snippet in which the secrets it may be cut out of are looked for


def find_row(db: sqlmodel.Session, ref: str | None, directory: str) -> SessionRow:
    """The session that `ref` means: an id, a title, or the unique beginning of an id; None or "" for the newest of
    the directory. Raises BadInput."""
    if not ref:
        newest = select(SessionRow).where(col(SessionRow.directory) == directory)
        row = db.exec(
            newest.order_by(col(SessionRow.updated_at).desc(), col(SessionRow.number).desc()).limit(1)
        ).first()
        if row is None:
            raise BadInput("There is no session in this directory yet.", "Start one without --continue.")
        return row
    ref = clean_text(ref.strip())
    for condition in (
        col(SessionRow.id) == ref.lower(),
        func.lower(col(SessionRow.title)) == func.lower(ref),
        col(SessionRow.id).startswith(ref.lower(), autoescape=True),
    ):
        rows = db.exec(select(SessionRow).where(condition).order_by(col(SessionRow.number).desc()).limit(4)).all()
        if len(rows) == 1:
            return rows[0]
        if rows:
            ids = ", ".join(row.id for row in rows[:3]) + (", …" if len(rows) > 3 else "")
            raise BadInput(f"{ref!r} matches more than one session.", f"Use one of: {ids}.")
    raise BadInput(f"There is no session {ref!r}.", "See: swecli sessions list")


class SessionQueries:
    """Questions about all sessions, and about the one in use. Nothing of this writes."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.current_session: Session | None = None

    def _session(self) -> Session:
        if self.current_session is None:
            raise BadInput("No session is open.")
        return self.current_session

    def list_sessions(self, directory: str | None = None, limit: int = 20) -> list[SessionInfo]:
        """The sessions used last, newest first; of one directory, or of all."""
        which = sqlalchemy.select(*(col(getattr(SessionRow, name)) for name in SessionInfo.__slots__))
        if directory is not None:
            which = which.where(col(SessionRow.directory) == directory)
        else:  # turns that were undone are no session of their own
            which = which.where(or_(col(SessionRow.directory) != "", col(SessionRow.parent_id).is_(None)))
        newest_first = which.order_by(col(SessionRow.updated_at).desc(), col(SessionRow.number).desc())
        with self.database.reading() as db:
            found = [SessionInfo(*row) for row in db.connection().execute(newest_first.limit(max(0, limit)))]
        # rows of earlier versions hold what was typed
        return [replace(info, title=redact(info.title), first_query=redact(info.first_query)) for info in found]

    def search(self, words: str, limit: int = 20) -> list[SearchHit]:
        """Where all the words stand together, in messages and titles of all sessions, newest first.

        `word*` finds what begins so. Raises BadInput without words.
        """
        words = clean_text(words).strip()
        if not words:
            raise BadInput("Give at least one word to search for.")
        query, most = sqlite.match_query(words), max(0, limit)
        with self.database.reading() as db:
            rows = _scanned(db, words.split(), most) if query is None else sqlite.find(db.connection(), query, most)
            hits = [_hit(row) for row in rows]
        return sorted(hits, key=lambda hit: hit.created_at, reverse=True)[:most]

    def find(self, text: str, limit: int = 20) -> list[Place]:
        """Where a text stands in this session, in messages and in results, newest first. A scan: for a user's
        question."""
        text, session = clean_text(text), self._session().id
        of: list[Any] = [MessageRow.interaction, MessageRow.role, MessageRow.content, MessageRow.sent]
        messages = sqlalchemy.select(*of).where(
            col(MessageRow.session_id) == session, _holds(text, MessageRow.content, MessageRow.sent)
        )
        of = [MessageRow.interaction, CallRow.call_id, CallRow.result, FullResultRow.text]
        results = (
            sqlalchemy.select(*of)
            .join_from(CallRow, MessageRow, col(MessageRow.id) == col(CallRow.message_id))
            .outerjoin(FullResultRow, col(FullResultRow.call) == col(CallRow.id))
            .where(col(CallRow.session_id) == session, _holds(text, CallRow.result, FullResultRow.text))
        )
        with self.database.reading() as db:
            texts = db.connection().execute(messages.order_by(col(MessageRow.id).desc()).limit(limit)).all()
            outputs = db.connection().execute(results.order_by(col(CallRow.id).desc()).limit(limit)).all()
        found = [(row, "query" if row[1] == "user" else "answer") for row in texts]
        found += [(row, f"result of {row[1]}") for row in outputs]
        places = [Place(row[0], where, _excerpt(row[2], row[3], text)) for row, where in found]
        return sorted(places, key=lambda place: -place.interaction)[:limit]

    def read_result(self, call_id: str) -> str | None:
        """The whole text of a call's result in this session, of the newest call of that id; None for an unknown id, or
        without a result."""
        which = (
            sqlmodel.select(CallRow.result, FullResultRow.text)
            .outerjoin(FullResultRow, col(FullResultRow.call) == col(CallRow.id))
            .where(col(CallRow.session_id) == self._session().id, col(CallRow.call_id) == clean_text(call_id))
        )
        with self.database.reading() as db:
            result, full = db.exec(which.order_by(col(CallRow.id).desc()).limit(1)).first() or (None, None)
        return result if full is None else full

    def totals(self) -> SessionTotals:
        """What this session's requests took. A sum of which a part is unknown is unknown."""
        with self.database.reading() as db:
            return totals(db, self._session().id)


def _hit(row: Sequence[Any]) -> SearchHit:
    """`row` is session, title, interaction, role, snippet, all of the text, time."""
    words = " ".join(_in_content(row[4], row[5]).split())
    return SearchHit(row[0], redact(row[1]), row[2], row[3], words, row[6])


def _in_content(snippet: str, content: str) -> str:
    """The snippet without secrets, also where it holds but a part of one."""
    inner = snippet.strip("…")
    start = content.find(inner)
    if not inner or start < 0:
        return redact(snippet)
    head, _, tail = snippet.partition(inner)
    near, before = content[max(0, start - _NEAR) : start + len(inner) + _NEAR], min(start, _NEAR)
    return head + redact_part(near, before, before + len(inner)) + tail


def _scanned(db: sqlmodel.Session, words: list[str], limit: int) -> list[Sequence[Any]]:
    """Rows as `_hit` takes them, without the index: slower the more there is, but true for every script and sign."""
    columns: list[Any] = [MessageRow.session_id, SessionRow.title, MessageRow.interaction, MessageRow.role]
    messages: Select[Any] = sqlalchemy.select(*columns, col(MessageRow.content), col(MessageRow.created_at))
    messages = messages.join_from(MessageRow, SessionRow, col(SessionRow.id) == col(MessageRow.session_id))
    titles = select(SessionRow)
    for word in words:
        messages, titles = (
            messages.where(_holds(word, MessageRow.content)),
            titles.where(_holds(word, SessionRow.title)),
        )
    found = db.connection().execute(messages.order_by(col(MessageRow.id).desc()).limit(limit)).all()
    named = db.exec(titles.order_by(col(SessionRow.number).desc()).limit(limit)).all()
    rows: list[Sequence[Any]] = [(*row[:4], _beside(row[4], words[0]), *row[4:]) for row in found]
    return rows + [(row.id, row.title, 0, "title", row.title, row.title, row.updated_at) for row in named]


def _holds(text: str, *columns: Any) -> ColumnElement[bool]:
    """Whether one of the columns has the text, in letters of any case."""
    return or_(*(col(column).icontains(text, autoescape=True) for column in columns))


def _beside(content: str, word: str) -> str:
    at = max(0, content.lower().find(word.lower()))
    start, end = max(0, at - _SNIPPET), at + len(word) + _SNIPPET
    return ("…" if start else "") + content[start:end] + ("…" if end < len(content) else "")


def _excerpt(first: str | None, second: str | None, text: str) -> str:
    inside = first if first and text.lower() in first.lower() else second or first or ""
    return " ".join(_in_content(_beside(inside, text), inside).split())


def totals(db: sqlmodel.Session, session_id: str) -> SessionTotals:
    """See `SessionQueries.totals`; within a transaction."""
    by_purpose = spent_by_purpose(db, col(RequestRow.session_id) == session_id)
    whole = sum(by_purpose.values(), Spent())
    return SessionTotals(whole.usage, whole.cost, whole.requests, by_purpose)


def spent_by_purpose(db: sqlmodel.Session, *where: ColumnElement[bool]) -> dict[str, Spent]:
    """What these requests took, within a transaction. One that used no token, because nobody answered, cost nothing."""
    buckets = [col(getattr(RequestRow, name)) for name in Usage.__slots__]
    unknown = func.count().filter(col(RequestRow.cost).is_(None), sqlalchemy.or_(*(one > 0 for one in buckets)))
    figures: list[Any] = [func.count(), unknown, func.sum(col(RequestRow.cost)), *(func.sum(one) for one in buckets)]
    which = sqlalchemy.select(col(RequestRow.purpose), *figures).where(*where)
    rows = db.connection().execute(which.group_by(RequestRow.purpose).order_by(RequestRow.purpose)).all()
    return {row[0]: Spent(Usage(*map(int, row[4:])), None if row[2] else float(row[3] or 0), row[1]) for row in rows}
