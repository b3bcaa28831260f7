"""How well strategies match a text: similarity by stems, and a BM25 index over many of them."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from functools import lru_cache

from swecli.models.playbook import Bullet
from swecli.store.sessions.stemming import stem
from swecli.text import sanitize
from swecli.values import dataclass

_ID = re.compile(r"\[\s*(P-?\d+)\s*\]", re.IGNORECASE)
_SIMILAR = 0.5  # Jaccard similarity of two texts about the same thing
_SATURATION, _LENGTH = 1.2, 0.75  # k1 and b of BM25
_STOP_WORDS = """
    a an and are as at be by can do does for from has have here how i if in is it its me my not of on or our so that
    s t the then there this to use was we what when where which who why will with you your
"""
_STOP = frozenset(_STOP_WORDS.split())


def clean(content: str) -> str:
    """Return one line of visible text, with brackets removed from ids so that a bullet cannot cite another one."""
    text = sanitize(content)
    while _ID.search(text):  # `[[P-1]]` has brackets within brackets
        text = _ID.sub(r"\1", text)
    return " ".join(text.split())


class _WordCharacters(dict[int, str]):
    """A table for `str.translate`, ten times as fast as a pattern: all but letters and digits become spaces."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        return self.setdefault(code, letter if letter.isalnum() else " ")


_LETTERS = _WordCharacters({0: "\0"})  # NUL separates texts


def _plain(text: str) -> str:
    return text.lower().translate(_LETTERS)


def stems(text: str) -> frozenset[str]:
    """Return the stems of a text's words, without stop words."""
    return frozenset(map(_term, _plain(text).split())) - {""}


@lru_cache(maxsize=32_768)
def _term(word: str) -> str:
    return "" if word in _STOP else stem(word)


def _jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the Jaccard similarity, 0 to 1; 0 if both sets are empty."""
    union = first | second
    return len(first & second) / len(union) if union else 0.0


def most_similar(text: str, bullets: Iterable[Bullet]) -> Bullet | None:
    """Return the bullet most similar to a text, the oldest of several; None if none is about the same thing."""
    words = stems(text)
    scored = [
        (_jaccard(words, stems(bullet.content)), -bullet.number, bullet) for bullet in bullets
    ]
    similarity, _, bullet = max(scored, key=lambda row: row[:2], default=(0.0, 0, None))
    return bullet if similarity >= _SIMILAR else None


def _have_equal_texts(first: Bullet, second: Bullet) -> bool:
    """Whether the two are the same bullet with the same words; its counts and its state may differ."""
    if first is second:
        return True
    return (first.id, first.content, first.when) == (second.id, second.content, second.when)


class _TextsByWord(dict[str, set[int]]):
    """By word behind its space, the set of the texts with its term. The words of no term share a set that nobody
    reads."""

    def __init__(self, terms: Mapping[str, set[int]]) -> None:
        super().__init__()
        self._terms = terms
        self._unread = set[int]()

    def __missing__(self, word: str) -> set[int]:
        return self.setdefault(word, self._terms.get(_term(word.lstrip()), self._unread))


@dataclass(slots=True)
class BulletIndex:
    """A BM25 index over the content and `when` of bullets, kept between queries. A word is stemmed only if it begins
    like a query's stem, because stemming all words of 10,000 bullets takes a second."""

    _bullets: list[Bullet] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)  # a bullet's words, each between spaces
    _spaces: int = 0  # in all texts: a fast estimate of their length in words
    # by term, the indexes of the texts that contain it
    _postings: dict[str, set[int]] = field(default_factory=dict)

    def update(self, bullets: Mapping[str, Bullet]) -> None:
        previous = self._bullets
        self._bullets = [*bullets.values()]
        if len(self._bullets) == len(previous) and all(
            map(_have_equal_texts, self._bullets, previous)
        ):
            return
        raw = "".join([f" {bullet.content} {bullet.when} \0" for bullet in self._bullets])
        joined = _plain(raw)
        self._texts = joined.split("\0")[:-1]
        self._spaces = joined.count(" ")
        self._postings = {}

    def _find_texts(self, terms: Collection[str]) -> None:
        """Find the texts that contain these terms, all in one pass."""
        if not terms:
            return
        postings = {term: set[int]() for term in terms}
        self._postings.update(postings)
        # a stem differs from its word in the last two letters at most, except for dying, lying and tying
        beginnings = sorted({term[: max(2, len(term) - 2)] for term in terms})
        find_words = re.compile(f" (?:{'|'.join(beginnings)})[^ ]*").findall
        texts_by_word = _TextsByWord(postings)
        for index, text in enumerate(self._texts):
            for word in find_words(text):
                texts_by_word[word].add(index)

    def search(self, query: str, least: float) -> dict[str, float]:
        """Return the BM25 scores by id of the bullets that match at least the share `least` of the query's idf mass.
        BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with Lucene's non-negative
        idf; a term counts once per text. A term that no bullet contains has the idf of the rarest one."""
        total = len(self._texts)
        terms = sorted(stems(query))
        self._find_texts([term for term in terms if term not in self._postings])
        idf = {}
        for term in terms:
            count = len(self._postings[term])
            idf[term] = math.log(1 + (total - count + 0.5) / (count + 0.5))
        remaining = sum(idf.values())
        threshold = least * remaining
        sums: dict[int, float] = {}  # of the idf of the terms found so far, by index of the text
        for term, weight in sorted(idf.items(), key=lambda pair: -pair[1]):
            texts = self._postings[term]
            if remaining < threshold:  # the remaining terms lift no further text over it
                texts = sums.keys() & texts
            for index in texts:
                sums[index] = sums.get(index, 0.0) + weight
            remaining -= weight
        scores: dict[str, float] = {}
        for index, mass in sums.items():
            if mass >= threshold:
                length = self._texts[index].count(" ")
                norm = 1 - _LENGTH + _LENGTH * length * total / self._spaces
                score = mass * ((_SATURATION + 1) / (1 + _SATURATION * norm))
                scores[self._bullets[index].id] = score
        return scores
