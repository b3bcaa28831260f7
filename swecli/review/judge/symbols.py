"""The function, class or block that a line belongs to: by the syntax tree for Python, by indentation elsewhere."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

LARGEST = 1_000_000  # letters of a file that is parsed
AROUND = 15  # lines on each side where no block is found
MOST_UP = 2_000  # lines that are looked through for the beginning of a block
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)
_HEADER = re.compile(
    r"\b(?:function|func|fn|def|class|struct|interface|impl|trait|enum|module|type)\s+\(?[\w$*]|[\w$\])>]\s*\([^;]*$"
)
_CONTROL = re.compile(r"[\s})]*(?:if|else|for|while|switch|case|try|catch|finally|do|with|return|match|select)\b")
_NAME = re.compile(
    r"(?:function|func|fn|def|class|struct|interface|impl|trait|enum|module|type)\*?\s+(?:\([^)]*\)\s*)?(?P<a>[\w$]+)"
    r"|(?P<b>[\w$]+)\s*(?:=\s*(?:async\s*)?)?\("
)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named stretch of a file, lines from 1, decorators included. `name` is "" where only the surroundings are known.

    Of a Python function `line` is that of its `def` (else 0), and `parameters` and `paths` are counted.
    """

    name: str
    first: int
    last: int
    line: int = 0
    parameters: int = 0
    paths: int = 0


def parse(path: str, lines: Sequence[str]) -> ast.Module | None:
    """The syntax tree of a Python file; None for any other, and where it cannot be parsed."""
    text = "\n".join(lines)
    if not path.endswith((".py", ".pyi")) or len(text) > LARGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape in someone's file is nothing to warn our user of
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def symbols_in(path: str, lines: Sequence[str]) -> tuple[Symbol, ...]:
    """The functions and classes of a Python file, inner ones too; none where it cannot be parsed."""
    tree = parse(path, lines)
    try:
        return tuple(_named(tree, "")) if tree is not None else ()
    except RecursionError:
        return ()


def _named(node: ast.AST, above: str) -> list[Symbol]:
    found: list[Symbol] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{above}{child.name}"
            first = min((child.lineno, *(decorator.lineno for decorator in child.decorator_list)))
            measured = (0, 0, 0)
            if not isinstance(child, ast.ClassDef):
                given = child.args
                measured = child.lineno, len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs), _paths(child)
            found.append(Symbol(name, first, child.end_lineno or child.lineno, *measured))
            found += _named(child, f"{name}.")
        else:
            found += _named(child, above)
    return found


def _paths(node: ast.AST) -> int:
    """McCabe's cyclomatic complexity."""
    parts = list(ast.walk(node))
    branches = sum(isinstance(part, _BRANCHES) for part in parts)
    words = sum(len(part.values) - 1 for part in parts if isinstance(part, ast.BoolOp))
    return 1 + branches + words + sum(1 + len(part.ifs) for part in parts if isinstance(part, ast.comprehension))


def symbol_at(symbols: Sequence[Symbol], path: str, lines: Sequence[str], line: int) -> Symbol:
    """The innermost symbol with that line in it; without a syntax tree the block it is indented in, else 15 lines."""
    inside = [symbol for symbol in symbols if symbol.first <= line <= symbol.last]
    if inside:
        return min(inside, key=lambda symbol: symbol.last - symbol.first)
    around = Symbol("", max(1, line - AROUND), min(len(lines), line + AROUND))
    return around if symbols or not 1 <= line <= len(lines) else _block(lines, line) or around


def _block(lines: Sequence[str], line: int) -> Symbol | None:
    """The nearest block whose first line looks like that of a function or a class."""
    depth = _indent(lines[line - 1]) if lines[line - 1].strip() else 10**6
    for first in range(line, max(0, line - MOST_UP), -1):
        text = lines[first - 1]
        if not text.strip() or (first < line and _indent(text) >= depth):
            continue
        header = _HEADER.search(text) is not None and not _CONTROL.match(text)
        if header and (last := _last(lines, first)) >= line and last > first:
            match = _NAME.search(text)
            return Symbol((match["a"] or match["b"]) if match else "", first, last)
        depth = min(depth, _indent(text)) if first < line or not header else depth
        if depth == 0 and first < line:
            return None
    return None


def _last(lines: Sequence[str], first: int) -> int:
    """The last line of the block that begins there: what is indented deeper, and the bracket that closes it."""
    depth, last = _indent(lines[first - 1]), first
    for number in range(first + 1, len(lines) + 1):
        text = lines[number - 1]
        if not text.strip():
            continue
        if _indent(text) <= depth:
            return number if text.strip()[0] in "})]" else last
        last = number
    return last


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
