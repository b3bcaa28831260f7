"""Content words of a text, how alike two texts are, and whether a sentence forbids or demands."""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(r"\w++(?:[./+#-]++\w++)*+|--?[A-Za-z][\w-]*+")
_FORBIDS = re.compile(
    r"\b(?:never|not|no|avoid|without|stop|don['’]?t|doesn['’]?t|shouldn['’]?t|mustn['’]?t|cannot|can['’]?t)\b",
    re.IGNORECASE,
)
_STOP_WORDS = """
    a an and any are as at be been before being but by can could did do does done each else ever every for from had
    has have having here how i if in instead into is it its just let like may me might more most much must my no nor of
    off on once only or other our out over own please rather same shall she should since so some such than that the
    their them then there these they this those through to too under until up upon very was way we well were what when
    where whether which while who whom why will with within would yes you your always never not don t s doesn isn
    avoid without stop
"""
_STOP = frozenset(_STOP_WORDS.split())
_NOTHING = frozenset([""])


def tokens(text: str) -> list[str]:
    """The words of a text, in order and lower case; flags (`-q`), paths and dotted names stay whole."""
    return [token.lower() for token in written(text)]


def written(text: str) -> list[str]:
    """The words of a text as they are written, in order."""
    return _TOKEN.findall(text.replace("’", "'"))


def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning: no filler, a plural counted with its singular."""
    return frozenset(map(content_word, written(text))) - _NOTHING


@lru_cache(maxsize=32_768)
def content_word(token: str) -> str:
    """What a word as it is written counts as; "" for filler."""
    word = token.lower()
    return "" if word in _STOP else _singular(word)


def _singular(word: str) -> str:
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) and word.isalpha():
        return word[:-1]
    return word


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared words over all words, 0 to 1; 0 when both are empty."""
    union = one | other
    return len(one & other) / len(union) if union else 0.0


def containment(part: frozenset[str], whole: frozenset[str]) -> float:
    """How much of `part` is found in `whole`, 0 to 1; 0 for an empty part."""
    return len(part & whole) / len(part) if part else 0.0


def forbids(text: str) -> bool:
    """Whether a sentence opens with, or turns on, a prohibition: `never use tabs`, `avoid tabs`."""
    return _FORBIDS.search(text) is not None


def shorten(text: str, limit: int) -> str:
    """One line of at most `limit` characters, an ellipsis where something was left out."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
