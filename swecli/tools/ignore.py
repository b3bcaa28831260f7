"""Which files are left out of listings and searches, and the walk over those that are not."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_CLASS = re.compile(r"\[:(\w+):\]")


class _IgnoreLines:
    """The lines of one folder's ignore file; the last one that fits an entry decides.

    Each entry is judged by itself, as git does on its way down: whether a folder above it is left out is another
    question. (Matchers of whole paths answer both at once, and differ from git where a line takes an entry back in.)
    """

    def __init__(self, lines: Iterable[str]) -> None:
        """Lines that mean nothing are passed over, as git does."""
        read = [pattern for line in lines if (pattern := _read(line)) is not None]
        self._patterns = [(out, folder, re.compile(text, re.DOTALL)) for out, folder, text in reversed(read)]
        # one look rules most entries out
        self._any = re.compile("|".join(f"(?:{text})" for *_, text in read) if read else "(?!)", re.DOTALL)

    def verdict(self, name: str) -> bool | None:
        """True: left out; False: taken back in; None: nothing. `name` is relative, a folder's ends with "/"."""
        bare = name.removesuffix("/")
        if self._any.fullmatch(bare) is None:
            return None
        is_folder = bare != name
        fitting = (out for out, folder, p in self._patterns if (is_folder or not folder) and p.fullmatch(bare))
        return next(fitting, None)


def _read(line: str) -> tuple[bool, bool, str] | None:
    """Whether the line leaves out, whether it is about folders only, and an expression for names; None: no pattern."""
    line = _without_trailing_blanks(line)
    if not line or line.startswith("#"):
        return None
    take_out = not line.startswith("!")
    pattern = line if take_out else line[1:]
    folder = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern:
        return None
    anywhere = "/" not in pattern
    text = _translate(pattern.removeprefix("/"))
    if text is None:
        return None
    return take_out, folder, ("(?:.*/)?" if anywhere else "") + text


def _without_trailing_blanks(line: str) -> str:
    bare = line.rstrip(" ")
    quoted = (len(bare) - len(bare.rstrip("\\"))) % 2
    return bare + " " if quoted and len(bare) < len(line) else bare


def _translate(pattern: str) -> str | None:
    """A regular expression for a pattern without its leading and trailing slash; None where it can match nothing."""
    out, at = "", 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "*":
            end = at + len(pattern[at:]) - len(pattern[at:].lstrip("*"))
            out += _stars(pattern, at, end)
            # "**/" stands for any number of folders, so that its slash belongs to it
            at = end + 1 if out.endswith("(?:.*/)?") else end
            continue
        if letter == "?":
            out += "[^/]"
        elif letter == "[":
            found = _bracket(pattern, at)
            if found is None:
                return None
            out += found[0]
            at = found[1]
            continue
        elif letter == "\\":
            at += 1
            if at == len(pattern):
                return None
            out += re.escape(pattern[at])
        else:
            out += re.escape(letter)
        at += 1
    return out


def _stars(pattern: str, at: int, end: int) -> str:
    """What a run of stars stands for: two between slashes (or ends) reach over folders, others stay within one."""
    opens = at == 0 or pattern[at - 1] == "/"
    if end - at == 2 and opens and end == len(pattern):
        return ".+"
    if end - at == 2 and opens and pattern[end : end + 1] == "/":
        return "(?:.*/)?"
    return "[^/]*"


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """A set of letters `[a-z]`, `[!a]`, and where it ends; None where it does not end."""
    index = at + 1
    negated = pattern[index : index + 1] in ("!", "^")
    index += negated
    inner, low = "", ""
    first = True
    while first or pattern[index : index + 1] != "]":
        first = False
        if named := _CLASS.match(pattern, index):
            inner, low, index = inner + _CLASSES.get(named.group(1), ""), "", named.end()
            continue
        ranged = low and pattern[index : index + 1] == "-" and pattern[index + 1 : index + 2] not in ("", "]")
        index += 1 if ranged else 0
        index += pattern[index : index + 1] == "\\"
        letter = pattern[index : index + 1]
        if not letter:
            return None
        if not ranged:
            inner += re.escape(letter)
        elif low <= letter:
            inner += f"{re.escape(low)}-{re.escape(letter)}"
        low = "" if ranged else letter
        index += 1
    # a set may be empty ("[[:none:]]"): then no letter fits, or every one
    fits = f"[{'^' if negated else ''}{inner}]" if inner else ("." if negated else "(?!)")
    return f"(?!/){fits}", index + 1


VCS_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj"})
GIT_FILES = (".gitignore",)
OWN_FILES = (".aiignore", ".swecliignore")
# Left out even where no ignore file names it; an own ignore file can include it again ("!node_modules/").
_NOISE_FOLDERS = "node_modules __pycache__ .venv .tox .nox .mypy_cache .pytest_cache .ruff_cache .hypothesis "
_NOISE_FOLDERS += ".import_linter_cache .gradle .terraform"
NOISE = (*(f"{name}/" for name in _NOISE_FOLDERS.split()), ".DS_Store")
_MAX_IGNORE_FILE = 1_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """Something found on a walk. `path` is relative to the workspace, `depth` counts from 1 below the start."""

    path: str
    depth: int
    kind: str  # "file", "dir", "link" or "other"


class _Family:
    """One kind of ignore files, looked up folder by folder from `top` down. The files of one folder count together.

    Paths are strings relative to `top`: this is asked for every entry of a walk.
    """

    def __init__(self, top: Path, names: tuple[str, ...], first: list[str]) -> None:
        self._top = top
        self._names = names
        lines = _IgnoreLines([*first, *self._lines("")])
        self._chains: dict[str, tuple[tuple[int, _IgnoreLines], ...]] = {"": ((0, lines),)}

    def leaves_out(self, path: str, is_dir: bool) -> bool:
        """What the nearest folder with a matching line decides about this entry."""
        name = f"{path}/" if is_dir else path
        for offset, lines in self._chain(path.rpartition("/")[0]):
            found = lines.verdict(name[offset:])
            if found is not None:
                return found
        return False

    def _chain(self, folder: str) -> tuple[tuple[int, _IgnoreLines], ...]:
        """What counts in a folder, nearest first, each with the length of the path it leaves off."""
        todo = []
        while folder not in self._chains:
            todo.append(folder)
            folder = folder.rpartition("/")[0]
        for below in reversed(todo):
            lines = self._lines(below)
            above = self._chains[below.rpartition("/")[0]]
            self._chains[below] = ((len(below) + 1, _IgnoreLines(lines)), *above) if lines else above
        return self._chains[todo[0] if todo else folder]

    def _lines(self, folder: str) -> list[str]:
        return [line for name in self._names for line in _read_lines(self._top / folder / name)]


class IgnoreRules:
    """The ignore rules of a workspace, read as they are needed.

    `.gitignore` at every level (also above the workspace, up to the top of its repository) and
    `.git/info/exclude`; and, apart from these, `.swecliignore` and `.aiignore` at every level of the workspace.
    What either leaves out is left out. Version control's own folders always are.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        top = next((p for p in (self.root, *self.root.parents) if (p / ".git").exists()), self.root)
        exclude = _read_lines(top / ".git" / "info" / "exclude") if (top / ".git").is_dir() else []
        below = self.root.relative_to(top).as_posix()
        self._below_top = "" if below == "." else f"{below}/"
        self._git = _Family(top, GIT_FILES, exclude)
        self._own = _Family(self.root, OWN_FILES, list(NOISE))

    def ignored(self, path: str, is_dir: bool) -> bool:
        """Whether this entry is left out, given that the folders it lies in are not. `path` as in `Entry`."""
        if path.rpartition("/")[2] in VCS_FOLDERS:
            return True
        return self._git.leaves_out(self._below_top + path, is_dir) or self._own.leaves_out(path, is_dir)

    def hidden(self, path: str, is_dir: bool) -> bool:
        """Whether this entry or any folder it lies in is left out."""
        if path in ("", "."):
            return False
        parts = path.split("/")
        folders = ("/".join(parts[:count]) for count in range(1, len(parts)))
        return any(self.ignored(folder, True) for folder in folders) or self.ignored(path, is_dir)


def walk(root: Path, start: str = ".", depth: int | None = None, rules: IgnoreRules | None = None) -> Iterator[Entry]:
    """Everything below `start` (workspace-relative) that is not left out, folders before what is in them, sorted.

    Links are listed, never followed. A start that is itself left out was meant: below it only version control's
    folders are left out. Folders that cannot be read are listed as empty.
    """
    rules = rules or IgnoreRules(root)
    everything = rules.hidden(start, True)
    top = rules.root
    prefix = "" if start in ("", ".") else f"{start}/"
    stack = [_entries(top / start, prefix, 1)]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
            continue
        is_dir = entry.kind == "dir"
        if everything:
            if entry.path.rsplit("/", 1)[-1] in VCS_FOLDERS:
                continue
        elif rules.ignored(entry.path, is_dir):
            continue
        yield entry
        if is_dir and (depth is None or entry.depth < depth):
            stack.append(_entries(top / entry.path, f"{entry.path}/", entry.depth + 1))


def _entries(folder: Path, prefix: str, depth: int) -> Iterator[Entry]:
    found = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found.append((entry.name, _kind(entry)))
    return iter([Entry(prefix + name, depth, kind) for name, kind in sorted(found)])


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "dir"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _read_lines(path: Path) -> list[str]:
    """Lines of an ignore file; none where it is missing, unreadable, no regular file, or far too large."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_IGNORE_FILE:
            return []
        text = path.read_bytes().decode("utf-8-sig", "replace")
        return [line.removesuffix("\r") for line in text.split("\n")]
    except OSError:
        return []
