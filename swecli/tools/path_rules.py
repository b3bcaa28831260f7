"""The user's rules about paths, `read(private/**)` and `edit(src/**)`: which paths a pattern names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from swecli.tools.path_patterns import PathPatterns, PatternError, literal_brackets
from swecli.values import dataclass

ABSOLUTE = "//"  # begins a pattern for absolute paths

# What rules say, in the order in which they are asked. "approved" ones came with an answer of the user's, for one path.
RuleList = Literal["deny", "approved", "ask", "allow"]


@dataclass(frozen=True, slots=True)
class PathRule:
    """A rule about reading files, or about changing them. `text` is the rule as written."""

    list: RuleList
    is_about_changes: bool
    pattern: str | None  # None: every path
    text: str

    def names(self, path: str, absolute: str) -> bool:
        """Return whether the rule is about a real path, relative to the workspace or outside it, which is `absolute`
        in any case. One that frees a path from a question has to name it alone."""
        if self.list in ("approved", "allow"):
            return self.pattern is not None and is_exact(self.pattern, path)
        if self.pattern is None:
            return True
        comparable_path = absolute if self.pattern.startswith(ABSOLUTE) else path
        if touches(self.pattern, comparable_path):
            return True
        is_for_folders = self.pattern.endswith("/") and Path(absolute).is_dir()
        return is_for_folders and touches(self.pattern, f"{comparable_path}/")

    def opens_place(self, path: str) -> bool:
        """Return whether the rule lets us read where a path outside the workspace lies: `read(//usr/lib/**)`. One for
        everything, or for a pattern of names, does not."""
        if self.is_about_changes or self.list in ("deny", "ask") or self.pattern is None:
            return False
        if not self.pattern.startswith(ABSOLUTE):
            return False
        # a rule for all that is in a folder opens the folder
        return touches(self.pattern, path) or touches(self.pattern, f"{path}/.")


def touches(pattern: str, path: str) -> bool:
    """Return whether a pattern names a path: in the syntax of .gitignore, and behind `//` for absolute paths only."""
    if is_exact(pattern, path):
        return True
    if pattern.startswith(ABSOLUTE):
        if not path.startswith("/"):
            return False
        pattern = pattern[1:]
    patterns = _patterns(pattern)
    return patterns is not None and patterns.match(path)


def is_exact(pattern: str, path: str) -> bool:
    """Return whether a pattern names this path and no other."""
    if pattern == escape(path):
        return True
    # `/src/a` is a path of the workspace; only `//src/a` is outside
    return pattern == path and not path.startswith("/")


def escape(path: str) -> str:
    """Return the pattern that names only this path."""
    return "/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)


def fixed_places(rules: Iterable[PathRule]) -> Iterator[str]:
    """Yield the absolute paths that rules name, or all below them."""
    for rule in rules:
        start, rest = _split_pattern(rule.pattern or "")
        if start.startswith(ABSOLUTE) and rest in ("", "/", "/**", "/**/*"):
            yield start[1:]


def follow_links(root: Path, rule: PathRule) -> PathRule | None:
    """Return the rule for what a link leads to that the rule names, or names something behind; None if it names none.
    So it holds for a file by its own name, too."""
    start, rest = _split_pattern(rule.pattern or "")
    if not start or rule.list not in ("deny", "ask"):
        return None
    path = Path(start[1:]) if start.startswith(ABSOLUTE) else root / start.lstrip("/")
    real = path.resolve()
    real_root = root.resolve()
    if real == path or real == real_root / start.lstrip("/"):
        return None
    inside = real.is_relative_to(real_root)
    place = escape(str(real.relative_to(real_root)) if inside else str(real))
    return replace(rule, pattern=f"{place}{rest}")


def _split_pattern(pattern: str) -> tuple[str, str]:
    """Return what stands before the first part with a wildcard, and the rest."""
    wildcard = re.search(r"[*?\[\\!]", pattern)
    if wildcard is None:
        return pattern.rstrip("/"), "/" if pattern.endswith("/") else ""
    cut = pattern.rfind("/", 0, wildcard.start())
    return pattern[: max(cut, 0)], pattern[max(cut, 0) :]


@lru_cache(maxsize=200)
def _patterns(pattern: str) -> PathPatterns | None:
    """Return the pattern of a rule, None for one that cannot be used: it matches only itself."""
    try:
        return PathPatterns([pattern, literal_brackets(pattern)])
    except PatternError:
        return None
