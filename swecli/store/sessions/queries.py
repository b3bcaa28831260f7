"""Questions about sessions: which one is meant, lists, search, results, totals. Nothing here writes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy
import sqlmodel
from sqlalchemy import Select, func
from sqlmodel import col, select

from swecli.models.errors import BadInput
from swecli.models.message import Usage
from swecli.models.session import SessionInfo
from swecli.redact import redact, redact_part
from swecli.store.records import Place, SearchHit, SessionTotals, Spent
from swecli.store.sqlite import connection as sqlite
from swecli.store.sqlite.database import Database
from swecli.store.tables.columns import clean_text
from swecli.store.tables.sessions import CallRow, FullResultRow, MessageRow, RequestRow, SessionRow

_SNIPPET = 60  # characters shown on either side of a word that was found without the index
NEAR = 4_000  # characters on either side of a snippet in which the secrets it may be cut out of are looked for


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


def list_sessions(database: Database, directory: str | None, limit: int) -> list[SessionInfo]:
    """The sessions that were last used, newest first; of one directory, or of all."""
    which = sqlalchemy.select(*(col(getattr(SessionRow, name)) for name in SessionInfo.__slots__))
    if directory is not None:
        which = which.where(col(SessionRow.directory) == directory)
    newest_first = which.order_by(col(SessionRow.updated_at).desc(), col(SessionRow.number).desc())
    with database.reading() as db:
        rows = db.connection().execute(newest_first.limit(max(0, limit)))
        found = [SessionInfo(*row) for row in rows]
    # rows of earlier versions hold what was typed
    return [replace(info, title=redact(info.title), first_query=redact(info.first_query)) for info in found]


def search(database: Database, words: str, limit: int) -> list[SearchHit]:
    """Where all of the words stand together, in messages and titles, newest first. Raises BadInput without words."""
    words = clean_text(words).strip()
    if not words:
        raise BadInput("Give at least one word to search for.")
    query = sqlite.match_query(words)
    limit = max(0, limit)
    with database.reading() as db:
        if query is None:
            hits = _scanned(db, words.split(), limit)
        else:
            found = sqlite.find(db.connection(), query, limit)
            hits = [_hit(*row) for row in found]
    return sorted(hits, key=lambda hit: hit.created_at, reverse=True)[:limit]


def _hit(
    session_id: str, title: str, interaction: int, role: str, snippet: str, content: str, created_at: datetime
) -> SearchHit:
    words = " ".join(_in_content(snippet, content).split())
    return SearchHit(session_id, redact(title), interaction, role, words, created_at)


def _in_content(snippet: str, content: str) -> str:
    """The snippet without secrets, also where it holds but a part of one."""
    inner = snippet.strip("…")
    start = content.find(inner)
    if not inner or start < 0:
        return redact(snippet)
    head, _, tail = snippet.partition(inner)
    near, before = content[max(0, start - NEAR) : start + len(inner) + NEAR], min(start, NEAR)
    return head + redact_part(near, before, before + len(inner)) + tail


def _scanned(db: sqlmodel.Session, words: list[str], limit: int) -> list[SearchHit]:
    """Without the index: slower the more there is, but true for every script and sign."""
    columns: list[Any] = [MessageRow.session_id, SessionRow.title, MessageRow.interaction, MessageRow.role]
    messages: Select[Any] = sqlalchemy.select(*columns, col(MessageRow.content), col(MessageRow.created_at))
    messages = messages.join_from(MessageRow, SessionRow, col(SessionRow.id) == col(MessageRow.session_id))
    titles = select(SessionRow)
    for word in words:
        messages = messages.where(col(MessageRow.content).icontains(word, autoescape=True))
        titles = titles.where(col(SessionRow.title).icontains(word, autoescape=True))
    messages_found = db.connection().execute(messages.order_by(col(MessageRow.id).desc()).limit(limit)).all()
    named = db.exec(titles.order_by(col(SessionRow.number).desc()).limit(limit)).all()
    hits = [_hit(row[0], row[1], row[2], row[3], _around(row[4], words[0]), row[4], row[5]) for row in messages_found]
    return hits + [_hit(row.id, row.title, 0, "title", row.title, row.title, row.updated_at) for row in named]


def _around(content: str, word: str) -> str:
    at = max(0, content.lower().find(word.lower()))
    start, end = max(0, at - _SNIPPET), at + len(word) + _SNIPPET
    return ("…" if start else "") + content[start:end] + ("…" if end < len(content) else "")


def find_in_session(database: Database, session_id: str, text: str, limit: int) -> list[Place]:
    """Where a text stands in one session, in messages and in results, newest first. A scan: for a user's question."""
    messages = sqlalchemy.select(
        col(MessageRow.interaction), col(MessageRow.role), col(MessageRow.content), col(MessageRow.sent)
    ).where(
        col(MessageRow.session_id) == session_id,
        col(MessageRow.content).icontains(text, autoescape=True)
        | col(MessageRow.sent).icontains(text, autoescape=True),
    )
    results = (
        sqlalchemy.select(
            col(MessageRow.interaction), col(CallRow.call_id), col(CallRow.result), col(FullResultRow.text)
        )
        .join_from(CallRow, MessageRow, col(MessageRow.id) == col(CallRow.message_id))
        .outerjoin(FullResultRow, col(FullResultRow.call) == col(CallRow.id))
        .where(
            col(CallRow.session_id) == session_id,
            col(CallRow.result).icontains(text, autoescape=True)
            | col(FullResultRow.text).icontains(text, autoescape=True),
        )
    )
    with database.reading() as db:
        texts = db.connection().execute(messages.order_by(col(MessageRow.id).desc()).limit(limit)).all()
        outputs = db.connection().execute(results.order_by(col(CallRow.id).desc()).limit(limit)).all()
    found = [Place(row[0], "query" if row[1] == "user" else "answer", _excerpt(row[2], row[3], text)) for row in texts]
    found += [Place(row[0], f"result of {row[1]}", _excerpt(row[2], row[3], text)) for row in outputs]
    return sorted(found, key=lambda place: -place.interaction)[:limit]


def _excerpt(first: str | None, second: str | None, text: str) -> str:
    inside = first if first and text.lower() in first.lower() else second or first or ""
    return " ".join(_in_content(_around(inside, text), inside).split())


def read_result(database: Database, session_id: str, call_id: str) -> str | None:
    """The whole result of the newest call of that id; None if there is no such call or no result."""
    which = (
        sqlmodel.select(CallRow.result, FullResultRow.text)
        .outerjoin(FullResultRow, col(FullResultRow.call) == col(CallRow.id))
        .where(col(CallRow.session_id) == session_id, col(CallRow.call_id) == call_id)
    )
    with database.reading() as db:
        found = db.exec(which.order_by(col(CallRow.id).desc()).limit(1)).first()
    if found is None:
        return None
    result, full = found
    return full if full is not None else result


def totals(database: Database, session_id: str) -> SessionTotals:
    """What the session's requests took. A cost of which a part is unknown is unknown."""
    buckets = (RequestRow.input, RequestRow.cache_read, RequestRow.cache_write, RequestRow.output, RequestRow.reasoning)
    cost = col(RequestRow.cost)
    figures: list[Any] = [func.count(), func.count(cost), func.sum(cost), *(func.sum(col(n)) for n in buckets)]
    which: Select[Any] = sqlalchemy.select(col(RequestRow.purpose), *figures)
    which = which.where(col(RequestRow.session_id) == session_id)
    with database.reading() as db:
        rows = db.connection().execute(which.group_by(RequestRow.purpose).order_by(RequestRow.purpose)).all()
    by_purpose = {
        row[0]: Spent(Usage(*map(int, row[4:])), float(row[3]) if row[2] == row[1] else None, row[1]) for row in rows
    }
    whole = sum(by_purpose.values(), Spent())
    return SessionTotals(whole.usage, whole.cost, whole.requests, by_purpose)
