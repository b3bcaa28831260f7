"""Parsers of values that are usual in settings. Each converts a value from TOML, the environment or a flag, and raises
ValueError."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from swecli.similar_names import similar_names


def string(value: Any) -> str:
    """Parse text without NUL and lone surrogates."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{value!r} is not valid UTF-8 text")
    return value


def boolean(value: Any) -> bool:
    """Parse a boolean: true, false, or a word such as yes, no, on, off, 1, 0."""
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word not in {"1", "0", "true", "false", "yes", "no", "on", "off"}:
        raise ValueError(f"{value!r} is not true or false")
    return word in {"1", "true", "yes", "on"}


def integer(low: int, high: int) -> Callable[[Any], int]:
    """Return a parser of whole numbers from `low` to `high`."""

    def parse(value: Any) -> int:
        digits = str(value).strip()
        number = not isinstance(value, bool) and digits.isdecimal() and len(digits) < 20
        if not number or not low <= int(digits) <= high:
            raise ValueError(f"{value!r} is not a whole number from {low} to {high}")
        return int(digits)

    return parse


@dataclass(frozen=True, slots=True)
class OneOf:
    """A parser that accepts one of `choices`; `what` names them in its error."""

    what: str
    choices: Sequence[str]

    def __call__(self, value: Any) -> str:
        if value not in self.choices:
            listed = ", ".join(self.choices)
            raise ValueError(f"unknown {self.what} {value!r:.40} (choose: {listed})")
        return str(value)


def list_of(
    what: str, fits: Callable[[str], object] = lambda word: True
) -> Callable[[Any], tuple[str, ...]]:
    """Return a parser of lists of words for which `fits` is true; `what` describes them in its error."""

    def parse(value: Any) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)) or not all(
            isinstance(word, str) and fits(word) for word in value
        ):
            raise ValueError(f"takes {what}")
        return tuple(string(word) for word in value)

    return parse


def closest_name(name: str, names: Mapping[str, object]) -> str:
    """Return the known name most similar to a wrong one, or ""."""
    return next(iter(similar_names(name, names, 1)), "")
