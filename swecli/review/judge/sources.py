"""The files a review speaks of, as they are now; never read through a link out of the project."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from swecli.review.judge.symbols import Symbol, symbol_at, symbols_in
from swecli.tools.base import ToolError
from swecli.tools.files import decode, digest, read_bytes, split_lines
from swecli.tools.paths import locate, relative

LARGEST = 5_000_000  # bytes of a file that is looked into
MOST_ALIKE = 2_000
NOT_OURS = ("node_modules", "venv", "__pycache__")
KEPT = 32  # files kept in memory at a time


@dataclass(frozen=True, slots=True)
class Source:
    """One file. `problem` says why there are no lines; `missing` that there is no such file."""

    path: str
    lines: tuple[str, ...] = ()
    hash: str = ""
    problem: str = ""
    missing: bool = False


@dataclass(slots=True)
class Sources:
    """Reads files below `root` and keeps the newest few. Not for long: it does not see later changes."""

    root: Path
    _kept: dict[str, Source] = field(default_factory=dict)
    _symbols: dict[str, tuple[Symbol, ...]] = field(default_factory=dict)

    def get(self, path: str) -> Source:
        """The file of that name; never raises."""
        if path not in self._kept:
            while len(self._kept) >= KEPT:
                oldest = next(iter(self._kept))
                self._symbols.pop(oldest, None)
                self._kept.pop(oldest)
            self._kept[path] = self._read(path)
        return self._kept[path]

    def alike(self, path: str) -> list[str]:
        """Other files of the same ending, those of the same name first; the first few of a large project."""
        wanted, found = Path(path), list[str]()
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in NOT_OURS)
            at = Path(folder).relative_to(self.root)
            found += [(at / name).as_posix() for name in sorted(names) if Path(name).suffix == wanted.suffix]
            if len(found) >= MOST_ALIKE:
                break
        return sorted((name for name in found if name != path), key=lambda name: Path(name).name != wanted.name)

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """The functions and classes of a Python file; never raises."""
        source = self.get(path)
        if path not in self._symbols:
            self._symbols[path] = symbols_in(path, source.lines)
        return self._symbols[path]

    def symbol(self, path: str, line: int) -> Symbol:
        """What that line belongs to; never raises."""
        return symbol_at(self.symbols(path), path, self.get(path).lines, line)

    def _read(self, path: str) -> Source:
        if ".." in path.split("/"):
            return Source(path, problem="the path leads out of the project")
        try:
            located = locate(self.root, path)
            name = relative(self.root, located)
            if not located.exists():
                return Source(name, problem="there is no such file", missing=True)
            data = read_bytes(self.root, located, LARGEST)
        except ToolError as error:
            return Source(path, problem=str(error).split("\n", maxsplit=1)[0])
        file = decode(data)
        if file is None:
            return Source(name, hash=digest(data), problem="it is no text file")
        return Source(name, tuple(split_lines(file.text)), digest(data))
