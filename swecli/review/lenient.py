"""Reads JSON as models write it: in prose, with trailing commas, other quotes, comments, or cut off in the middle."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

MOST_VALUES = 200  # values looked for in one text
MOST_TRIES = 2_000
DEEPEST = 60
_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_$][\w$-]*")
_NUMBER = re.compile(r"-?\d{1,400}(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None, "NaN": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Found:
    """A value found in a text. `repaired` says that it was no valid JSON, `cut` that its end is missing."""

    value: Any
    repaired: bool = False
    cut: bool = False


class _Unreadable(Exception):
    """Not even with patience."""


def values_in(text: str) -> list[Found]:
    """Every object and array that stands in a text, in order; what lies inside another is not found twice. Total."""
    found: list[Found] = []
    at = 0
    for _ in range(MOST_TRIES):
        starts = [i for i in (text.find("{", at), text.find("[", at)) if i >= 0]
        if not starts or len(found) >= MOST_VALUES:
            break
        at = min(starts)
        value, end = _one(text, at)
        if value is not None and value.cut and (fence := _FENCE.search(text, at)):
            # it did not end before its code block did: what follows the block is something else
            value, end = _one(text[: fence.start()], at)
            end = max(end, fence.end()) if value is not None else end
        at = end
        if value is not None:
            found.append(value)
    return found


def _one(text: str, at: int) -> tuple[Found | None, int]:
    """The value that begins there, and where to look on."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
        return Found(value), end
    except (ValueError, RecursionError):
        pass
    patient = _Patient(text, at)
    try:
        value = patient.value(0)
    except _Unreadable:
        return None, at + 1
    return Found(value, True, patient.cut), max(patient.at, at + 1)


class _Patient:
    """A recursive reader that goes on where strict JSON stops. `cut` is set when the text ended too early.

    What is unfinished when the text ends is given back as far as it came.
    """

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at, self.cut = text, at, False

    def value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise _Unreadable
        letter = self._peek()
        if letter == "{":
            return self._object(depth)
        if letter == "[":
            return self._array(depth)
        if letter in ('"', "'"):
            return self._text(letter)
        return self._plain()

    def _peek(self) -> str:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return "" if self.text.startswith("```", self.at) else self.text[self.at : self.at + 1]

    def _object(self, depth: int) -> dict[str, Any]:
        self.at += 1
        out: dict[str, Any] = {}
        while True:
            letter = self._peek()
            if letter == "}":
                self.at += 1
                return out
            if letter == ",":
                self.at += 1
                continue
            if not letter:
                self.cut = True
                return out
            key = self._key(letter)
            if self._peek() == "":
                self.cut = True
                return out
            if self._peek() not in (":", "="):
                raise _Unreadable
            self.at += 1
            if not self._peek():
                self.cut = True
                return out
            value = self.value(depth + 1)
            if self.cut and not isinstance(value, (dict, list)):
                return out  # half a text or number is no value
            out[key] = value
            if self.cut:
                return out

    def _key(self, letter: str) -> str:
        if letter in ('"', "'"):
            return self._text(letter)
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise _Unreadable
        self.at = match.end()
        return match[0]

    def _array(self, depth: int) -> list[Any]:
        self.at += 1
        out: list[Any] = []
        while True:
            letter = self._peek()
            if letter == "]":
                self.at += 1
                return out
            if letter == ",":
                self.at += 1
                continue
            if not letter:
                self.cut = True
                return out
            value = self.value(depth + 1)
            out.append(value)
            if self.cut:
                return out

    def _text(self, quote: str) -> str:
        self.at += 1
        out: list[str] = []
        opened = False  # a code block within this text
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter == "\n" and (fence := _FENCE.match(self.text, self.at + 1)):
                if not opened and not self.text[fence.end() : fence.end() + 1].isalpha():
                    break  # the block around it ends here
                opened = not opened
            self.at += 1
            if letter == "\\":
                out.append(self._escape())
            elif letter == quote and self._ends_here():
                return "".join(out)
            else:
                out.append(letter)
        self.cut = True
        return "".join(out)

    def _ends_here(self) -> bool:
        """A quote ends a text only where something may follow a text: models forget to escape quotes inside."""
        rest = self.text[self.at : self.at + 200].lstrip()
        return not rest or rest[0] in ",:}]=/#"

    def _escape(self) -> str:
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        if letter == "u":
            digits = self.text[self.at : self.at + 4]
            if re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                self.at += 4
                return chr(int(digits, 16))
        return _ESCAPES.get(letter, letter)

    def _plain(self) -> Any:
        if match := _NUMBER.match(self.text, self.at):
            self.at = match.end()
            self.cut = self.cut or self.at == len(self.text)
            return json.loads(match[0]) if re.fullmatch(r"-?(?:0|[1-9]\d*)(?:[.eE].*)?", match[0]) else match[0]
        if match := _WORD.match(self.text, self.at):
            self.at = match.end()
            self.cut = self.cut or self.at == len(self.text)
            if match[0] in _WORDS:
                return _WORDS[match[0]]
            if self._peek() in (",", "}", "]", ""):
                return match[0]  # a bare word, as in {severity: high}
        raise _Unreadable
