"""Read files of the project: their lines, the functions and blocks in them, and what is measured of these."""

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

_MAX_BYTES = 5_000_000  # of a file that is read
_MAX_PARSED = 1_000_000  # characters of a file that is parsed
_MAX_SIMILAR = 2_000
_FOREIGN_FOLDERS = ("node_modules", "venv", "__pycache__")
_CACHE_SIZE = 400  # files, as many as are searched for callers
_CONTEXT = 15  # lines on each side where no block is found
_MAX_UP = 2_000  # lines that are searched for the beginning of a block
# the highest value that is not a smell; complexity is McCabe's, with the 10 that he proposed (IEEE TSE SE-2, 1976)
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
    """A function, class or block: its lines from 1, decorators included. `name` may be "". Of a Python function `line`
    is that of its `def` (otherwise 0), and `parameters` and `paths` are counted."""

    name: str
    first: int
    last: int
    line: int = 0
    parameters: int = 0
    paths: int = 0

    def measure(self, smell: str) -> int:
        """Return the measure for a smell of `LIMITS`."""
        counts = {"LONG_METHOD": self.last - self.line + 1, "LONG_PARAMETER_LIST": self.parameters}
        return counts.get(smell, self.paths)

    def describe_measure(self, smell: str) -> str:
        """Return the measure with its limit, as in `f` has 12 lines now, at most 60 are meant."""
        name = self.name.rpartition(".")[2]
        return f"`{name}` has {self.measure(smell)} {_UNITS[smell]} now, at most {LIMITS[smell]} are meant"


@dataclass(frozen=True)
class Source:
    """One file. `problem` is why its lines cannot be read, or ""; `missing` is True if there is no such file."""

    path: str
    lines: tuple[str, ...] = ()
    hash: str = ""
    problem: str = ""
    missing: bool = False

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The functions and classes of a Python file, nested ones too; empty for a file that cannot be parsed."""
        tree = parse_python(self.path, self.lines)
        try:
            return tuple(_collect_symbols(tree, "")) if tree is not None else ()
        except RecursionError:
            return ()

    def symbol_at(self, line: int) -> Symbol:
        """Return the innermost symbol around a line: without a syntax tree the indented block, else 15 lines around."""
        inside = [symbol for symbol in self.symbols if symbol.first <= line <= symbol.last]
        if inside:
            return min(inside, key=lambda symbol: symbol.last - symbol.first)
        nearby = Symbol("", max(1, line - _CONTEXT), min(len(self.lines), line + _CONTEXT))
        return nearby if self.symbols or not 1 <= line <= len(self.lines) else _find_block(self.lines, line) or nearby

    def function_at(self, line: int) -> Symbol | None:
        """Return the innermost Python function around a line."""
        around = [symbol for symbol in self.symbols if symbol.line and symbol.first <= line <= symbol.last]
        return min(around, key=lambda function: function.last - function.first, default=None)

    def find_function(self, header: str, line: int) -> Symbol | None:
        """Return the function with the name in this `def` line, the one nearest to `line` if there are several."""
        match = _DEF.match(header)
        named = [s for s in self.symbols if match and s.line and s.name.rpartition(".")[2] == match["name"]]
        return min(named, key=lambda function: abs(function.line - line), default=None)

    def measures_over_limits(self) -> list[str]:
        """Return a line for each function and limit that it exceeds."""
        functions = [symbol for symbol in self.symbols if symbol.line]
        over = [(f, smell) for f in functions for smell, limit in LIMITS.items() if f.measure(smell) > limit]
        return [f"{self.path}:{function.line}: {function.describe_measure(smell)}" for function, smell in over]


class Sources:
    """Reads files below `root` by path with `get`, never through a link out of it, and caches them: later changes are
    not seen. `folder` is a snapshot made for this object, which `close` removes."""

    def __init__(self, root: Path, folder: TemporaryDirectory[str] | None = None) -> None:
        self.root, self._folder, self.get = root, folder, lru_cache(_CACHE_SIZE)(self._read)

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def similar_files(self, path: str) -> list[str]:
        """Return other files with the same suffix, those with the same name first; of large projects only some."""
        wanted, found = Path(path), list[str]()
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _FOREIGN_FOLDERS)
            at = Path(folder).relative_to(self.root)
            found += [(at / name).as_posix() for name in sorted(names) if Path(name).suffix == wanted.suffix]
            if len(found) >= _MAX_SIMILAR:
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
            data = read_bytes(self.root, located, _MAX_BYTES)
        except ToolError as error:
            return Source(path, problem=str(error).partition("\n")[0].partition(". ")[0].rstrip("."))
        file = decode(data)
        if file is None:
            return Source(name, hash=digest(data), problem="it is not a text file")
        text = file.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")  # decoded as git's diffs are
        return Source(name, tuple(split_lines(text)), digest(data))


def project_sources(here: Path) -> Sources:
    """Return the files of the project that a folder belongs to."""
    return Sources(project_root(here))


def parse_python(path: str, lines: Sequence[str]) -> ast.Module | None:
    """Return the syntax tree of a Python file; None for other files and where it cannot be parsed."""
    text = "\n".join(lines)
    if not path.endswith((".py", ".pyi")) or len(text) > _MAX_PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in the user's code
            return ast.parse(text)
    # SystemError: CPython 3.11 shares the state of its parser between threads (gh-106905)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return None


def _collect_symbols(node: ast.AST, prefix: str) -> list[Symbol]:
    found: list[Symbol] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = f"{prefix}{child.name}"
            first = min((child.lineno, *(decorator.lineno for decorator in child.decorator_list)))
            counts = (0, 0, 0)
            if not isinstance(child, ast.ClassDef):
                given = child.args
                parameters = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
                counts = child.lineno, parameters, _count_paths(child)
            found.append(Symbol(name, first, child.end_lineno or child.lineno, *counts))
            found += _collect_symbols(child, f"{name}.")
        else:
            found += _collect_symbols(child, prefix)
    return found


def _count_paths(node: ast.AST) -> int:
    """Return McCabe's cyclomatic complexity."""
    parts = list(ast.walk(node))
    branches = sum(isinstance(part, _BRANCHES) for part in parts)
    operators = sum(len(part.values) - 1 for part in parts if isinstance(part, ast.BoolOp))
    return 1 + branches + operators + sum(1 + len(part.ifs) for part in parts if isinstance(part, ast.comprehension))


def _find_block(lines: Sequence[str], line: int) -> Symbol | None:
    """Return the innermost block around a line whose first line looks like the header of a function or class."""
    depth = 10**6
    for first in range(line, max(0, line - _MAX_UP), -1):
        text = lines[first - 1]
        if not depth or not text.strip() or _indent(text) >= depth:
            continue
        if _HEADER.search(text) and not _CONTROL.match(text):
            last = _block_end(lines, first)
            if last >= line and last > first:
                match = _NAME.search(text)
                return Symbol((match["a"] or match["b"]) if match else "", first, last)
        depth = _indent(text)
    return None


def _block_end(lines: Sequence[str], first: int) -> int:
    """Return the last line of a block: of the lines indented deeper, and the bracket that closes it."""
    depth, last = _indent(lines[first - 1]), first
    for number in range(first + 1, len(lines) + 1):
        text = lines[number - 1].strip()
        if text and _indent(lines[number - 1]) <= depth:
            return number if text[0] in "})]" else last
        last = number if text else last
    return last


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
