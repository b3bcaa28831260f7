"""Read the turns of a session in outline: how each began, what it changed and how it ended."""

from __future__ import annotations

import json
import sqlite3

from swecli.models.session import EarlierTurn
from swecli.redact import redact
from swecli.store.journal.writer import INTERRUPTED

# Of a query: more than a line of the outline can show, and enough to find in it words that were taken back.
_QUERY = 2_000
_TURNS = (
    "SELECT m.interaction, substr(m.content, 1, :length), i.status, i.mark, t.reason FROM message AS m"
    " LEFT JOIN interaction AS i ON i.session_id = m.session_id AND i.number = m.interaction"
    " LEFT JOIN playbook_turn AS t ON t.session_id = m.session_id AND t.interaction = m.interaction"
    " WHERE m.id IN (SELECT min(id) FROM message WHERE session_id = :session AND role = 'user'"
    " AND interaction BETWEEN :first AND :last GROUP BY interaction) ORDER BY m.interaction"
)
_CHANGED_FILES = (
    "SELECT m.interaction, json_extract(c.effects, '$.changed') FROM message AS m"
    " JOIN tool_call AS c ON c.message_id = m.id"
    " WHERE m.session_id = :session AND m.interaction BETWEEN :first AND :last AND c.status = 'finished'"
    " AND json_extract(c.effects, '$.changed') IS NOT NULL ORDER BY c.id"
)

_SIZES = (
    "SELECT interaction, coalesce(tokens, 0) FROM message WHERE session_id = :session"
    " AND interaction BETWEEN :first AND :last"
    " UNION ALL SELECT m.interaction, coalesce(c.tokens, 0)"
    " FROM message AS m JOIN tool_call AS c ON c.message_id = m.id"
    " WHERE m.session_id = :session AND m.interaction BETWEEN :first AND :last"
)


def read_outline(
    db: sqlite3.Connection, session_id: str, first: int, last: int
) -> list[EarlierTurn]:
    """Return the turns of a session from the `first` to the `last`, in their order, without secrets."""
    span = {"session": session_id, "first": first, "last": last}
    files_by_turn: dict[int, dict[str, None]] = {}  # files in order
    for number, files in db.execute(_CHANGED_FILES, span):
        files_by_turn.setdefault(number, {}).update(dict.fromkeys(map(str, json.loads(files))))
    turns: list[EarlierTurn] = []
    for number, query, status, mark, reason in db.execute(_TURNS, span | {"length": _QUERY}):
        outcome = _describe_outcome(status, mark, reason)
        files = tuple(files_by_turn.get(number, ()))
        turns.append(EarlierTurn(number, redact(query), files, outcome))
    return turns


def read_sizes(db: sqlite3.Connection, session_id: str, first: int, last: int) -> dict[int, int]:
    """Return the tokens of the turns from the `first` to the `last`: of their messages, and of the results of their
    calls, as they were counted when they were stored."""
    span = {"session": session_id, "first": first, "last": last}
    sizes: dict[int, int] = {}
    for number, tokens in db.execute(_SIZES, span):
        sizes[number] = sizes.get(number, 0) + tokens
    return sizes


def _describe_outcome(status: str | None, mark: str | None, reason: str | None) -> str:
    """Return how a turn ended; the user's mark says more than a check, and a check more than how its loop ended."""
    if mark:
        return f"the user marked it {mark}"
    if reason:
        return redact(reason)
    return INTERRUPTED if status == INTERRUPTED else ""
