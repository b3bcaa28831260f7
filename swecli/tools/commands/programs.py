"""What is known of programs and their options: the entries of programs.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

_KINDS = ":@~?$"
_WORD = re.compile(r"[A-Za-z][\w:./-]*")  # a subcommand, a module, a script


@dataclass(frozen=True, slots=True)
class Program:
    """One entry; programs.toml says what its fields mean. `options` maps each option to what follows it."""

    options: Mapping[str, str] = field(default_factory=dict)
    operands: str = "none"
    text: re.Pattern[str] | None = None
    instead: frozenset[str] = frozenset()
    walks: frozenset[str] = frozenset()
    most: int | None = None
    include: str = ""
    dashed: bool = False
    strict: bool = False
    works: bool = False
    diffs: bool = False
    subs: Mapping[str, Program] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)


@cache
def readers() -> dict[str, Program]:
    """What runs unasked, by name."""
    data = _data()
    tables = data["reads"] | {name: one["reads"] for one in data["many"] if "reads" in one for name in _names(one)}
    return {name: _program(table) for name, table in tables.items()}


@cache
def named() -> dict[str, Program]:
    """What a rule that names the program covers, by name: with a wildcard, and where it is more than reading."""
    data = _data()
    git = data["reads"]["git"]
    tables = {"git": git | {"subs": git["subs"] | data["named"]["git"]["subs"]}}
    tables |= {name: one["named"] for one in data["many"] if "named" in one for name in _names(one)}
    return readers() | {name: _program(table) for name, table in tables.items()}


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _names(one: Mapping[str, Any]) -> list[str]:
    return str(one["programs"]).split()


def _program(table: Mapping[str, Any]) -> Program:
    refused = table.get("refused", {})
    above = {"strict": table.get("strict", False)}
    passed_on = {option: why for option, why in refused.items() if option}
    subs = table.get("subs", {}).items()
    read: dict[str, Any] = {
        "options": dict(_option(word) for word in table.get("options", "").split()),
        "text": re.compile(table["text"], re.DOTALL) if "text" in table else None,
        "instead": frozenset(table.get("instead", "").split()),
        "walks": frozenset(table.get("walks", "").split()),
        "subs": {name: _program(above | sub | {"refused": passed_on | sub.get("refused", {})}) for name, sub in subs},
    }
    return Program(**{**table, **read})


def _option(word: str) -> tuple[str, str]:
    return (word[:-1], word[-1]) if len(word) > 1 and word[-1] in _KINDS else (word, "")


def lasting(words: list[str]) -> list[str]:
    """The words of a command that a lasting rule would name; none where no such rule is to be offered."""
    known, name = _data()["lasting"], words[0].rsplit("/", 1)[-1]
    begin = [" ".join([name, *words[1:count]]) for count in range(1, 4)]
    program = named().get(name)
    if set(begin) & set(known["never"]) or (program is not None and "*" in program.refused):
        return []
    count = 3 if begin[1] in known["three"] else 1 if name in known["one"] else 2
    taken = words[:count]
    named_well = all(_WORD.fullmatch(word) for word in taken[1:] if word != "-m")
    if named_well and (count < 3 or len(taken) == 3):
        return taken
    return [] if count == 3 or name in known["two"] else words[:1]
