"""Find words in all sessions, and a text in one session."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from swecli.redact import redact
from swecli.store.journal.values import read_moment
from swecli.store.search_results import SearchHit, TextMatch
from swecli.store.sessions.excerpts import excerpt

_SNIPPET = 60  # characters on either side of a match

# Newest first, not best first: a common word then costs no more than a rare one.
_FIND = """
SELECT * FROM (
  SELECT m.session_id, s.title, m.interaction, m.role, m.content, m.created_at FROM {messages} DESC LIMIT :limit)
UNION ALL SELECT * FROM (
  SELECT s.id, s.title, 0, 'title', s.title, s.updated_at FROM {titles} DESC LIMIT :limit)
"""
# The joins are CROSS so that the index is walked first, from its newest end, and no further than to the limit.
_BY_INDEX = (
    "message_fts CROSS JOIN message m ON m.id = message_fts.rowid CROSS JOIN session s ON s.id = m.session_id"
    " WHERE message_fts MATCH :query ORDER BY message_fts.rowid"
)
_TITLES_BY_INDEX = (
    "session_fts CROSS JOIN session s ON s.number = session_fts.rowid"
    " WHERE session_fts MATCH :query ORDER BY session_fts.rowid"
)
_TITLES_BY_SCAN = "session s WHERE {titled} ORDER BY s.number"
_BY_SCAN = "message m JOIN session s ON s.id = m.session_id WHERE {holds} ORDER BY m.id"
# the texts of the notes of a message, one a line
_NOTE_TEXTS = (
    "(SELECT group_concat(value, char(10)) FROM json_tree(notes)"
    " WHERE key IN ('content', 'value', 'job', 'line'))"
)
_IN_SESSION = (
    "SELECT interaction, CASE role WHEN 'user' THEN 'query' ELSE 'answer' END, content, sent, notes_text, 0, id"
    f" FROM (SELECT *, {_NOTE_TEXTS} AS notes_text FROM message WHERE session_id = :session)"
    " WHERE instr(lower(content), :text) OR instr(lower(sent), :text) OR instr(lower(notes_text), :text)"
    " UNION ALL SELECT m.interaction, 'result of ' || c.call_id, c.result, f.text, NULL, 1, c.id FROM tool_call c"
    " JOIN message m ON m.id = c.message_id LEFT JOIN full_result f ON f.call = c.id"
    " WHERE c.session_id = :session AND (instr(lower(c.result), :text) OR instr(lower(f.text), :text))"
    " ORDER BY 1 DESC, 6, 7 DESC LIMIT :limit"
)


def search_all(db: sqlite3.Connection, words: Sequence[str], limit: int) -> list[SearchHit]:
    """Find the newest messages and titles of all sessions that contain all the words; `word*` matches a prefix."""
    parameters: dict[str, object] = {"query": _match_query(words), "limit": limit}
    messages = _BY_INDEX
    titles = _TITLES_BY_INDEX
    if parameters["query"] is None:  # a scan is slower, but matches every script and sign
        word_parameters = {
            f"word{number}": word.rstrip("*").lower() for number, word in enumerate(words)
        }
        parameters |= word_parameters
        messages = _BY_SCAN.format(holds=_contains_all("m.content", word_parameters))
        titles = _TITLES_BY_SCAN.format(titled=_contains_all("s.title", word_parameters))
    question = _FIND.format(messages=messages, titles=titles)
    hits = []
    for session, title, number, role, content, created_at in db.execute(question, parameters):
        snippet = _snippet(content, words[0])
        moment = read_moment(created_at)
        hits.append(SearchHit(session, redact(title), number, role, snippet, moment))
    return sorted(hits, key=lambda hit: hit.created_at, reverse=True)[:limit]


def _contains_all(column: str, parameters: Iterable[str]) -> str:
    """Return the condition that a column contains the words with these names."""
    return " AND ".join(f"instr(lower({column}), :{name})" for name in parameters)


def _match_query(words: Sequence[str]) -> str | None:
    """Return the FTS5 query for all the words, such as `"parser" "tab"*`. None if FTS5 cannot match them: bare
    punctuation, and words within scripts without spaces."""
    quoted = []
    for word in words:
        has_letters = any(char.isalnum() for char in word)
        if not has_letters or any(char > "\u0fff" for char in word):
            return None
        star = "*" if word.endswith("*") else ""
        quoted.append('"' + word.rstrip("*").replace('"', '""') + '"' + star)
    return " ".join(quoted)


def find_text(db: sqlite3.Connection, session_id: str, words: str, limit: int) -> list[TextMatch]:
    """Find a text in a session's messages and results, newest first, by a scan."""
    parameters = {"session": session_id, "text": words.lower(), "limit": limit}
    matches = []
    for interaction, place, *texts, _, _ in db.execute(_IN_SESSION, parameters):
        matches.append(TextMatch(interaction, place, _snippet(_first_with(words, texts), words)))
    return matches


def _first_with(words: str, texts: Iterable[str | None]) -> str:
    """Return the first of the texts that contains the words; "" if none does."""
    for text in texts:
        if text is not None and words.lower() in text.lower():
            return text
    return ""


def _snippet(content: str, word: str) -> str:
    """Return the text around a word."""
    start = max(0, content.lower().find(word.rstrip("*").lower()))
    return excerpt(content, start, start + len(word), _SNIPPET)
