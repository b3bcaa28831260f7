"""Compare wordings: whether two texts say the same, and whether a text says what somebody wrote. No word is special in
any language: a negation, a number and a path count like every other word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from swecli.playbook.ranking import stems
from swecli.store.sessions.search import stem

_QUOTES = str.maketrans("‘’‚“”„«»", "'''" + 5 * '"')
_MARKS = ".,;:!?\"'`"  # ASCII marks that end or enclose a word
_OPENING = (
    "\"'`"  # of these, what may begin a word: `.env` and `!x` are other words than `env` and `x`
)
_BREAKS = re.compile(r"[\W_]+")
_ENCLOSING = {"Ps", "Pe", "Pi", "Pf"}  # categories of brackets and quotation marks


def normalize(text: str) -> str:
    """Normalize what models change when they copy: case, spacing, accents, width, quotes, invisible characters."""
    return " ".join(_unify(text).casefold().replace("i\u0307", "i").split())


def _unify(text: str) -> str:
    """Return a text in one form of its accents, width and quotes, without invisible characters."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES))
    return "".join(c for c in plain if unicodedata.category(c) != "Cf")


def is_same_text(one: str, other: str) -> bool:
    """Return True if two texts have the same words in the same order, apart from case, spacing, punctuation around
    words, and English endings of words that consist of letters only."""
    return _word_sequence(one) == _word_sequence(other)


def _word_sequence(text: str) -> list[str]:
    words = (_strip_marks(word) for word in _unify(text).split())
    return [_plain_word(word) for word in words if word]


def _strip_marks(word: str) -> str:
    end = len(word)
    while end and (word[end - 1] in _MARKS or _is_foreign_mark(word[end - 1])):
        end -= 1
    start = 0
    while start < end and (word[start] in _OPENING or _is_foreign_mark(word[start])):
        start += 1
    return word[start:end]


def _is_foreign_mark(letter: str) -> bool:
    """Return True for brackets, quotation marks, and the marks of other scripts (`。`, `¡`, `،`)."""
    category = unicodedata.category(letter)
    return category in _ENCLOSING or (category == "Po" and not letter.isascii())


def _plain_word(word: str) -> str:
    """Return a word of letters in lower case and without its ending; numbers, paths and flags as they are."""
    return stem(normalize(word)) if word.isalpha() else word


def is_in_words_of(text: str, words: str, replaced: str = "") -> bool:
    """Return True if most content words of a text, and all its numbers, are among these words. A text in place of
    `replaced` may repeat that one: then it is enough if most of what it adds is among the words."""
    if not _numbers(text) <= _numbers(words) | _numbers(replaced):
        return False
    added = _all_words(text) - _all_words(replaced) if replaced else frozenset()
    if added and _is_most(added, _all_words(words)):
        return True
    return _is_most(_split_caseless(stems(normalize(text))), _all_words(words))


def _is_most(wanted: frozenset[str], known: frozenset[str]) -> bool:
    return 2 * len(wanted & known) > len(wanted)


def _all_words(text: str) -> frozenset[str]:
    return _split_caseless(map(stem, _BREAKS.split(normalize(text)))) - {""}


def _split_caseless(words: Iterable[str]) -> frozenset[str]:
    """Return the words; instead of those in scripts without case, which mark no ending or not even words, each pair of
    letters."""
    found = set[str]()
    for word in words:
        found.update(_pairs(word) if _is_caseless(word) else (word,))
    return frozenset(found)


def _is_caseless(word: str) -> bool:
    return any(unicodedata.category(letter) == "Lo" for letter in word)


def _pairs(word: str) -> Iterator[str]:
    if len(word) == 1:
        yield word
    for place in range(len(word) - 1):
        yield word[place : place + 2]


def _numbers(text: str) -> set[str]:
    """Return the words that begin with a digit, without the marks around them."""
    return {word for word in _word_sequence(text) if word[0].isdigit()}
