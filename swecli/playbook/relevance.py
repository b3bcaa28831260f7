"""How well texts match a query: BM25 over their terms, as a number from 0 to 1."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from swecli.playbook.words import content_word, written

SATURATION, LENGTH = 1.2, 0.75  # k1 and b of BM25
HALFWAY = 3.0  # the BM25 sum that counts as half of a full match
_PARTS = re.compile(r"[^\W_]+")
_ENDINGS = ("ing", "ed", "es", "s", "e")
_LAST = frozenset("gdse")  # letters of which one ends every ending
_SHORTEST = 4  # letters that an ending leaves, at least


@lru_cache(maxsize=8192)
def terms(text: str) -> frozenset[str]:
    """What a text is found by: its content words, the parts of its paths, flags and dotted names, without endings."""
    return frozenset().union(*map(_of_word, written(text)))


@lru_cache(maxsize=32_768)
def _of_word(token: str) -> tuple[str, ...]:
    word = content_word(token)
    if word.isalnum():
        return (_stem(word),) if len(word) > 1 else ()
    return tuple([_stem(part) for part in (word, *_PARTS.findall(word)) if len(part) > 1])


def _stem(word: str) -> str:
    """A word without one English ending: `test`, `tests` and `testing` are one term."""
    if word[-1] not in _LAST or not word.isalpha():
        return word
    if word.endswith("ies") and len(word) > _SHORTEST + 1:
        return word[:-3] + "y"
    for ending in _ENDINGS if not word.endswith(("ss", "us", "is")) else ():
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST:
            return _undoubled(word[: -len(ending)])
    return word


def _undoubled(stem: str) -> str:
    """`committ` of `committing` is `commit`; `class` and `call` stay."""
    return stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem


def matches(query: str, texts: Sequence[str]) -> list[float]:
    """How well each text answers the query: 0 with no term in common, towards 1 with many rare ones.

    BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) with the never negative idf of
    Lucene; each term counts once in a text, for these texts are a sentence or two. The sum s becomes s / (s + 3).
    """
    wanted = terms(query)
    documents = [terms(text) for text in texts]
    found = [wanted & document for document in documents]
    held = Counter(term for shared in found for term in shared)
    rarity = {term: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for term, count in held.items()}
    mean = sum(map(len, documents)) / len(documents) if documents else 0.0
    return [_share(shared, len(document), mean, rarity) for shared, document in zip(found, documents, strict=True)]


def _share(shared: frozenset[str], size: int, mean: float, rarity: dict[str, float]) -> float:
    if not shared:
        return 0.0
    weight = (SATURATION + 1) / (1 + SATURATION * (1 - LENGTH + LENGTH * size / mean))
    total = sum(rarity[term] for term in sorted(shared)) * weight  # sorted: sums of floats depend on their order
    return total / (total + HALFWAY)
