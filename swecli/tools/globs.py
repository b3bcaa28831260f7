"""Patterns over workspace-relative paths, as .gitignore writes them, with {a,b} beside it."""

from __future__ import annotations

import re

from pathspec import GitIgnoreSpec

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_MAX_PATTERNS = 200


class Glob:
    """Which files are meant: `*.py`, `src/**/*.ts`, `*.{js,ts}`; with `!` left out.

    A pattern without a slash is compared with the name at any depth; one with a slash may begin at any depth.
    """

    def __init__(self, pattern: str) -> None:
        """Raises ValueError for a pattern that means nothing."""
        expanded = _expand_braces(pattern)
        self.wanted = [_anywhere(p) for p in expanded if not p.startswith("!")]
        self.unwanted = [_anywhere(p[1:]) for p in expanded if p.startswith("!")]
        self._wanted = GitIgnoreSpec.from_lines(self.wanted) if self.wanted else None
        self._unwanted = GitIgnoreSpec.from_lines(self.unwanted)

    def matches(self, path: str) -> bool:
        """Whether the file at this workspace-relative path is meant."""
        if self._unwanted.match_file(path):
            return False
        return self._wanted is None or self._wanted.match_file(path)


def _expand_braces(pattern: str) -> list[str]:
    """`a.{b,c}` as `a.b` and `a.c`; commas outside braces part patterns. Raises ValueError for too many."""
    done, todo = [], _parts(pattern)
    while todo:
        one = todo.pop(0)
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
        else:
            todo += [one[: found.start()] + choice + one[found.end() :] for choice in found.group(1).split(",")]
        if len(done) + len(todo) > _MAX_PATTERNS:
            raise ValueError("it stands for too many patterns")
    if not done:
        raise ValueError("it is empty")
    return list(dict.fromkeys(done))


def _parts(pattern: str) -> list[str]:
    """What commas outside braces part."""
    parts, depth = [""], 0
    for letter in pattern:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def path_matches(pattern: str, path: str) -> bool:
    """Whether a permission rule's pattern covers a path; one that cannot be read covers nothing but itself."""
    if pattern in ("*", "**", path, escaped(path)):
        return True
    try:
        return bool(path) and GitIgnoreSpec.from_lines([pattern]).match_file(path)
    except ValueError:
        return False


def escaped(path: str) -> str:
    """The pattern that covers this path alone."""
    return "/" + re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)


def _anywhere(pattern: str) -> str:
    pattern = pattern.removeprefix("./").lstrip("/")
    inner = "/" in pattern.rstrip("/")
    return f"**/{pattern}" if inner and not pattern.startswith("**/") else pattern
