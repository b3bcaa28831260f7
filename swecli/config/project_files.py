"""Which files of a project the program obeys once they are trusted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from swecli.config.instruction_files import InstructionFiles, find_imports
from swecli.config.paths import project_root
from swecli.folders import path_exists, walk
from swecli.regular_files import read_regular

PROJECT_SETTINGS = ".swecli/config.toml"
MCP_SERVERS = ".mcp.json"
_SKILL_FOLDERS = (".agents/skills", ".claude/skills")
_COMMAND_FOLDERS = (".agents/commands", ".claude/commands")
SHARED_FOLDER = ".agents/memory"  # of the strategies that the people of a project share
MAX_SHARED = 200  # strategies: as many as a prompt has at most


def find_project_files(cwd: Path, nested: Iterable[Path] = ()) -> list[Path]:
    """Return all files that the project of a working directory would have obeyed, with the `nested` instruction files
    of other folders. Links that lead out, or nowhere, are left out."""
    root = project_root(cwd)
    files = [path for name in (PROJECT_SETTINGS, MCP_SERVERS) if (path := root / name).exists()]
    files += find_instructions(cwd)
    files += [path for file in nested for path in (file, *find_imports(file, root))]
    files += [*find_skill_files(root), *find_command_files(root), *find_shared_strategies(root)]
    files = [*dict.fromkeys(files)]
    return [path for path in files if path_exists(path) and is_inside(path, root)]


def read_project_files(cwd: Path, nested: Iterable[Path] = ()) -> dict[Path, bytes]:
    """Return the bytes of the files that `find_project_files` returns."""
    contents: dict[Path, bytes] = {}
    for path in find_project_files(cwd, nested):
        with suppress(OSError):
            contents[path] = read_regular(path)
    return contents


def find_instructions(cwd: Path) -> list[Path]:
    """Return the instruction files of each folder from the project's root down to the working directory, and the files
    that they import."""
    cwd = cwd.resolve()
    root = project_root(cwd)
    files: dict[Path, None] = {}
    for folder in folders_down_to(cwd, root):
        for file in InstructionFiles.of(folder).all_files:
            files |= dict.fromkeys((file, *find_imports(file, root)))
    return [*files]


def folders_down_to(folder: Path, root: Path) -> list[Path]:
    """Return the folders from a root down to a folder in it, both included; none if it is not in it."""
    return [path for path in reversed((folder, *folder.parents)) if path.is_relative_to(root)]


def find_skill_files(root: Path) -> list[Path]:
    """Return the SKILL.md files of a project, or of a home folder, in the order in which their names win."""
    return [file for name in _SKILL_FOLDERS for file in skill_files_in(root / name)]


def skill_files_in(folder: Path) -> list[Path]:
    """Return the SKILL.md of each folder in `folder`, by the names of these. One that is a broken link is returned too,
    so that it is reported: whether `Path.glob` finds it depends on the version of Python."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  names only
    except OSError:  # most projects have none
        return []
    files = [folder / name / "SKILL.md" for name in names]
    return [file for file in files if os.path.lexists(file)]


def find_command_files(root: Path) -> list[Path]:
    """Return the Markdown files of a project's slash commands, in the order in which their names win."""
    return [file for name in _COMMAND_FOLDERS for file in command_files_in(root / name)]


def command_files_in(folder: Path) -> list[Path]:
    """Return the Markdown files in a folder and those below it."""
    entries = [entry for _, in_folder in walk(str(folder)) for entry in in_folder]
    return sorted(Path(entry.path) for entry in entries if entry.name.endswith(".md"))


def find_shared_strategies(root: Path) -> list[Path]:
    """Return the first `MAX_SHARED` files of the strategies that the people of a project share, by name."""
    folder = root / SHARED_FOLDER
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))  # noqa: PTH208  names only
    except OSError:  # most projects share none
        return []
    return [folder / name for name in names[:MAX_SHARED]]


def is_inside(path: Path, root: Path) -> bool:
    """Return False if a path is, or passes through, a link that leads out of the folder. A link to itself does not."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
