"""Values as settings and the tables of models share them. Each raises ValueError with what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

THINKING = ("off", "low", "medium", "high", "xhigh", "max")


def text(value: Any) -> str:
    """Text that a file and a terminal can hold."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not text")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{value!r} is not valid UTF-8 text")
    return value


def flag(value: Any) -> bool:
    """True or false, also in the words of a shell."""
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word not in {"1", "0", "true", "false", "yes", "no", "on", "off"}:
        raise ValueError(f"{value!r} is not true or false")
    return word in {"1", "true", "yes", "on"}


def whole(low: int, high: int) -> Callable[[Any], int]:
    """What reads a whole number from `low` to `high`."""

    def parse(value: Any) -> int:
        digits = str(value).strip()
        number = not isinstance(value, bool) and digits.isdecimal() and len(digits) < 20
        if not number or not low <= int(digits) <= high:
            raise ValueError(f"{value!r} is not a whole number from {low} to {high}")
        return int(digits)

    return parse


def one_of(what: str, choices: Sequence[str]) -> Callable[[Any], str]:
    """What reads one of the words."""

    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"unknown {what} {value!r:.40} (choose: {', '.join(choices)})")
        return str(value)

    return parse


def thinking(value: Any) -> str:
    """How much a model thinks: a word, or a number of tokens; "" leaves it to the model."""
    word = str(value).lower()
    if isinstance(value, bool) or not (word in ("", *THINKING) or (word.isdecimal() and len(word) < 8)):
        raise ValueError(f"unknown effort {value!r:.40} (choose: {', '.join(THINKING)}, or a number of tokens)")
    return word
