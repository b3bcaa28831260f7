"""Find the earlier interactions of a session that a query refers to, by its rare words."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from swecli.models.session import Session
from swecli.store.search_results import FoundInteraction, TextMatch
from swecli.store.sessions.excerpts import excerpt
from swecli.store.sessions.stemming import stem
from swecli.values import dataclass

FLOOR = 0.5  # the score of what a prompt may quote
_EVIDENCE = 5.0  # the weight of two words in one of twenty interactions, or of three in one of ten
_WORDS = re.compile(r"[^\W_]+")
_SHORT = 4  # letters; shorter stems match exactly
_MOST_TERMS = 32  # of a query; longer ones are pasted texts
_COMMON = 200  # texts; a word in more of them is not significant
_CANDIDATES = 12  # interactions whose texts are read
_EXCERPT = 400  # characters
_EXCERPTS = 2  # of one interaction

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


@dataclass(frozen=True, slots=True)
class _Passage:
    """A part of a text with some of the query's words. `weight` is that of these words, `rare_weight` that of the rare
    ones among them; 0 if it has no rare word."""

    weight: float
    rare_weight: float
    match: TextMatch


def search_session(
    db: sqlite3.Connection,
    session: Session,
    query: str,
    before: int | None,
    limit: int,
    floor: float,
) -> list[FoundInteraction]:
    """Return the interactions of a session that a query refers to, best first, those `before` one of them (None: all).
    A query that is stored already, and has not begun its turn, is none of them.

    A word, in any of its English forms, weighs ln((N + 1) / (n + 0.5)), as it stands in n of N interactions (the
    inverse document frequency of Spärck Jones, 1972). The score of an interaction is the weight of the query's words
    in its best passage over the weight of all of the query's words that the session has. Above a `floor` of 0, more
    than one word has to match, in one passage, and words that a later interaction has do not count.
    """
    total = session.interactions
    last = total if before is None else min(total, before - 1)
    turns_of_word = _find_words(db, session, query)
    weights = _weigh(turns_of_word, total, floor)
    rare = _find_rare(weights, turns_of_word, total, last, floor)

    total_weight = sum(weights.values())
    # one word is not enough, however rare; among few interactions, where any word is rare, two are not
    least_rare_weight = max(_EVIDENCE, math.log(total + 1) * 1.2) if floor > 0 else 0.0
    matching = []
    for number in _choose_candidates(weights, turns_of_word, rare, last):
        parameters = {"session": session.id, "number": number}
        texts = [TextMatch(number, *row) for row in db.execute(_IN_INTERACTION, parameters)]
        passages = [_best_passage(text, weights, rare) for text in texts]
        passages.sort(key=lambda passage: -passage.weight)
        best = passages[0]
        is_referred_to = best.rare_weight >= least_rare_weight
        if best.weight and is_referred_to and best.weight >= floor * total_weight:
            excerpts = tuple(passage.match for passage in passages[:_EXCERPTS] if passage.weight)
            matching.append(FoundInteraction(number, best.weight / total_weight, excerpts))
    best_first = sorted(matching, key=lambda turn: (-turn.score, -turn.interaction))
    return best_first[: max(0, limit)]


def _find_words(db: sqlite3.Connection, session: Session, query: str) -> dict[str, set[int]]:
    """Return the interactions of the session in which each of the query's words stands, by its stem. Words that stand
    in none, or in too many texts, are left out."""
    stems = dict.fromkeys(stem(word.lower()) for word in _WORDS.findall(query))
    turns_of_word: dict[str, set[int]] = {}
    for root in list(stems)[:_MOST_TERMS]:
        star = "*" if len(root) >= _SHORT else ""
        word = f'"{_prefix_of(root)}"{star}'
        parameters = {"session": session.id, "most": _COMMON + 1, "word": word}
        numbers = [row[0] for row in db.execute(_WITH_WORD, parameters)]
        begun_turns = {number for number in numbers if number <= session.interactions}
        if begun_turns and len(numbers) <= _COMMON:
            turns_of_word[root] = begun_turns
    return turns_of_word


def _weigh(turns_of_word: Mapping[str, set[int]], total: int, floor: float) -> dict[str, float]:
    """Return the weight of each word, above a `floor` of 0 only of those in at most a quarter of the interactions."""
    weights: dict[str, float] = {}
    for word, numbers in turns_of_word.items():
        if floor <= 0 or 4 * len(numbers) <= total:
            weights[word] = math.log((total + 1) / (len(numbers) + 0.5))
    return weights


def _find_rare(
    weights: Mapping[str, float],
    turns_of_word: Mapping[str, set[int]],
    total: int,
    last: int,
    floor: float,
) -> set[str]:
    """Return the significant words: those that are repeated, or used again later, only rank the results."""
    if floor <= 0:
        return set(weights)
    most_episodes = max(2, total // 50)
    rare: set[str] = set()
    for word in weights:
        is_used_later = max(turns_of_word[word]) > last
        if not is_used_later and _count_episodes(turns_of_word[word]) <= most_episodes:
            rare.add(word)
    return rare


def _choose_candidates(
    weights: Mapping[str, float],
    turns_of_word: Mapping[str, set[int]],
    rare: set[str],
    last: int,
) -> list[int]:
    """Return the interactions up to the `last` one whose texts are worth reading, those with the most weight first."""
    candidates = {number for word in rare for number in turns_of_word[word] if number <= last}

    def rank(number: int) -> tuple[float, int]:
        weight = sum(weights[word] for word in weights if number in turns_of_word[word])
        return -weight, -number

    return sorted(candidates, key=rank)[:_CANDIDATES]


def _count_episodes(numbers: set[int]) -> int:
    """Count the groups of interactions that are at most three apart."""
    ordered = sorted(numbers)
    return 1 + sum(later - earlier > 3 for earlier, later in pairwise(ordered))


def _prefix_of(root: str) -> str:
    """Return a prefix of all forms of a word: "studi" is the stem of "study"."""
    return root[:-1] if len(root) > _SHORT else root


def _best_passage(text: TextMatch, weights: Mapping[str, float], rare: set[str]) -> _Passage:
    """Return the passage of at most 400 characters with the highest weight of different words."""
    prefixes = tuple(map(_prefix_of, weights))
    words: list[tuple[int, int, str]] = []  # start, end and stem of the query's words
    for match in _WORDS.finditer(text.excerpt):
        word = match[0].lower()
        if word.startswith(prefixes) and stem(word) in weights:
            words.append((match.start(), match.end(), stem(word)))
    first = 0
    last = 0
    weight = 0.0
    rare_weight = 0.0
    passage = ""
    for number, (start, _, _) in enumerate(words):
        following = words[number : number + _MOST_TERMS]
        inside = [word for word in following if word[1] <= start + _EXCERPT]
        roots = {root for _, _, root in inside}
        present = sum(weights[root] for root in roots)
        if roots & rare and present > weight:
            first = start
            last = inside[-1][1]
            weight = present
            rare_weight = sum(weights[root] for root in roots & rare)
    if weight:
        beside = max(0, _EXCERPT - (last - first)) // 2
        passage = excerpt(text.excerpt, first, last, beside)
    return _Passage(weight, rare_weight, replace(text, excerpt=passage))
