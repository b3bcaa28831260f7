"""Compare wordings: whether two texts say the same, and whether a text is what somebody wrote. No word is special in
any language: a negation, a number and a path count like every other word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from swecli.store.sessions.stemming import stem
from swecli.text import sanitize
from swecli.values import dataclass

# The aside with which a user says that a statement is to be kept.
REMEMBER = re.compile(r"(?:please\s+)?remember(?:\s+that\b|\s*:)\s*", re.IGNORECASE)
# and with which he takes one back
FORGET = re.compile(r"(?:please\s+)?forget(?:\s+that\b|\s*:)\s*", re.IGNORECASE)
_QUOTES = str.maketrans("‘’‚“”„«»", "'''" + 5 * '"')
_MARKS = ".,;:!?\"'`"  # ASCII marks that end or enclose a word
_OPENING = (
    "\"'`"  # of these, what may begin a word: `.env` and `!x` are other words than `env` and `x`
)
_ENCLOSING = {"Ps", "Pe", "Pi", "Pf"}  # categories of brackets and quotation marks

# Marks with which a statement and a question end, of the Unicode property Sentence_Terminal: Latin, Chinese and
# Japanese, Arabic and Urdu, Hindi, Armenian, Ethiopic. In other scripts, only a whole message is a statement.
_STOPS = ".!。．｡！۔।։።"
_QUESTION_MARKS = "?？؟՞፧"
_WIDE_STOP = re.compile("([。．｡！？])")  # no space follows them
# The end marks and quotation marks around a word; everything else belongs to it.
_WORD = re.compile(
    rf"""["'`]*(?P<core>.*?)["'`]*(?P<marks>[,;:{_STOPS}{_QUESTION_MARKS}]*)["'`]*""", re.DOTALL
)
_MAX_ASIDE = 4  # words within which a leading "please remember that" ends


def normalize(text: str) -> str:
    """Normalize what models change when they copy: case, spacing, accents, width, quotes, invisible characters."""
    return " ".join(_unify(text).casefold().replace("i\u0307", "i").split())


def _unify(text: str) -> str:
    """Return a text in one form of its accents, width and quotes, without invisible characters."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES))
    return "".join(c for c in plain if unicodedata.category(c) != "Cf")


def is_same_text(first: str, second: str) -> bool:
    """Return True if two texts have the same words in the same order, apart from case, spacing, punctuation around
    words, and English endings of words that consist of letters only."""
    return _word_sequence(first) == _word_sequence(second)


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


def is_statement_in(text: str, messages: Iterable[str]) -> bool:
    """Return True if a text is one or more whole sentences of one of these messages, word for word.

    The case of plain words, white space, quotation marks around words, the stop at the end and a leading "remember
    that" are left aside. Nothing else is: a comma too may turn a sentence round ("no, push" and "no push"). Part of a
    sentence is no statement, and a question is none without its question mark.
    """
    statement = _words(text)
    return bool(statement) and any(
        _has_sentences(_words(message), statement) for message in messages
    )


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a message. `core` is compared, with the `marks` after it; `raw` is the word as written."""

    raw: str
    core: str
    marks: str


def _words(text: str) -> list[_Word]:
    visible = sanitize(text).replace("\u200c", "").replace("\u200d", "")
    plain = unicodedata.normalize("NFC", visible.translate(_QUOTES))
    return [_read_word(raw) for raw in _WIDE_STOP.sub(r"\1 ", plain).split()]


def _read_word(raw: str) -> _Word:
    match = _WORD.fullmatch(raw)
    assert match is not None, "each part of the pattern may be empty, and the core is anything"
    core = match["core"]
    if _is_plain(core):
        # not casefold: it makes one word of "Maße" and "Masse"
        core = core.lower().replace("i\u0307", "i")
    return _Word(raw, core, match["marks"])


def _is_plain(core: str) -> bool:
    """Return True for a word of letters, also with an apostrophe or a hyphen inside: no path, flag or number."""
    return core.replace("'", "").replace("-", "").isalpha() and not core.startswith("-")


def _has_sentences(words: Sequence[_Word], statement: Sequence[_Word]) -> bool:
    """Return True if the wanted words are a run of these, from the beginning of a sentence to the end of one."""
    ends = {index + 1 for index, _ in enumerate(words) if _ends_sentence(words, index)}
    for beginning in (0, *ends):
        for start in (beginning, beginning + _count_aside(words[beginning:])):
            end = start + len(statement)
            if end in ends and _comparable(words[start:end]) == _comparable(statement):
                return True
    return False


def _comparable(words: Sequence[_Word]) -> list[tuple[str, str]]:
    """Return what is compared of words: without the stop after the last one."""
    *rest, last = words
    return [*((word.core, word.marks) for word in rest), (last.core, last.marks.rstrip(_STOPS))]


def _count_aside(words: Sequence[_Word]) -> int:
    """Return how many words a leading "remember that" has, 0 without one."""
    match = REMEMBER.match(" ".join(word.raw for word in words[:_MAX_ASIDE]))
    return len(match[0].split()) if match else 0


def _ends_sentence(words: Sequence[_Word], index: int) -> bool:
    """Return True if a sentence ends after a word: at the end of the message, or where a stop is followed by a letter
    that is not lower case, as in rule SB8 of the Unicode standard on text segmentation. No line ends one: it may go on
    in the next, and a list belongs to what stands above it."""
    if index + 1 == len(words):
        return True
    marks = words[index].marks
    following = words[index + 1]
    if not marks or marks[-1] not in _STOPS + _QUESTION_MARKS:
        return False
    if not following.core[:1].isalpha() or following.raw.lstrip(_OPENING)[0].islower():
        return False
    if marks[-1] == "." and (marks != "." or not _may_end(words[index].core)):
        return False
    return not _is_enclosed(words[: index + 1])


def _may_end(core: str) -> bool:
    """Return True if a full stop after a word ends a sentence: not after an initial, "e.g" or the number of an item."""
    last = core.rpartition(".")[2]
    return len(last) > 1 and any(letter.isalpha() for letter in last)


def _is_enclosed(words: Sequence[_Word]) -> bool:
    """Return True if words end inside brackets or quotation marks, which may quote somebody else."""
    text = " ".join(word.raw for word in words)
    categories = [unicodedata.category(letter) for letter in text]
    opening_quotes = re.findall(r"(?<!\w)'(?=\w)", text)
    closing_quotes = re.findall(r"(?<=[\w.!?])'(?!\w)", text)
    return (
        categories.count("Ps") > categories.count("Pe")
        or text.count('"') % 2 == 1
        or text.count("`") % 2 == 1
        or len(opening_quotes) > len(closing_quotes)
    )


def has_clauses(text: str) -> bool:
    """Return True if a mark parts a text, behind which it may say something else."""
    *words, _ = [word.rstrip("\"'") or word for word in text.split()] or [""]
    return any(unicodedata.category(word[-1]) in ("Po", "Pd") for word in words)


def names_in(text: str) -> Iterator[str]:
    """Yield what a text names beside plain words and numbers: paths, flags, addresses, variables and other code."""
    for word in _words(text):
        core = word.core.strip("()[]{}<>*_~")
        if core and not core.isalnum() and not _is_plain(core):
            yield core
