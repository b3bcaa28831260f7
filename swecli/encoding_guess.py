"""Guesses in which of the encodings before UTF-8 a text reads most like a language."""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

from swecli.values import dataclass

_LANGUAGES = Path(__file__).with_name("languages.toml")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_SAMPLE = 3000  # bytes of lines that are not ASCII; what more of them would tell is small
_LEAD = 40  # bytes before the first of these in a long line
_SIGNS = "\xa0°©«»“”‘’–—…§€£±µ×²³½·•®™"  # in texts of any language
_INSIDE_WORDS = "’·"

# How likely a character is in a text of a language. `lab/encodings/measure.py` counts how many messages of programs are
# read right with these, in 28 languages, and with half and twice of each.
_ASCII = math.log(1 / 64)
_SIGN = math.log(0.02 / len(_SIGNS))
_STRANGE = math.log(1e-6)
_ACCENTED_SHARE = 0.07  # of the letters in a text whose words are mostly ASCII
_CAPITAL_SHARE = 0.15  # of the letters of an alphabet
_NEXT_LETTER = 0.9  # how frequent a letter of an alphabet is, compared with the one before it
_FREQUENT_SHARE = 0.6  # of the listed characters, in a language that has thousands
_KANA = re.compile("[\u3041-\u30ff]")

# Logarithms for what such a text does not have: letters of two scripts in a word, a capital behind a small letter
_UNLIKELY = -6.0
_LESS_LIKELY = -3.0


@dataclass(frozen=True)
class _Language:
    """A language in one encoding."""

    encoding: str
    kind: Literal["accents", "alphabet", "characters"]
    weight: float
    letters: str
    everyday: tuple[int, int] = (0, 0)
    size: int = 0

    def score(self, text: str) -> float:
        """Return the logarithm of how likely a text is in this language, up to a constant."""
        likely = self._likelihoods()
        total = math.log(self.weight)
        before = " "
        for char, after in zip(text, f"{text[1:]} ", strict=False):
            if char.isascii():
                total += _ASCII
            else:
                if char not in likely:
                    likely[char] = self._likelihood(char)
                total += likely[char]
            if not (char.isascii() and before.isascii()):
                total += self._judge_place(before, char, after)
            before = char
        return total

    def _judge_place(self, before: str, char: str, after: str) -> float:
        """Return what makes a character unlikely between its neighbours, one of which is not ASCII; 0 for nothing."""
        if self.kind == "characters":
            if char.isascii() or not (before.isascii() and after.isascii()):
                return 0
            return _UNLIKELY if before.isalpha() or after.isalpha() else _LESS_LIKELY
        if not _is_letter(char):
            is_in_word = _is_letter(before) and _is_letter(after) and not char.isascii()
            return _UNLIKELY if is_in_word and char not in _INSIDE_WORDS else 0
        if char.isupper() and before.islower():
            return _UNLIKELY
        if self.kind == "alphabet":
            if _is_letter(before) and before.isascii() != char.isascii():
                return _UNLIKELY
            is_word = not (_is_letter(before) or _is_letter(after) or char.isascii())
            return _LESS_LIKELY if is_word else 0
        is_second = _is_letter(before) and not (before.isascii() or char.isascii())
        return _LESS_LIKELY if is_second and char.islower() else 0

    @cache  # noqa: B019  one for each of the few languages, which are kept
    def _likelihoods(self) -> dict[str, float]:
        """Return the characters whose likelihood the table of languages tells; others are added as they are met."""
        likely = dict.fromkeys(_SIGNS, _SIGN)
        for rank, letter in enumerate(self.letters):
            if self.kind == "alphabet":
                share = (1 - _NEXT_LETTER) * _NEXT_LETTER**rank
            elif self.kind == "accents":
                share = _ACCENTED_SHARE / len(self.letters)
            else:
                share = _FREQUENT_SHARE / len(self.letters)
            likely[letter] = math.log(share)
            capital = letter.upper()
            if capital != letter and len(capital) == 1:
                likely[capital] = math.log(share * _CAPITAL_SHARE)
        return likely

    def _likelihood(self, char: str) -> float:
        """Return the likelihood of a character that is not listed."""
        if self.kind != "characters":
            return _STRANGE
        data = char.encode(self.encoding)
        first, last = self.everyday
        is_everyday = len(data) == 2 and first <= data[0] <= last
        # the standards before the extensions of Microsoft, except for those encodings that use all bytes
        is_everyday &= data[-1] > 0xA0 or self.encoding in ("cp932", "big5")
        if is_everyday or (len(data) == 2 and self.has_kana and _KANA.match(char)):
            return math.log((1 - _FREQUENT_SHARE) / self.size)
        return _STRANGE

    @property
    def has_kana(self) -> bool:
        return self.encoding in ("cp932", "euc_jp")


def guess_encodings(data: bytes) -> list[str]:
    """Return encodings in which the text may be, the likeliest first, by the lines that are not ASCII."""
    sample = b"".join(_samples(data))
    best: dict[str, float] = {}
    texts: dict[str, str] = {}
    for language in _languages():
        encoding = language.encoding
        if encoding not in texts:
            texts[encoding] = sample.decode(encoding, "ignore")
        score = language.score(texts[encoding])
        best[encoding] = max(best.get(encoding, score), score)
    return sorted(best, key=best.__getitem__, reverse=True)


def _samples(data: bytes) -> Iterator[bytes]:
    """Yield lines that are not ASCII, up to the size of the sample; of a long line a piece."""
    position = 0
    size = 0
    while size < _SAMPLE and (match := _NOT_ASCII.search(data, position)):
        first = match.start()
        line = max(position, data.rfind(b"\n", position, first) + 1)
        end = data.find(b"\n", first)
        position = len(data) if end < 0 else end
        piece = data[max(line, first - _LEAD) : min(position, first + _SAMPLE - size)]
        size += len(piece)
        yield piece + b"\n"


def _is_letter(char: str) -> bool:
    """Return whether a character is part of a word: a letter, or what stands above or below one, as in Thai."""
    return char.isalpha() or unicodedata.category(char) == "Mn"


@cache
def _languages() -> list[_Language]:
    table = tomllib.loads(_LANGUAGES.read_text(encoding="utf-8"))
    return [
        _Language(**{**row, "everyday": tuple(row.get("everyday", (0, 0)))})
        for row in table["language"]
    ]
