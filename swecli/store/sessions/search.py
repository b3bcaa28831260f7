"""Full-text search: words in all sessions, a text in one session, and the earlier interactions that a query refers to,
by rare words."""

from __future__ import annotations

import math
import re
import sqlite3
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib.util import find_spec, module_from_spec
from itertools import pairwise
from typing import Any

from swecli.models.session import Session
from swecli.redact import redact, redact_part
from swecli.store.found import FoundInteraction, SearchHit, TextMatch
from swecli.store.journal.values import read_moment

FLOOR = 0.5
_EVIDENCE = 5.0  # the weight of two words in one of twenty interactions, or of three in one of ten
_WORDS = re.compile(r"[^\W_]+")
_SHORT = 4  # letters; shorter stems match exactly
_MOST_TERMS = 32  # of a query; longer ones are pasted texts
_COMMON = 200  # texts; a word in more of them is not significant
_CANDIDATES = 12  # interactions whose texts are read
_EXCERPT = 400  # characters
_EXCERPTS = 2  # of one interaction
_SNIPPET = 60  # characters on either side of a match
_AROUND = 4_000  # characters on either side of an excerpt that are redacted with it

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
# what the notes of a message tell, one a line
_TOLD = (
    "(SELECT group_concat(value, char(10)) FROM json_tree(notes)"
    " WHERE key IN ('content', 'value', 'job', 'line'))"
)
_IN_SESSION = (
    "SELECT interaction, CASE role WHEN 'user' THEN 'query' ELSE 'answer' END, content, sent, told, 0, id"
    f" FROM (SELECT *, {_TOLD} AS told FROM message WHERE session_id = :session)"
    " WHERE instr(lower(content), :text) OR instr(lower(sent), :text) OR instr(lower(told), :text)"
    " UNION ALL SELECT m.interaction, 'result of ' || c.call_id, c.result, f.text, NULL, 1, c.id FROM tool_call c"
    " JOIN message m ON m.id = c.message_id LEFT JOIN full_result f ON f.call = c.id"
    " WHERE c.session_id = :session AND (instr(lower(c.result), :text) OR instr(lower(f.text), :text))"
    " ORDER BY 1 DESC, 6, 7 DESC LIMIT :limit"
)
# CROSS: the indexes are walked first, within the keys of this session
_KEYS = (
    "BETWEEN (SELECT min(id) FROM {0} WHERE session_id = :session)"
    " AND (SELECT max(id) FROM {0} WHERE session_id = :session)"
)
_WITH_WORD = (
    "SELECT * FROM (SELECT m.interaction FROM message_fts CROSS JOIN message m ON m.id = message_fts.rowid"
    f" WHERE message_fts MATCH :word AND message_fts.rowid {_KEYS.format('message')}"
    " AND m.session_id = :session LIMIT :most)"
    " UNION ALL SELECT m.interaction FROM tool_call_fts CROSS JOIN tool_call c ON c.id = tool_call_fts.rowid"
    " CROSS JOIN message m ON m.id = c.message_id"
    f" WHERE tool_call_fts MATCH :word AND tool_call_fts.rowid {_KEYS.format('tool_call')}"
    " AND c.session_id = :session LIMIT :most"
)
_IN_INTERACTION = (
    "SELECT CASE role WHEN 'user' THEN 'query' ELSE 'answer' END, content FROM message"
    " WHERE session_id = :session AND interaction = :number"
    " UNION ALL SELECT 'result of ' || c.call_id, c.result FROM tool_call c JOIN message m ON m.id = c.message_id"
    " WHERE m.session_id = :session AND m.interaction = :number AND c.result IS NOT NULL"
)


@cache
def _stemmer() -> Any:
    """The stemmer for English. The package itself is not run: it would load those of 30 other languages."""
    if (package := find_spec("snowballstemmer")) is None:
        raise ModuleNotFoundError("snowballstemmer is not installed")
    sys.modules[package.name] = module_from_spec(package)
    try:
        # late: only what looks for alike texts needs it
        from snowballstemmer.english_stemmer import EnglishStemmer
    finally:
        del sys.modules[package.name]
    return EnglishStemmer()


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """A word without its endings by the Snowball rules for English; those of other languages mostly stay."""
    return str(_stemmer().stemWord(word))


def search_all(db: sqlite3.Connection, words: Sequence[str], limit: int) -> list[SearchHit]:
    """Find the newest messages and titles of all sessions that contain all the words; `word*` matches a prefix."""
    given = {f"word{place}": word.rstrip("*").lower() for place, word in enumerate(words)}
    titled, holds = (
        " AND ".join(f"instr(lower({field}), :{name})" for name in given)
        for field in ("s.title", "m.content")
    )
    query = _match_query(words)  # a scan is slower, but matches every script and sign
    messages = _BY_SCAN.format(holds=holds) if query is None else _BY_INDEX
    titles = _TITLES_BY_SCAN.format(titled=titled) if query is None else _TITLES_BY_INDEX
    which = _FIND.format(messages=messages, titles=titles)
    rows = db.execute(which, {**given, "query": query, "limit": limit}).fetchall()
    hits = [
        SearchHit(
            session, redact(title), number, role, _snippet_at(content, words[0]), read_moment(at)
        )
        for session, title, number, role, content, at in rows
    ]
    return sorted(hits, key=lambda hit: hit.created_at, reverse=True)[:limit]


def _match_query(words: Sequence[str]) -> str | None:
    """Return the FTS5 query for all the words, or None if FTS5 cannot match them: bare punctuation, and words within
    scripts without spaces."""
    if any(not any(c.isalnum() for c in word) or any(c > "\u0fff" for c in word) for word in words):
        return None
    quoted = (
        '"' + word.rstrip("*").replace('"', '""') + '"' + ("*" if word.endswith("*") else "")
        for word in words
    )
    return " ".join(quoted)


def find_text(db: sqlite3.Connection, session_id: str, words: str, limit: int) -> list[TextMatch]:
    """Find a text in a session's messages and results, newest first, by a scan."""
    rows = db.execute(
        _IN_SESSION, {"session": session_id, "text": words.lower(), "limit": limit}
    ).fetchall()
    return [
        TextMatch(
            row[0],
            row[1],
            _snippet_at(_first_with(words, row[2:5]), words),
        )
        for row in rows
    ]


def _first_with(words: str, texts: Iterable[str | None]) -> str:
    """Return the first of the texts that contains the words; "" if none does."""
    having = (text for text in texts if text is not None and words.lower() in text.lower())
    return next(having, "")


def _snippet_at(content: str, word: str) -> str:
    """Return the text around a word."""
    at = max(0, content.lower().find(word.rstrip("*").lower()))
    return _excerpt(content, at, at + len(word), _SNIPPET)


def _excerpt(content: str, start: int, end: int, beside: int) -> str:
    """Return the passage with `beside` characters on either side, redacted, also where a secret only reaches into
    it."""
    start = max(0, start - beside)
    end = min(len(content), end + beside)
    first = max(0, start - _AROUND)
    clean = redact_part(content[first : end + _AROUND], start - first, end - first)
    return " ".join(("…" * (start > 0) + clean + "…" * (end < len(content))).split())


def search_session(
    db: sqlite3.Connection,
    session: Session,
    query: str,
    before: int | None,
    limit: int,
    floor: float,
) -> list[FoundInteraction]:
    """The interactions of a session that a query refers to, best first, those `before` one of them (None: all). A query
    that is stored already, and has not begun its turn, is none of them.

    A word, in any of its English forms, weighs ln((N + 1) / (n + 0.5)), as it stands in n of N interactions (the
    inverse document frequency of Spärck Jones, 1972). The score of an interaction is the weight of the query's words
    in its best passage over the weight of all of the query's words that the session has. Above a `floor` of 0, more
    than one word has to match, in one passage, and words that a later interaction has do not count.
    """
    total = session.interactions
    last = total if before is None else min(total, before - 1)
    where = _places_of_words(db, session, query)
    weights = _weigh(where, total, floor)
    rare = _find_rare(weights, where, total, last, floor)

    whole = sum(weights.values())
    # one word is not enough, however rare; among few interactions, where any word is rare, two are not
    enough = max(_EVIDENCE, math.log(total + 1) * 1.2) if floor > 0 else 0.0
    found = []
    for number in _choose_candidates(weights, where, rare, last):
        given = {"session": session.id, "number": number}
        places = [TextMatch(number, *row) for row in db.execute(_IN_INTERACTION, given)]
        passages = [_best_passage(place, weights, rare) for place in places]
        ranked = sorted(passages, key=lambda passage: -passage[0])
        weight, pointing, _ = ranked[0]
        if weight and pointing >= enough and weight >= floor * whole:
            quoted = tuple(place for heavy, _, place in ranked[:_EXCERPTS] if heavy)
            found.append(FoundInteraction(number, weight / whole, quoted))
    best_first = sorted(found, key=lambda one: (-one.score, -one.interaction))
    return best_first[: max(0, limit)]


def _places_of_words(db: sqlite3.Connection, session: Session, query: str) -> dict[str, set[int]]:
    """Return the interactions of the session in which each of the query's words stands, by its stem."""
    stems = dict.fromkeys(stem(word.lower()) for word in _WORDS.findall(query))
    stored = _interactions_of(db, session.id, list(stems)[:_MOST_TERMS])
    where: dict[str, set[int]] = {}
    for word, numbers in stored.items():
        begun = {number for number in numbers if number <= session.interactions}
        if begun:
            where[word] = begun
    return where


def _weigh(where: Mapping[str, set[int]], total: int, floor: float) -> dict[str, float]:
    """Return the weight of each word, above a `floor` of 0 only of those in at most a quarter of the interactions."""
    weights: dict[str, float] = {}
    for word, numbers in where.items():
        if floor <= 0 or 4 * len(numbers) <= total:
            weights[word] = math.log((total + 1) / (len(numbers) + 0.5))
    return weights


def _find_rare(
    weights: Mapping[str, float],
    where: Mapping[str, set[int]],
    total: int,
    last: int,
    floor: float,
) -> set[str]:
    """Return the significant words: those that are repeated, or used again later, only rank the results."""
    if floor <= 0:
        return set(weights)
    often = max(2, total // 50)
    rare: set[str] = set()
    for word in weights:
        is_used_later = max(where[word]) > last
        if not is_used_later and _count_episodes(where[word]) <= often:
            rare.add(word)
    return rare


def _choose_candidates(
    weights: Mapping[str, float], where: Mapping[str, set[int]], rare: set[str], last: int
) -> list[int]:
    """Return the interactions up to the `last` one whose texts are worth reading, those with the most weight first."""
    having = {number for word in rare for number in where[word] if number <= last}
    by_interaction = {
        number: sum(weights[word] for word in weights if number in where[word]) for number in having
    }
    ranked = sorted(by_interaction, key=lambda number: (-by_interaction[number], -number))
    return ranked[:_CANDIDATES]


def _count_episodes(numbers: set[int]) -> int:
    """Count the groups of interactions that are at most three apart."""
    ordered = sorted(numbers)
    return 1 + sum(later - earlier > 3 for earlier, later in pairwise(ordered))


def _prefix_of(root: str) -> str:
    """Return a prefix of all forms of a word: "studi" is the stem of "study"."""
    return root[:-1] if len(root) > _SHORT else root


def _interactions_of(
    db: sqlite3.Connection, session_id: str, roots: Iterable[str]
) -> dict[str, set[int]]:
    """Return the interactions by stem; stems without a match or with too many are left out."""
    found: dict[str, set[int]] = {}
    for root in roots:
        word = f'"{_prefix_of(root)}"' + "*" * (len(root) >= _SHORT)
        rows = db.execute(_WITH_WORD, {"session": session_id, "most": _COMMON + 1, "word": word})
        texts = [row[0] for row in rows]
        if texts and len(texts) <= _COMMON:
            found[root] = set(texts)
    return found


def _best_passage(
    whole: TextMatch, weights: Mapping[str, float], rare: set[str]
) -> tuple[float, float, TextMatch]:
    """Return the passage of at most 400 characters with the highest weight of different words: its weight, the weight
    of its rare words, the passage; 0 if it has no rare word."""
    begin = tuple(map(_prefix_of, weights))
    words_of = ((m, m[0].lower()) for m in _WORDS.finditer(whole.excerpt))
    stems = ((m, stem(word)) for m, word in words_of if word.startswith(begin))
    hits = [(m.start(), m.end(), root) for m, root in stems if root in weights]
    first = 0
    last = 0
    weight = 0.0
    pointing = 0.0
    for at, (start, _, _) in enumerate(hits):
        inside = [hit for hit in hits[at : at + _MOST_TERMS] if hit[1] <= start + _EXCERPT]
        words = {word for _, _, word in inside}
        heavy = sum(weights[word] for word in words)
        if words & rare and heavy > weight:
            first = start
            last = inside[-1][1]
            weight = heavy
            pointing = sum(weights[word] for word in words & rare)
    excerpt = ""
    if weight:
        beside = max(0, _EXCERPT - (last - first)) // 2
        excerpt = _excerpt(whole.excerpt, first, last, beside)
    return weight, pointing, replace(whole, excerpt=excerpt)
