"""How alike texts are: content words by their stems, and an index that finds bullets for a query with BM25."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from swecli.models.playbook import Bullet
from swecli.store.stems import stem

_SIMILAR = 0.5  # shared stems of two texts from which they speak of the same
_SATURATION, _LENGTH = 1.2, 0.75  # k1 and b of BM25
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_STOP_WORDS = """
    a an and are as at be by can do does for from has have here how i if in is it its me my not of on or our so that
    the then there this to use was we what when where which who why will with you your
"""
_STOP = frozenset(_STOP_WORDS.split())


def stems(text: str) -> frozenset[str]:
    """What a text is found by: its words in lower case without stop words and endings; paths and names in parts."""
    return frozenset(map(_term, _WORD.findall(text.lower()))) - {""}


@lru_cache(maxsize=32_768)
def _term(word: str) -> str:
    return "" if word in _STOP else stem(word)


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared stems over all, 0 to 1; 0 when both are empty."""
    union = one | other
    return len(one & other) / len(union) if union else 0.0


def nearest(text: str, bullets: Iterable[Bullet]) -> Bullet | None:
    """The bullet that speaks of the same as a text; None when none is at least half alike."""
    words = stems(text)
    scored = ((alike(words, stems(bullet.content)), -bullet.number, bullet) for bullet in bullets)
    score, _, bullet = max(scored, key=lambda found: found[:2], default=(0.0, 0, None))
    return bullet if score >= _SIMILAR else None


@dataclass(slots=True)
class BulletIndex:
    """The words of bullets, content and `when`, kept between queries: what has not changed is not read again."""

    _known: dict[str, Bullet] = field(default_factory=dict)
    _terms: dict[str, frozenset[str]] = field(default_factory=dict)
    _holders: dict[str, set[str]] = field(default_factory=dict)  # by term, of those that were searched for
    _length: int = 0

    def update(self, bullets: Mapping[str, Bullet]) -> None:
        """Bring it up to date with these bullets, and no others."""
        for name in self._known.keys() - bullets.keys():
            del self._known[name]
            self._put(name, frozenset())
        for name, bullet in bullets.items():
            known = self._known.get(name)
            if known is bullet:
                continue
            if known is None or (known.content, known.when) != (bullet.content, bullet.when):
                self._put(name, stems(f"{bullet.content} {bullet.when}"))
            self._known[name] = bullet

    def _put(self, name: str, terms: frozenset[str]) -> None:
        self._holders.clear()
        self._length += len(terms) - len(self._terms.pop(name, ()))
        if terms:
            self._terms[name] = terms

    def _held_by(self, term: str) -> set[str]:
        if term not in self._holders:
            self._holders[term] = {name for name, terms in self._terms.items() if term in terms}
        return self._holders[term]

    def search(self, query: str, least: float) -> dict[str, float]:
        """The BM25 sums of what shares words with a query that carry at least the share `least` of its idf mass, by id.
        BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) with the never negative idf of
        Lucene; each term counts once in a text, for these texts are a sentence or two. A word of the query that no
        bullet has carries the mass of the rarest."""
        wanted, total = stems(query), len(self._terms)
        counts = {term: len(self._held_by(term)) for term in sorted(wanted)}
        idf = {term: math.log(1 + (total - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
        enough = least * sum(idf.values())
        sums: dict[str, float] = {}
        left = sum(idf.values())
        for term, weight in sorted(idf.items(), key=lambda pair: -pair[1]):
            # what the words from here on cannot carry together they need not be looked for
            for name in self._held_by(term) if left >= enough else sums.keys() & self._held_by(term):
                sums[name] = sums.get(name, 0.0) + weight
            left -= weight
        passed: dict[str, float] = {}
        for name, value in sums.items():
            if value >= enough:
                norm = 1 - _LENGTH + _LENGTH * len(self._terms[name]) * total / self._length
                passed[name] = value * ((_SATURATION + 1) / (1 + _SATURATION * norm))
        return passed
