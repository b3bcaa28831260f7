"""Which files the ignore files of the assistant name, at the top of a workspace."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from swecli.file_names import write_name
from swecli.models.errors import ToolError
from swecli.tools.files import read_bytes
from swecli.tools.path_patterns import PathPatterns, PatternError
from swecli.tools.paths import resolve_path
from swecli.tools.sensitive import normalize

IGNORE_FILES = (".aiignore", ".swecliignore")
_MAX_BYTES = 1_000_000  # of an ignore file; a longer one is a mistake

_Stamp = tuple[int, int, int] | None


def when_ignored(root: Path, path: str) -> str:
    """Return why every mode asks for a path that an ignore file names, "" if none does. If an ignore file cannot be
    read, every path counts as named."""
    stamps = tuple(_stamp(f"{root}/{name}") for name in IGNORE_FILES)
    if not any(stamps):
        return ""
    rules = _load(root, stamps)
    if rules.problem:
        return rules.problem
    if not rules.match(root, path):
        return ""
    return f"{write_name(path)} is named by an ignore file ({' or '.join(IGNORE_FILES)})"


def has_ignore_file(root: Path) -> bool:
    """Return whether there is an ignore file of the assistant."""
    return any(_stamp(f"{root}/{name}") for name in IGNORE_FILES)


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
        name = normalize(path)
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
            lines += map(normalize, text.splitlines())
            patterns = PathPatterns(lines)
        except (ToolError, UnicodeDecodeError, PatternError) as error:
            reason = (
                "it is not UTF-8 text." if isinstance(error, UnicodeDecodeError) else str(error)
            )
            return _IgnoreRules(patterns, f"What {name} leaves out is unknown: {reason}")
    return _IgnoreRules(patterns, "")
