"""Which instruction files a folder has, under the names that coding assistants read, and which files these import."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from swecli.regular_files import read_regular
from swecli.text import decode_text

# In the order in which one takes the place of those behind it. Compared without case.
_NAMES = ("agents.override.md", "agents.md", "claude.md", ".claude/claude.md")
_BESIDE = "claude.local.md"  # one user's own additions for a project
_USER_FILES = (".agents/AGENTS.md", ".claude/CLAUDE.md")
ALL_NAMES = (*_NAMES, _BESIDE)
MAX_IMPORTS = 5  # files in a chain of imports, as Claude Code has it
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_CODE = re.compile(r"(`+).+?\1")
_IMPORT = re.compile(r"(?<!\S)@(\S+)")
_AFTER_PATH = ".,;:!?)]}\"'"  # punctuation of the sentence around an import


@dataclass(frozen=True, slots=True)
class InstructionFiles:
    """The instruction files of one folder. The first of `choices` that has a text is used, and all `beside` it."""

    choices: tuple[Path, ...]
    beside: tuple[Path, ...] = ()

    @property
    def all(self) -> tuple[Path, ...]:
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
        names = _by_lower_name(folder, "") | _by_lower_name(folder, ".claude")
        choices = [folder / name for wanted in _NAMES for name in names.get(wanted, ())]
        return cls(tuple(choices), tuple(folder / name for name in names.get(_BESIDE, ())))

    @classmethod
    def of_user(cls, home: Path) -> InstructionFiles:
        """Find those of a user, for all projects."""
        files = [home / name for name in _USER_FILES]
        return cls(tuple(file for file in files if os.path.lexists(file)))


def _by_lower_name(folder: Path, below: str) -> dict[str, list[str]]:
    """Return the names in a folder, or in one `below` it, by their lower-case form."""
    by_lower: dict[str, list[str]] = {}
    with suppress(OSError):  # most projects have no `.claude`
        for name in sorted(os.listdir(folder / below)):  # noqa: PTH208  names only
            path = f"{below}/{name}" if below else name
            if path.lower() in ALL_NAMES:
                by_lower.setdefault(path.lower(), []).append(path)
    return by_lower


def imported_paths(text: str) -> list[str]:
    """Return the paths that a text imports as `@path`, each once; code is none of the text."""
    paths: dict[str, None] = {}
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        elif not fence:
            for match in _IMPORT.finditer(_CODE.sub(" ", line)):
                paths[match[1].rstrip(_AFTER_PATH)] = None
    return [path for path in paths if path]


def resolve_import(path: str, file: Path) -> Path:
    """Return the file that another one imports by a path, resolved. Raises OSError, ValueError or RuntimeError for one
    that cannot be."""
    return (file.parent / Path(path).expanduser()).resolve()


def find_imports(file: Path, root: Path, depth: int = MAX_IMPORTS) -> Iterator[Path]:
    """Yield the files below `root` that a file imports, and those that these import. Raises nothing."""
    waiting = [(file, depth)]
    seen = {file}
    while waiting:
        importing, left = waiting.pop(0)
        try:
            text = decode_text(read_regular(importing))
        except OSError:
            continue
        for path in imported_paths(text) if left else ():
            with suppress(OSError, ValueError, RuntimeError):
                target = resolve_import(path, importing)
                if target in seen or not target.is_relative_to(root) or not target.is_file():
                    continue
                seen.add(target)
                waiting.append((target, left - 1))
                yield target
