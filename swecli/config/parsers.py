"""Parsers of values that are usual in settings. Each converts a value from TOML, the environment or a flag, and raises
ValueError."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from swecli.similar_names import similar_names
from swecli.values import dataclass


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


def integer(smallest: int, largest: int) -> Callable[[Any], int]:
    """Return a parser of whole numbers from `smallest` to `largest`."""

    def parse(value: Any) -> int:
        digits = str(value).strip()
        is_number = not isinstance(value, bool) and digits.isdecimal() and len(digits) < 20
        if not is_number or not smallest <= int(digits) <= largest:
            raise ValueError(f"{value!r} is not a whole number from {smallest} to {largest}")
        return int(digits)

    return parse


@dataclass(frozen=True, slots=True)
class OneOf:
    """A parser that accepts one of `choices`; `noun` names them in its error, as "unknown theme"."""

    noun: str
    choices: Sequence[str]

    def __call__(self, value: Any) -> str:
        if value not in self.choices:
            listed = ", ".join(self.choices)
            raise ValueError(f"unknown {self.noun} {value!r:.40} (choose: {listed})")
        return str(value)


def list_of(
    description: str, accepts: Callable[[str], object] = lambda word: True
) -> Callable[[Any], tuple[str, ...]]:
    """Return a parser of lists of words for which `accepts` is true; `description`, as "a list of names", is in its
    error."""

    def parse(value: Any) -> tuple[str, ...]:
        is_list = isinstance(value, (list, tuple))
        if not is_list or not all(isinstance(word, str) and accepts(word) for word in value):
            raise ValueError(f"takes {description}")
        return tuple(string(word) for word in value)

    return parse


def closest_name(name: str, names: Mapping[str, object]) -> str:
    """Return the known name most similar to a wrong one, "" if none is similar."""
    return next(iter(similar_names(name, names, 1)), "")


@dataclass(frozen=True, slots=True)
class KeyChoice:
    """The keys that an action of the prompt shall have, as they are written; () for none."""

    action: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.action} = {', '.join(self.keys)}"


def parse_keys(value: Any) -> tuple[KeyChoice, ...]:
    """Parse a table that maps an action to a key or to a list of keys. Raises ValueError."""
    if value in ((), []):
        return ()
    if not isinstance(value, dict):
        raise ValueError('takes a table, for example { expand = "c-o" }')
    return tuple(KeyChoice(action, _parse_key_list(action, keys)) for action, keys in value.items())


def _parse_key_list(action: str, value: Any) -> tuple[str, ...]:
    keys = value if isinstance(value, list) else [value]
    if not all(isinstance(key, str) for key in keys):
        raise ValueError(f'{action} takes a key or a list of keys, for example ["c-o", "f2"]')
    return tuple(string(key) for key in keys)
