"""Which files every mode asks about: those that may hold secrets, those that the workspace's ignore files name, and,
before a change, those that are protected."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from swecli.text import escape_hidden
from swecli.tools import sensitive
from swecli.tools.base import ToolContext, ToolError
from swecli.tools.files import read_bytes
from swecli.tools.own_programs import own_folders
from swecli.tools.path_patterns import PathPatterns, PatternError
from swecli.tools.paths import resolve_path
from swecli.tools.processes import child_environment
from swecli.tools.searching import IGNORE_FILES, files_below, list_tree, own_ignore_files

_MAX_BYTES = 1_000_000  # of an ignore file; a longer one is a mistake

_Stamp = tuple[int, int, int] | None


def before_reading(root: Path, path: str) -> str:
    """Return why every mode asks before reading this workspace-relative path; "" if none does."""
    return sensitive.read_guard(path) or when_ignored(root, path)


def before_writing(root: Path, path: str) -> str:
    """Return why every mode asks before writing to this workspace-relative path; "" if none does."""
    return sensitive.write_guard(path) or _own_guard(root, path) or when_ignored(root, path)


def _own_guard(root: Path, path: str) -> str:
    """Return why every mode asks before writing to a folder that swecli itself runs from, "" elsewhere."""
    if not any((root.resolve() / path).is_relative_to(folder) for folder in own_folders(root)):
        return ""
    return f"{escape_hidden(path, keep='')} is protected: swecli runs from there"


def when_ignored(root: Path, path: str) -> str:
    """Return why every mode asks for a path that an ignore file names, "" if none does. If an ignore file cannot be
    read, every path counts as named."""
    rules = _load(root, tuple(_stamp(f"{root}/{name}") for name in IGNORE_FILES))
    if rules.problem:
        return rules.problem
    if not rules.match(root, path):
        return ""
    return (
        f"{escape_hidden(path, keep='')} is named by an ignore file ({' or '.join(IGNORE_FILES)})"
    )


def visible_files(ctx: ToolContext, start: str) -> Iterable[str]:
    """Return the files below a folder that no ignore file names; all of them if the user approved a folder that one
    names. Raises ToolError like `files_below`."""
    files = files_below(ctx.root, start, ctx.commands.environ, ctx.commands.timeout)
    own = own_ignore_files(ctx.root)
    if not own or when_ignored(ctx.root, start):
        return files
    # a line of a .gitignore can include again what an ignore file of ours leaves out
    env = child_environment(ctx.commands.environ)
    named_by_none = list_tree(ctx.root, env, ignore_files=own, start=start)
    return [path for path in files if path in named_by_none]


def _stamp(file: str) -> _Stamp:
    try:
        status = os.stat(file)  # noqa: PTH116  for each of the thousands of files of a search
    except OSError:  # missing, or a link to nothing
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


class _IgnoreRules:
    """The lines of the workspace's ignore files. `problem` says why they are unknown, "" if they are not."""

    def __init__(self, patterns: PathPatterns, problem: str) -> None:
        self.problem = problem
        self._patterns = patterns

    def match(self, root: Path, path: str) -> bool:
        """Return whether a line names the path, or a folder above it. Names are compared without case."""
        name = sensitive.normalize(path)
        if self._patterns.match(name):
            return True
        return (root / path).is_dir() and self._patterns.match(f"{name}/")


@lru_cache(maxsize=4)
def _load(root: Path, stamps: tuple[_Stamp, ...]) -> _IgnoreRules:
    lines: list[str] = []
    patterns = PathPatterns([])
    for name, stamp in zip(IGNORE_FILES, stamps, strict=True):
        if stamp is None:
            continue
        try:
            text = read_bytes(root, resolve_path(root, name), _MAX_BYTES).decode("utf-8-sig")
            lines += map(sensitive.normalize, text.splitlines())
            patterns = PathPatterns(lines)
        except (ToolError, UnicodeDecodeError, PatternError) as error:
            why = "it is not UTF-8 text." if isinstance(error, UnicodeDecodeError) else str(error)
            return _IgnoreRules(patterns, f"What {name} leaves out is unknown: {why}")
    return _IgnoreRules(patterns, "")
