"""Which files of a project the program obeys once they are trusted."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from swecli.config.paths import project_root
from swecli.folders import walk
from swecli.regular_files import read_regular

PROJECT_SETTINGS = ".swecli/config.toml"
INSTRUCTION_FILES = ("AGENTS.md", "CLAUDE.md")
_SKILL_FOLDERS = (".agents/skills", ".claude/skills")
_COMMAND_FOLDERS = (".agents/commands", ".claude/commands")
SHARED_FOLDER = ".agents/memory"  # of the strategies that the people of a project share
MAX_SHARED = 200  # strategies: as many as a prompt has at most


def find_project_files(cwd: Path) -> list[Path]:
    """Return all files that the project of a working directory would have obeyed. Links that lead out, or nowhere, are
    left out."""
    root = project_root(cwd)
    settings = root / PROJECT_SETTINGS
    files = [settings] if settings.exists() else []
    files += [*find_instructions(cwd), *find_skill_files(root), *find_command_files(root)]
    files += find_shared_strategies(root)
    return [path for path in files if os.path.exists(path) and is_inside(path, root)]  # noqa: PTH110  raises nothing


def read_project_files(cwd: Path) -> dict[Path, bytes]:
    """Return the bytes of all files that the project of a working directory would have obeyed."""
    contents: dict[Path, bytes] = {}
    for path in find_project_files(cwd):
        with suppress(OSError):
            contents[path] = read_regular(path)
    return contents


def find_instructions(cwd: Path) -> list[Path]:
    """Return one instruction file for each folder from the project's root down to the working directory."""
    root = project_root(cwd)
    folders = [folder for folder in (cwd, *cwd.parents) if folder.is_relative_to(root)]
    files: list[Path] = []
    for folder in reversed(folders):
        for name in INSTRUCTION_FILES:
            if (folder / name).exists():
                files.append(folder / name)
                break
    return files


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
    files: list[Path] = []
    for name in _COMMAND_FOLDERS:
        entries = [entry for _, in_folder in walk(str(root / name)) for entry in in_folder]
        files += sorted(Path(entry.path) for entry in entries if entry.name.endswith(".md"))
    return files


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
