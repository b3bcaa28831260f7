"""Smells that can be measured again: how long a Python function is, how many parameters and branches it has."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

# the most that is no smell; complexity is McCabe's, 10 as he proposed (IEEE TSE SE-2, 1976)
LIMITS = {"LONG_METHOD": 60, "LONG_PARAMETER_LIST": 7, "COMPLEX_FUNCTIONS": 10}
_UNITS = {"LONG_METHOD": "lines", "LONG_PARAMETER_LIST": "parameters", "COMPLEX_FUNCTIONS": "paths"}
_NAME = re.compile(r"(?:async )?def (?P<name>\w+)")
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)
LARGEST = 1_000_000  # letters of a file that is parsed


@dataclass(frozen=True, slots=True)
class Function:
    """A function with its lines, from 1: `first` is its topmost decorator's, `line` that of its `def`."""

    name: str
    first: int
    line: int
    last: int
    parameters: int
    complexity: int

    def measure(self, smell: str) -> int:
        """What counts for that smell, one of LIMITS."""
        if smell == "LONG_METHOD":
            return self.last - self.line + 1
        return self.parameters if smell == "LONG_PARAMETER_LIST" else self.complexity


def functions_in(path: str, lines: Sequence[str]) -> tuple[Function, ...]:
    """The functions of a Python file, methods and inner ones too; none where it cannot be parsed."""
    text = "\n".join(lines)
    if not path.endswith((".py", ".pyi")) or len(text) > LARGEST:
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape in someone's file is nothing to warn our user of
            tree = ast.parse(text)
        return tuple(_function(n) for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Function:
    arguments = node.args
    count = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
    first = min((node.lineno, *(decorator.lineno for decorator in node.decorator_list)))
    return Function(node.name, first, node.lineno, node.end_lineno or node.lineno, count, _complexity(node))


def _complexity(node: ast.AST) -> int:
    parts = list(ast.walk(node))
    branches = sum(isinstance(part, _BRANCHES) for part in parts)
    words = sum(len(part.values) - 1 for part in parts if isinstance(part, ast.BoolOp))
    return 1 + branches + words + sum(1 + len(part.ifs) for part in parts if isinstance(part, ast.comprehension))


def function_at(functions: Sequence[Function], line: int) -> Function | None:
    """The innermost function with that line in it."""
    around = [function for function in functions if function.first <= line <= function.last]
    return min(around, key=lambda function: function.last - function.first, default=None)


def function_named(functions: Sequence[Function], anchor: str, near: int) -> Function | None:
    """The function whose `def` the anchor is, by its name; of several the nearest."""
    match = _NAME.match(anchor)
    called = [function for function in functions if match and function.name == match["name"]]
    return min(called, key=lambda function: abs(function.line - near), default=None)


def in_words(function: Function, smell: str) -> str:
    """`f` has 12 lines now, at most 60 are meant."""
    return f"`{function.name}` has {function.measure(smell)} {_UNITS[smell]} now, at most {LIMITS[smell]} are meant"
