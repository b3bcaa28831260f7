"""How well strategies match a text: similarity by stems, and a BM25 index over many of them."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from swecli.models.playbook import Bullet
from swecli.store.sessions.search import stem
from swecli.text import sanitize

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
    while (found := _ID.sub(r"\1", text)) != text:
        text = found
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


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity, 0 to 1; 0 if both sets are empty."""
    union = one | other
    return len(one & other) / len(union) if union else 0.0


def most_similar(text: str, bullets: Iterable[Bullet], least: float = _SIMILAR) -> Bullet | None:
    """Return the bullet most similar to a text, the oldest of several; None below the similarity `least`."""
    words = stems(text)
    scored = (
        (_jaccard(words, stems(bullet.content)), -bullet.number, bullet) for bullet in bullets
    )
    score, _, bullet = max(scored, key=lambda found: found[:2], default=(0.0, 0, None))
    return bullet if score >= least else None


@dataclass(slots=True)
class BulletIndex:
    """A BM25 index over the content and `when` of bullets, kept between queries. All texts are one string; a word is
    stemmed only if it begins like a query's stem, because stemming all words of 10,000 bullets takes a second."""

    _names: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _whole: str = ""
    _starts: list[int] = field(
        default_factory=list
    )  # offsets of the texts in `_whole`, and its end
    _spaces: int = 0  # spaces in `_whole`: a fast estimate of its length in words
    _places: dict[str, set[int]] = field(
        default_factory=dict
    )  # indexes of the texts that contain a term

    def update(self, bullets: Mapping[str, Bullet]) -> None:
        texts = [text for bullet in bullets.values() for text in (bullet.content, bullet.when)]
        names = [*bullets]
        if (names, texts) == (self._names, self._texts):
            return
        pairs = zip(texts[::2], texts[1::2], strict=True)
        self._whole = _plain("".join(f" {content} {when} \0" for content, when in pairs))
        lengths = (len(text) + 1 for text in self._whole.split("\0"))
        self._names, self._texts, self._places = names, texts, {}
        self._starts, self._spaces = [*accumulate(lengths, initial=0)], self._whole.count(" ")

    def _places_of(self, term: str) -> set[int]:
        if term not in self._places:
            # a stem differs from its word in the last two letters at most, except for dying, lying and tying
            begin, found = f" {term[: max(2, len(term) - 2)]}", set[int]()
            at = self._whole.find(begin)
            while at >= 0:
                end = self._whole.index(" ", at + 1)
                if _term(self._whole[at + 1 : end]) == term:
                    place = bisect_right(self._starts, at)
                    found.add(place - 1)
                    end = self._starts[place]
                at = self._whole.find(begin, end)
            self._places[term] = found
        return self._places[term]

    def search(self, query: str, least: float) -> dict[str, float]:
        """Return the BM25 scores by id of the bullets that match at least the share `least` of the query's idf mass.
        BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with Lucene's non-negative
        idf; a term counts once per text. A term that no bullet contains has the idf of the rarest one."""
        wanted, total = stems(query), len(self._names)
        counts = {term: len(self._places_of(term)) for term in sorted(wanted)}
        idf = {
            term: math.log(1 + (total - count + 0.5) / (count + 0.5))
            for term, count in counts.items()
        }
        enough = least * sum(idf.values())
        sums: dict[int, float] = {}
        left = sum(idf.values())
        for term, weight in sorted(idf.items(), key=lambda pair: -pair[1]):
            # skip texts that the remaining terms cannot lift over the threshold
            for place in (
                self._places_of(term) if left >= enough else sums.keys() & self._places_of(term)
            ):
                sums[place] = sums.get(place, 0.0) + weight
            left -= weight
        passed: dict[str, float] = {}
        for place, value in sums.items():
            if value >= enough:
                length = self._whole.count(" ", self._starts[place], self._starts[place + 1])
                norm = 1 - _LENGTH + _LENGTH * length * total / self._spaces
                passed[self._names[place]] = value * ((_SATURATION + 1) / (1 + _SATURATION * norm))
        return passed
