"""File patterns like `*.py`, `src/**/*.ts` or `*.{js,ts}`, as the tools that list and search take them."""

from __future__ import annotations

import re

from swecli.tools.base import ToolError
from swecli.tools.path_patterns import PathPatterns, literal_brackets

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAX_PATTERNS = 200  # a few nested braces make thousands, which would be compared with every file


class Glob:
    """A pattern, or several with commas; `!` excludes. One without a slash matches names at any depth, one with a slash
    is anchored at the folder that is looked through (`**/` in front lifts that)."""

    def __init__(self, pattern: str) -> None:
        """Raises ToolError for an invalid pattern."""
        try:
            parts = _expand(pattern)
            if not pattern.startswith("!"):
                parts.append(pattern.strip())  # a name may have commas and braces itself
            patterns = [_plain(form) for part in parts for form in (part, literal_brackets(part))]
            included = [part for part in patterns if not part.startswith("!")]
            excluded = [part[1:] for part in patterns if part.startswith("!")]
            self._included = PathPatterns(included or ["*"])
            self._excluded = PathPatterns(excluded)
        except ValueError as error:
            raise ToolError(f"The pattern {pattern!r:.160} cannot be used: {error}.") from error

    def matches(self, path: str, below: str = ".") -> bool:
        """Return whether this workspace-relative path, which is in the folder `below`, matches."""
        if below != ".":
            path = path.removeprefix(f"{below}/")
        return self._included.match(path) and not self._excluded.match(path)


def _plain(pattern: str) -> str:
    """Return a pattern without the `./` in front, which git does not know."""
    if pattern.startswith("!"):
        return "!" + pattern[1:].removeprefix("./")
    return pattern.removeprefix("./")


def _expand(pattern: str) -> list[str]:
    """Expand `a.{b,c}` to `a.b` and `a.c`, and split at other commas. Raises ValueError for no or too many patterns."""
    patterns: list[str] = []
    pending = [pattern]
    while pending:
        glob = pending.pop()
        braces = _BRACES.search(glob)
        if braces:
            before = glob[: braces.start()]
            behind = glob[braces.end() :]
            pending += [before + choice + behind for choice in braces.group(1).split(",")]
        else:
            patterns += [part.strip() for part in glob.split(",") if part.strip()]
        if len(patterns) + len(pending) > _MAX_PATTERNS:
            raise ValueError("it expands to too many patterns")
    if not patterns:
        raise ValueError("it is empty")
    return patterns
