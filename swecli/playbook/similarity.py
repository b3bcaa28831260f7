"""How alike texts are: content words by their stems, and an index that finds bullets for a query with BM25."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from swecli.models.playbook import Bullet
from swecli.store.stems import stem

_SIMILAR = 0.5  # shared stems of two texts from which they speak of the same
_SATURATION, _LENGTH = 1.2, 0.75  # k1 and b of BM25
_STOP_WORDS = """
    a an and are as at be by can do does for from has have here how i if in is it its me my not of on or our so that
    s t the then there this to use was we what when where which who why will with you your
"""
_STOP = frozenset(_STOP_WORDS.split())


class _WordCharacters(dict[int, str]):
    """What becomes of each letter, by its code: one that stands in no word parts words, NUL parts texts."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        return self.setdefault(code, letter if letter.isalnum() else " ")


_LETTERS = _WordCharacters({0: "\0"})


def _plain(text: str) -> str:
    return text.lower().translate(_LETTERS)


def stems(text: str) -> frozenset[str]:
    """What a text is found by: its words in lower case without stop words and endings; paths and names in parts."""
    return frozenset(map(_term, _plain(text).split())) - {""}


@lru_cache(maxsize=32_768)
def _term(word: str) -> str:
    return "" if word in _STOP else stem(word)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared stems over all, 0 to 1; 0 when both are empty."""
    union = one | other
    return len(one & other) / len(union) if union else 0.0


def most_similar(text: str, bullets: Iterable[Bullet]) -> Bullet | None:
    """The bullet that speaks of the same as a text; None when none is at least half alike."""
    words = stems(text)
    scored = ((jaccard(words, stems(bullet.content)), -bullet.number, bullet) for bullet in bullets)
    score, _, bullet = max(scored, key=lambda found: found[:2], default=(0.0, 0, None))
    return bullet if score >= _SIMILAR else None


@dataclass(slots=True)
class BulletIndex:
    """The texts of bullets, content and `when`, as one, kept between queries. A word is stemmed when a query may mean
    it: stemming them all takes a second for ten thousand bullets."""

    _names: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _whole: str = ""
    _starts: list[int] = field(default_factory=list)  # where each text begins in the whole, and the end
    _spaces: int = 0  # in the whole, in the place of words: they are counted faster
    _holders: dict[str, set[int]] = field(default_factory=dict)  # places in these lists, by a term searched for

    def update(self, bullets: Mapping[str, Bullet]) -> None:
        """Bring it up to date with these bullets, and no others."""
        texts = [text for bullet in bullets.values() for text in (bullet.content, bullet.when)]
        names = [*bullets]
        if (names, texts) == (self._names, self._texts):
            return
        pairs = zip(texts[::2], texts[1::2], strict=True)
        self._whole = _plain("".join(f" {content} {when} \0" for content, when in pairs))
        lengths = (len(text) + 1 for text in self._whole.split("\0"))
        self._names, self._texts, self._holders = names, texts, {}
        self._starts, self._spaces = [*accumulate(lengths, initial=0)], self._whole.count(" ")

    def _places_of(self, term: str) -> set[int]:
        if term not in self._holders:
            # all but two letters of a stem are its word's, but in dying, lying and tying
            begin, found = f" {term[: max(2, len(term) - 2)]}", set[int]()
            at = self._whole.find(begin)
            while at >= 0:
                end = self._whole.index(" ", at + 1)
                if _term(self._whole[at + 1 : end]) == term:
                    place = bisect_right(self._starts, at)
                    found.add(place - 1)
                    end = self._starts[place]
                at = self._whole.find(begin, end)
            self._holders[term] = found
        return self._holders[term]

    def search(self, query: str, least: float) -> dict[str, float]:
        """The BM25 sums of what shares words with a query that carry at least the share `least` of its idf mass, by id.
        BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) with the never negative idf of
        Lucene; each term counts once in a text, for these texts are a sentence or two. A word of the query that no
        bullet has carries the mass of the rarest."""
        wanted, total = stems(query), len(self._names)
        counts = {term: len(self._places_of(term)) for term in sorted(wanted)}
        idf = {term: math.log(1 + (total - count + 0.5) / (count + 0.5)) for term, count in counts.items()}
        enough = least * sum(idf.values())
        sums: dict[int, float] = {}
        left = sum(idf.values())
        for term, weight in sorted(idf.items(), key=lambda pair: -pair[1]):
            # what the words from here on cannot carry together they need not be looked for
            for place in self._places_of(term) if left >= enough else sums.keys() & self._places_of(term):
                sums[place] = sums.get(place, 0.0) + weight
            left -= weight
        passed: dict[str, float] = {}
        for place, value in sums.items():
            if value >= enough:
                length = self._whole.count(" ", self._starts[place], self._starts[place + 1])
                norm = 1 - _LENGTH + _LENGTH * length * total / self._spaces
                passed[self._names[place]] = value * ((_SATURATION + 1) / (1 + _SATURATION * norm))
        return passed
