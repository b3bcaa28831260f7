"""Which instruction files a folder has, under the names that coding assistants read, and which files these import."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from swecli.regular_files import read_regular
from swecli.text import decode_text
from swecli.values import dataclass

# In the order in which one takes the place of those behind it. Compared without case.
_NAMES = ("agents.override.md", "agents.md", "claude.md", ".claude/claude.md")
_BESIDE = "claude.local.md"  # one user's own additions for a project
_USER_FILES = (".agents/AGENTS.md", ".claude/CLAUDE.md")
ALL_NAMES = (*_NAMES, _BESIDE)
MAX_DEPTH = 5  # files in a chain of imports, as Claude Code has it
MAX_IMPORTS = (
    50  # by one file and those that it imports: each is a look at the disk before the first request
)
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_BACKTICKS = re.compile(r"(`+)")
_IMPORT = re.compile(r"(?<!\S)@(\S+)")
_AFTER_PATH = ".,;:!?)]}\"'"  # punctuation of the sentence around an import


@dataclass(frozen=True, slots=True)
class InstructionFiles:
    """The instruction files of one folder. The first of `choices` that has a text is used, and all `beside` it."""

    choices: tuple[Path, ...]
    beside: tuple[Path, ...] = ()

    @property
    def all_files(self) -> tuple[Path, ...]:
        return (*self.choices, *self.beside)

    def without(self, files: Collection[Path]) -> InstructionFiles:
        """Return them without these files."""
        return InstructionFiles(
            tuple(file for file in self.choices if file not in files),
            tuple(file for file in self.beside if file not in files),
        )

    @classmethod
    def of(cls, folder: Path) -> InstructionFiles:
        """Find those of a folder. Broken links, folders and pipes of such a name are returned too, so that they are
        reported."""
        return cls.among(folder, [*_names_in(folder, ""), *_names_in(folder, ".claude")])

    @classmethod
    def among(cls, folder: Path, names: Iterable[str]) -> InstructionFiles:
        """Choose from the names that a folder has, those in its `.claude` as paths, wherever they were listed."""
        by_lower: dict[str, list[str]] = {}
        for name in sorted(names):
            if name.lower() in ALL_NAMES:
                by_lower.setdefault(name.lower(), []).append(name)
        choices = [
            folder / name for wanted_name in _NAMES for name in by_lower.get(wanted_name, ())
        ]
        return cls(tuple(choices), tuple(folder / name for name in by_lower.get(_BESIDE, ())))

    @classmethod
    def of_user(cls, home: Path) -> InstructionFiles:
        """Find those of a user, for all projects."""
        files = [home / name for name in _USER_FILES]
        return cls(tuple(file for file in files if os.path.lexists(file)))


def _names_in(folder: Path, below: str) -> list[str]:
    """Return the names in a folder, or in one `below` it, as paths from the folder."""
    with suppress(OSError):  # most projects have no `.claude`
        names = os.listdir(folder / below)  # noqa: PTH208  names only
        return [f"{below}/{name}" if below else name for name in names]
    return []


def imported_paths(text: str) -> list[str]:
    """Return the first MAX_IMPORTS paths that a text imports as `@path`, each once; code is none of the text."""
    paths: dict[str, None] = {}
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence:
            matches = _IMPORT.finditer(_without_code(line))
            paths |= dict.fromkeys(match[1].rstrip(_AFTER_PATH) for match in matches)
        if len(paths) > MAX_IMPORTS:
            break
    return [path for path in paths if path][:MAX_IMPORTS]


def _without_code(line: str) -> str:
    """Return a line without what stands between as many backticks on both sides. Not by one pattern: a stranger's line
    of a million backticks would take hours."""
    texts: list[str] = []
    opened_by = ""
    for piece in _BACKTICKS.split(line):
        if piece.startswith("`"):
            if not opened_by:
                opened_by = piece
            elif piece == opened_by:
                opened_by = ""
        elif not opened_by:
            texts.append(piece)
    return " ".join(texts)


def resolve_import(path: str, file: Path) -> Path:
    """Return the file that another one imports by a path, resolved. Raises OSError, ValueError or RuntimeError for one
    that cannot be."""
    return (file.parent / Path(path).expanduser()).resolve()


def find_imports(file: Path, root: Path) -> list[Path]:
    """Return the files below `root` that a file imports, and those that these import. Raises nothing."""
    pending = [(file, MAX_DEPTH)]
    imported: dict[Path, None] = {}
    while pending:
        importing, depth = pending.pop(0)
        text = ""
        with suppress(OSError):
            text = decode_text(read_regular(importing))
        for path in imported_paths(text) if depth else ():
            if len(imported) == MAX_IMPORTS:
                return [*imported]
            with suppress(OSError, ValueError, RuntimeError):
                target = resolve_import(path, importing)
                is_new = target not in imported and target != file
                if is_new and target.is_relative_to(root) and target.is_file():
                    imported[target] = None
                    pending.append((target, depth - 1))
    return [*imported]
