"""The files a review speaks of, as they are now, never through a link out of the project: their lines, the functions
and blocks in them (by the syntax tree of Python, by indentation elsewhere), what is measured there."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from swecli.config.paths import project_root
from swecli.tools.base import ToolError
from swecli.tools.files import decode, digest, read_bytes, relative_path, resolve_path, split_lines

LARGEST = 5_000_000  # bytes of a file that is looked into
_LARGEST_TREE = 1_000_000  # letters of a file that is parsed
_MOST_ALIKE = 2_000
_NOT_OURS = ("node_modules", "venv", "__pycache__")
_KEPT = 400  # files kept in memory at a time, as many as are looked through for callers
_AROUND = 15  # lines on each side where no block is found
_MOST_UP = 2_000  # lines that are looked through for the beginning of a block
# the most that is not a smell; complexity is McCabe's, 10 as he proposed (IEEE TSE SE-2, 1976)
LIMITS = {"LONG_METHOD": 60, "LONG_PARAMETER_LIST": 7, "COMPLEX_FUNCTIONS": 10}
_UNITS = {"LONG_METHOD": "lines", "LONG_PARAMETER_LIST": "parameters", "COMPLEX_FUNCTIONS": "paths"}
_BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)
_HEADER = re.compile(
    r"\b(?:function|func|fn|def|class|struct|interface|impl|trait|enum|module|type)\s+\(?[\w$*]|[\w$\])>]\s*\([^;]*$"
)
_CONTROL = re.compile(r"[\s})]*(?:if|else|for|while|switch|case|try|catch|finally|do|with|return|match|select)\b")
_NAME = re.compile(
    r"(?:function|func|fn|def|class|struct|interface|impl|trait|enum|module|type)\*?\s+(?:\([^)]*\)\s*)?(?P<a>[\w$]+)"
    r"|(?P<b>[\w$]+)\s*(?:=\s*(?:async\s*)?)?\("
)
_DEF = re.compile(r"(?:async )?def (?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named stretch of a file, lines from 1, decorators included. `name` is "" where only the surroundings are known.
    Of a Python function `line` is that of its `def` (else 0), and `parameters` and `paths` are counted."""

    name: str
    first: int
    last: int
    line: int = 0
    parameters: int = 0
    paths: int = 0

    def measure(self, smell: str) -> int:
        """What counts for that smell, one of LIMITS."""
        counts = {"LONG_METHOD": self.last - self.line + 1, "LONG_PARAMETER_LIST": self.parameters}
        return counts.get(smell, self.paths)

    def measured(self, smell: str) -> str:
        """`f` has 12 lines now, at most 60 are meant."""
        name = self.name.rpartition(".")[2]
        return f"`{name}` has {self.measure(smell)} {_UNITS[smell]} now, at most {LIMITS[smell]} are meant"


@dataclass(frozen=True)
class Source:
    """One file. `problem` says why there are no lines; `missing` that there is no such file."""

    path: str
    lines: tuple[str, ...] = ()
    hash: str = ""
    problem: str = ""
    missing: bool = False

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The functions and classes of a Python file, inner ones too; none where it cannot be parsed."""
        tree = parse(self.path, self.lines)
        try:
            return tuple(_named(tree, "")) if tree is not None else ()
        except RecursionError:
            return ()

    def symbol(self, line: int) -> Symbol:
        """The innermost symbol around a line; without a syntax tree the block it is indented in, else 15 lines."""
        inside = [symbol for symbol in self.symbols if symbol.first <= line <= symbol.last]
        if inside:
            return min(inside, key=lambda symbol: symbol.last - symbol.first)
        around = Symbol("", max(1, line - _AROUND), min(len(self.lines), line + _AROUND))
        return around if self.symbols or not 1 <= line <= len(self.lines) else _block(self.lines, line) or around

    def function(self, line: int) -> Symbol | None:
        around = [symbol for symbol in self.symbols if symbol.line and symbol.first <= line <= symbol.last]
        return min(around, key=lambda function: function.last - function.first, default=None)

    def find_function(self, anchor: str, near: int) -> Symbol | None:
        """The function whose `def` the anchor is, by its name; of several the nearest."""
        match = _DEF.match(anchor)
        called = [s for s in self.symbols if match and s.line and s.name.rpartition(".")[2] == match["name"]]
        return min(called, key=lambda function: abs(function.line - near), default=None)

    def measures_over_limits(self) -> list[str]:
        """A line for each function and limit that it is over."""
        functions = [symbol for symbol in self.symbols if symbol.line]
        over = [(f, smell) for f in functions for smell, limit in LIMITS.items() if f.measure(smell) > limit]
        return [f"{self.path}:{function.line}: {function.measured(smell)}" for function, smell in over]


class Sources:
    """Reads files below `root` with `get`, by their names, which never raises, and keeps the newest in memory. Not for
    long: it does not see later changes. `folder` holds files that were written for it alone, until `close`."""

    def __init__(self, root: Path, folder: TemporaryDirectory[str] | None = None) -> None:
        self.root, self._folder, self.get = root, folder, lru_cache(_KEPT)(self._read)

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def similar_files(self, path: str) -> list[str]:
        """Other files of the same ending, those of the same name first; the first few of a large project."""
        wanted, found = Path(path), list[str]()
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_OURS)
            at = Path(folder).relative_to(self.root)
            found += [(at / name).as_posix() for name in sorted(names) if Path(name).suffix == wanted.suffix]
            if len(found) >= _MOST_ALIKE:
                break
        return sorted((name for name in found if name != path), key=lambda name: Path(name).name != wanted.name)

    def _read(self, path: str) -> Source:
        if ".." in path.split("/"):
            return Source(path, problem="the path leads out of the project")
        try:
            located = resolve_path(self.root, path)
            name = relative_path(self.root, located)
            if not located.exists():
                return Source(name, problem="there is no such file", missing=True)
            data = read_bytes(self.root, located, LARGEST)
        except ToolError as error:
            return Source(path, problem=str(error).partition("\n")[0].partition(". ")[0].rstrip("."))
        file = decode(data)
        if file is None:
            return Source(name, hash=digest(data), problem="it is not a text file")
        text = file.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # as git's differences are read
        return Source(name, tuple(split_lines(text)), digest(data))


def project_sources(here: Path) -> Sources:
    """The files of the project that a folder belongs to."""
    return Sources(project_root(here))


def parse(path: str, lines: Sequence[str]) -> ast.Module | None:
    """The syntax tree of a Python file; None for any other, and where it cannot be parsed."""
    text = "\n".join(lines)
    if not path.endswith((".py", ".pyi")) or len(text) > _LARGEST_TREE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape in someone's file is nothing to warn our user of
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


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


def _block(lines: Sequence[str], line: int) -> Symbol | None:
    """The nearest block whose first line looks like that of a function or a class."""
    depth = 10**6
    for first in range(line, max(0, line - _MOST_UP), -1):
        text = lines[first - 1]
        if not depth or not text.strip() or _indent(text) >= depth:
            continue
        if _HEADER.search(text) and not _CONTROL.match(text) and (last := _last(lines, first)) >= line and last > first:
            match = _NAME.search(text)
            return Symbol((match["a"] or match["b"]) if match else "", first, last)
        depth = _indent(text)
    return None


def _last(lines: Sequence[str], first: int) -> int:
    """The last line of the block that begins there: what is indented deeper, and the bracket that closes it."""
    depth, last = _indent(lines[first - 1]), first
    for number in range(first + 1, len(lines) + 1):
        text = lines[number - 1].strip()
        if text and _indent(lines[number - 1]) <= depth:
            return number if text[0] in "})]" else last
        last = number if text else last
    return last


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
