"""The rule that is offered for a command: what of it will occur again."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

_WORD = re.compile(r"[A-Za-z][\w:-]*")  # a subcommand, a module, a script
_OPTION = re.compile(
    r"-m|--[\w-]+"
)  # one that chooses what a program does: python -m unittest, node --test
_MAX_RULE_WORDS = 3  # words of a rule


def rule_words(words: list[str], root: Path) -> list[str]:
    """Return the first words of a command, for a lasting rule: the program with its subcommand, and no operand. Returns
    () for a program that can destroy work, reach out or run anything: of that only the exact command is offered."""
    name = words[0].rsplit("/", 1)[-1]
    starts = {" ".join([name, *words[1:count]]) for count in range(1, _MAX_RULE_WORDS + 1)}
    if starts & _never():
        return []
    if name in _data()["interpreters"] and len(words) > 1 and not words[1].startswith("-"):
        return words[:2]
    prefix = words[:1]
    if name in _data()["alone"]:
        return prefix
    for word in words[1:_MAX_RULE_WORDS]:
        is_subcommand = _WORD.fullmatch(word) and not (root / word).exists()
        if not is_subcommand and not _OPTION.fullmatch(word):
            break
        prefix.append(word)
        if is_subcommand and word not in _groups():
            break
    return [] if name in _data()["interpreters"] and len(prefix) == 1 else prefix


@cache
def _never() -> frozenset[str]:
    return frozenset(_data()["never"])


@cache
def _groups() -> frozenset[str]:
    return frozenset(_data()["groups"])


@cache
def _data() -> dict[str, list[str]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
