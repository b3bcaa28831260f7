"""Read files of the project, as they are and as they were before a change: their lines, and the functions and blocks in
them."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import shutil
import warnings
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from swecli.config.paths import project_root
from swecli.folders import remove_tree
from swecli.models.errors import BadInput
from swecli.models.finding import Side
from swecli.review.judge.layout import digest_code, read_forms
from swecli.text_files import decode, split_lines
from swecli.tools.base import ToolError
from swecli.tools.files import digest, read_bytes
from swecli.tools.git import SECONDS
from swecli.tools.guard import Guard
from swecli.tools.paths import relative_path, resolve_path
from swecli.tools.searching import files_below
from swecli.values import dataclass

_MAX_BYTES = 5_000_000  # of a file that is read
_MAX_PARSED = 1_000_000  # characters of a file that is parsed
_MAX_SIMILAR = 2_000
_CACHE_SIZE = 400  # files, as many as are searched for callers
_CONTEXT = 15  # lines on each side where no block is found
_MAX_SECTION = 80  # lines; a longer one, such as a class, says little about where a line is
_SECTION = re.compile(r"[A-Za-z_$]")  # how the first line of a section begins: without indentation
_NAME = re.compile(
    r"\b(?:function|func|fn|def|class|struct|interface|impl|trait|enum|module|type)\*?\s+(?:\([^)]*\)\s*)?"
    r"(?P<declared>[\w$]+)|(?P<assigned>[\w$]+)\s*[=(]"
)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A function, class or block: its lines from 1, decorators included. `name` may be ""."""

    name: str
    first: int
    last: int


class Block(NamedTuple):
    """Lines of code. Their text without white space, by its length and digest, is how they are found again; `layout`,
    the digest of their forms, says whether they still do the same, and is "" in older ledgers."""

    length: int
    digest: str
    layout: str = ""

    @classmethod
    def make(cls, lines: Iterable[str], layout: str = "") -> Block:
        text = strip_whitespace("".join(lines))
        return cls(len(text), _digest(text), layout)

    @classmethod
    def load(cls, text: str, anchor: str) -> Block:
        """Decode a block from JSON; an older ledger has none, where the anchor is the block."""
        if not text:
            return cls.make([anchor])
        length, code, _measure, *layout = json.loads(text)
        return cls(length, code, *layout)

    def dump(self) -> str:
        # older versions, which may share a ledger, have a measure in the third place
        return json.dumps([self.length, self.digest, None, self.layout], separators=(",", ":"))

    def has_text_of(self, other: Block) -> bool:
        """Return whether both are the same text, whatever its white space: so code is found again."""
        return (self.length, self.digest) == (other.length, other.digest)

    def is_same_code(self, other: Block) -> bool:
        """Return whether both are the same text that also does the same, as far as its layout tells."""
        has_same_layout = self.layout == other.layout or "" in (self.layout, other.layout)
        return self.has_text_of(other) and has_same_layout


@dataclass(frozen=True)
class Source:
    """One file. `problem` is why its lines cannot be read, or ""; `is_missing` is True if there is no such file."""

    path: str
    lines: tuple[str, ...] = ()
    hash: str = ""
    problem: str = ""
    is_missing: bool = False

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree of a Python file; None for other files and where it cannot be parsed."""
        text = "\n".join(self.lines)
        if not self.path.endswith((".py", ".pyi")) or len(text) > _MAX_PARSED:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of invalid escapes in the user's code
                return ast.parse(text)
        # SystemError: CPython 3.11 shares the state of its parser between threads (gh-106905)
        except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
            return None

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The functions and classes of a Python file, nested ones too; empty for a file that cannot be parsed."""
        try:
            return tuple(_collect_symbols(self.tree, "")) if self.tree is not None else ()
        except RecursionError:
            return ()

    def symbol_at(self, line: int) -> Symbol:
        """Return the innermost symbol around a line: without a syntax tree the section, else 15 lines around."""
        inside = [
            symbol
            for symbol in self.symbols or self._sections
            if symbol.first <= line <= symbol.last
        ]
        nearby = Symbol("", max(1, line - _CONTEXT), min(len(self.lines), line + _CONTEXT))
        return min(inside, key=lambda symbol: symbol.last - symbol.first, default=nearby)

    @cached_property
    def forms(self) -> tuple[str, ...]:
        """The form of each line: see `read_forms`."""
        return read_forms(self.path, self.lines)

    def block(self, first: int, last: int) -> Block:
        """Return the code of these lines."""
        layout = digest_code(self.forms[first - 1 : last])
        return Block.make(self.lines[first - 1 : last], layout)

    def find_quote(self, quote: str, shortest: int = 1, *, whole: bool = False) -> list[int]:
        """Return the lines on which a quote begins, whatever its white space, fences and line numbers. A quote of less
        than `shortest` characters is found nowhere. With `whole` it has to be one or more whole lines."""
        text, starts = self._stripped
        bounds = {*starts, len(text)}
        for needle in (strip_whitespace(quote.strip().strip("`")), normalize_code(quote)):
            if len(needle) < shortest:
                continue
            spans = [match.span() for match in re.finditer(re.escape(needle), text)]
            if whole:
                spans = [span for span in spans if bounds.issuperset(span)]
            if spans:
                return [bisect_right(starts, start) for start, _ in spans]
        return []

    def find_block(self, block: Block, anchor: str = "") -> list[tuple[int, int]]:
        """Return (first, last) line of each place of a block's text, whatever its white space: `Block.is_same_code`
        tells whether that matters. `anchor` is how its text begins, or "" if unknown."""
        text, starts = self._stripped
        beginning = strip_whitespace(anchor)
        line_at = {start: line for line, start in enumerate(starts, 1)}
        bounds = {*starts, len(text)}
        places = []
        for start, first in line_at.items():
            end = start + block.length
            may_be_there = end in bounds and text.startswith(beginning, start)
            if may_be_there and _digest(text[start:end]) == block.digest:
                places.append((first, bisect_right(starts, end - 1)))
        return places

    @cached_property
    def _stripped(self) -> tuple[str, list[int]]:
        """The text without white space, and at which character of it each line begins."""
        texts = [strip_whitespace(line) for line in self.lines]
        return "".join(texts), [0, *accumulate(map(len, texts))][:-1]

    @cached_property
    def _sections(self) -> list[Symbol]:
        """The lines from an unindented one, where git finds the header of a hunk, to the next, if some are indented."""
        headers = [line for line, text in enumerate(self.lines, 1) if _SECTION.match(text)]
        sections = list[Symbol]()
        for first, following in pairwise([*headers, len(self.lines) + 1]):
            last = following - 1
            body = self.lines[first:last]
            has_body = any(text[:1].isspace() and text.strip() for text in body)
            if has_body and last - first < _MAX_SECTION:
                match = _NAME.search(self.lines[first - 1])
                name = match["declared"] or match["assigned"] if match else ""
                sections.append(Symbol(name, first, last))
        return sections


@dataclass(frozen=True)
class Before:
    """A changed file before the change. `present_lines` has for each of its lines the line where it stands now, which
    for a removed one is the next that was kept."""

    source: Source
    present_lines: tuple[int, ...]
    removed: frozenset[int]  # its lines that the change removed
    is_gone: bool  # the change removed all of them
    added: frozenset[int] = frozenset()  # lines of now that the change added

    def touches(self, first: int, last: int) -> bool:
        """Return whether the change added one of these lines of now, or removed one beside them."""
        lines = range(first, last + 1)
        places = (line for line, _ in self.removals)
        return any(line in self.added for line in lines) or any(
            first <= line <= last + 1 for line in places
        )

    def find_quote(self, quote: str, shortest: int = 1) -> list[int]:
        """Return the lines of now at which quoted code stood."""
        return [self.present_lines[line - 1] for line in self.source.find_quote(quote, shortest)]

    @property
    def removals(self) -> list[tuple[int, str]]:
        """The removed lines, each with the line of now where it stood."""
        pairs = enumerate(zip(self.present_lines, self.source.lines, strict=True), 1)
        return [pair for line, pair in pairs if line in self.removed]


class Snapshot:
    """Files in a folder of their own, which `fill` writes when they are first asked for, and which is removed with this
    object."""

    def __init__(self, fill: Callable[[Path], None]) -> None:
        self._fill = fill
        self._remove: Callable[[], object] | None = None

    @cached_property
    def root(self) -> Path:
        """The folder. Raises BadInput if the files cannot be had."""
        root = Path(mkdtemp(prefix="swecli-review-")).resolve()
        self._remove = weakref.finalize(self, remove_tree, str(root))
        self._fill(root)
        return root

    def close(self) -> None:
        if self._remove is not None:
            self._remove()


class Sources:
    """Reads files below `root` by path with `get`, never through a link out of it and none that may hold secrets, and
    caches them: later changes are not seen. What a model names is read with `find`, which reads no ignored file. What
    a change has removed is `before` it, by path; `base` has all files as they were. A snapshot is a folder made for
    this object, which `close` or the end of the object removes."""

    def __init__(
        self,
        root: Path,
        before: Mapping[str, Before] | None = None,
        *,
        is_snapshot: bool = False,
        barrier: Callable[[str], str] | None = None,
        base: Snapshot | None = None,
    ) -> None:
        self.root = root
        # why a path of the project is not read, "" if it is; None: by its name, and the project's ignore files
        self.barrier = barrier or (lambda path: Guard(root).judge(path).read_reason)
        self.before = before or {}
        self.base = base  # None: there is nothing to compare with
        self.is_snapshot = is_snapshot
        self.get = lru_cache(_CACHE_SIZE)(self._read)
        self._remove = weakref.finalize(self, remove_tree, str(root)) if is_snapshot else None

    def reviewed(self, path: str) -> Source:
        """Read a file, or what a change has removed of it if nothing is left."""
        before = self.before.get(path)
        return before.source if before is not None and before.is_gone else self.get(path)

    def reread(self) -> Sources:
        """Return the same files, none of them read yet. They end with this object if it is a snapshot."""
        return Sources(self.root, self.before, barrier=self.barrier, base=self.base)

    def copy_files(self, into: Path) -> None:
        """Write the files that are not ignored into another folder, links as they are. Raises BadInput."""
        for name in self._names:
            source = self.root / name
            copy = into / name
            try:
                copy.parent.mkdir(parents=True, exist_ok=True)
                if not self.barrier(name):
                    shutil.copy2(source, copy, follow_symlinks=False)
            except OSError as error:
                raise BadInput(f"{name} cannot be copied: {error.strerror}.") from error

    def side(self, side: Side) -> Sources:
        """Return the files of one side of the change. Raises BadInput if those before it cannot be had."""
        if side == "head":
            return self
        assert self.base is not None, "only a change has two sides"
        return Sources(self.base.root, barrier=self.barrier)

    def close(self) -> None:
        if self._remove is not None:
            self._remove()
        if self.base is not None:
            self.base.close()

    def find(self, path: str) -> Source:
        """Read a file that a model names, unless the project ignores it."""
        source = self.get(path)
        if source.hash and source.path not in self._names:
            return Source(source.path, problem="the project ignores it")
        return source

    def similar_files(self, path: str) -> list[str]:
        """Return other files with the same suffix, those with the same name first; of large projects only some."""
        wanted_path = Path(path)
        others = [
            name for name in self._names if Path(name).suffix == wanted_path.suffix and name != path
        ]
        return sorted(others[:_MAX_SIMILAR], key=lambda name: Path(name).name != wanted_path.name)

    @cached_property
    def _names(self) -> list[str]:
        """The files that are not ignored."""
        with suppress(ToolError):
            return files_below(self.root, ".", None, SECONDS)
        return []

    def _read(self, path: str) -> Source:
        if ".." in path.split("/"):
            return Source(path, problem="the path leads out of the project")
        try:
            located = resolve_path(self.root, path)
            name = relative_path(self.root, located)
            if not located.exists():
                return Source(name, problem="there is no such file", is_missing=True)
            if denial := self.barrier(path) or self.barrier(name):
                return Source(name, problem=denial)
            data = read_bytes(self.root, located, _MAX_BYTES)
        except ToolError as error:
            sentence = str(error).partition("\n")[0].partition(". ")[0]
            return Source(path, problem=sentence.rstrip("."))
        file = decode(data)
        if file is None:
            return Source(name, hash=digest(data), problem="it is not a text file")
        # decoded as git's diffs are
        text = file.text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return Source(name, tuple(split_lines(text)), digest(data))


def project_sources(folder: Path, barrier: Callable[[str], str] | None = None) -> Sources:
    """Return the files of the project that a folder belongs to."""
    return Sources(project_root(folder), barrier=barrier)


def strip_whitespace(text: str) -> str:
    return "".join(text.split())


def normalize_code(text: str) -> str:
    """Strip fences, line numbers and signs, and white space from code as a model was shown it."""
    lines = (line.lstrip().lstrip("0123456789").lstrip("\t|:+- →") for line in text.split("\n"))
    return strip_whitespace("".join(line for line in lines if not line.startswith("```")))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _collect_symbols(node: ast.AST, prefix: str) -> list[Symbol]:
    symbols: list[Symbol] = []
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            symbols += _collect_symbols(child, prefix)
            continue
        name = f"{prefix}{child.name}"
        last = child.end_lineno or child.lineno
        first = min((child.lineno, *(decorator.lineno for decorator in child.decorator_list)))
        symbols.append(Symbol(name, first, last))
        symbols += _collect_symbols(child, f"{name}.")
    return symbols
