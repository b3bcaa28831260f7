"""Smells that can be measured again: how long a Python function is, how many parameters and paths it has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from swecli.review.judge.symbols import Symbol

# the most that is no smell; complexity is McCabe's, 10 as he proposed (IEEE TSE SE-2, 1976)
LIMITS = {"LONG_METHOD": 60, "LONG_PARAMETER_LIST": 7, "COMPLEX_FUNCTIONS": 10}
_UNITS = {"LONG_METHOD": "lines", "LONG_PARAMETER_LIST": "parameters", "COMPLEX_FUNCTIONS": "paths"}
_NAME = re.compile(r"(?:async )?def (?P<name>\w+)")


def measure(function: Symbol, smell: str) -> int:
    """What counts for that smell, one of LIMITS."""
    counts = {"LONG_METHOD": function.last - function.line + 1, "LONG_PARAMETER_LIST": function.parameters}
    return counts.get(smell, function.paths)


def function_at(symbols: Sequence[Symbol], line: int) -> Symbol | None:
    """The innermost function with that line in it."""
    around = [symbol for symbol in symbols if symbol.line and symbol.first <= line <= symbol.last]
    return min(around, key=lambda function: function.last - function.first, default=None)


def function_named(symbols: Sequence[Symbol], anchor: str, near: int) -> Symbol | None:
    """The function whose `def` the anchor is, by its name; of several the nearest."""
    match = _NAME.match(anchor)
    called = [s for s in symbols if match and s.line and s.name.rpartition(".")[2] == match["name"]]
    return min(called, key=lambda function: abs(function.line - near), default=None)


def in_words(function: Symbol, smell: str) -> str:
    """`f` has 12 lines now, at most 60 are meant."""
    name = function.name.rpartition(".")[2]
    return f"`{name}` has {measure(function, smell)} {_UNITS[smell]} now, at most {LIMITS[smell]} are meant"
