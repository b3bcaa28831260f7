"""A unified diff taken apart: which files, which lines of the new side, and what cannot be reviewed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_HUNK = re.compile(r"@@ -(?P<old>\d+)(?:,(?P<went>\d+))? \+(?P<start>\d+)(?:,(?P<count>\d+))? @@(?P<name>.*)")
_HEADER = re.compile(r'diff --git "?a/(?P<old>.*?)"? "?b/(?P<new>.*?)"?$')
_ESCAPED = re.compile(rb"\\([abfnrtv\"\\]|[0-7]{3})")
_LETTERS = {b"a": 7, b"b": 8, b"f": 12, b"n": 10, b"r": 13, b"t": 9, b"v": 11}


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """One hunk: `rows` are (sign, number in the new side, text); lines that went have the number they went before."""

    rows: tuple[tuple[str, int, str], ...]
    name: str = ""

    def planned(self) -> set[int]:
        """What a review has to read: the added lines, and one for each place where lines only went."""
        lines: set[int] = set()
        run: list[tuple[str, int]] = []
        for sign, number, _ in (*self.rows, (" ", 0, "")):
            if sign != " ":
                run.append((sign, number))
                continue
            added = {n for mark, n in run if mark == "+"}
            lines |= added or {max(1, n) for _, n in run[:1]}
            run = []
        return lines


@dataclass(slots=True)
class FileDiff:
    """One file of a diff. `lines` are those of the new side that stand in a hunk (added or context), from 1;
    `added` the changed ones among them. `what` says why there is nothing to read: deleted, binary, renamed,
    submodule, conflict; "" where there is."""

    path: str
    text: str = ""
    old_path: str = ""
    hunks: list[DiffHunk] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)
    added: set[int] = field(default_factory=set)
    what: str = ""


def parse_diff(text: str) -> list[FileDiff]:
    """The files of `git diff` output, in order."""
    return [_file(part) for part in re.split(r"^(?=diff --git |\* Unmerged path )", text, flags=re.M) if part.strip()]


def _file(part: str) -> FileDiff:
    head = part.split("\n@@", 1)[0].split("\n")
    if head[0].startswith("* Unmerged path "):
        return FileDiff(head[0].removeprefix("* Unmerged path "), part, what="conflict")
    match = _HEADER.match(head[0])
    named = next((line[4:] for line in head if line.startswith("+++ ")), "")
    old = next((line[4:] for line in head if line.startswith("--- ")), "")
    renamed = {word: line for line in head for word in ("rename from ", "rename to ") if line.startswith(word)}
    path = _unquoted(named, "b/") or _unquoted(renamed.get("rename to ", "").removeprefix("rename to "), "")
    path = path or (_unquoted(f'"{match["new"]}"' if '"' in head[0] else match["new"], "") if match else head[0])
    if path == "/dev/null" or named == "/dev/null":
        path = _unquoted(old, "a/")
    file = FileDiff(path, part, _unquoted(renamed.get("rename from ", "").removeprefix("rename from "), ""))
    read_hunks(part, file)
    file.what = _what(head, file)
    return file


def _what(head: list[str], file: FileDiff) -> str:
    if any(line.startswith("deleted file mode") for line in head):
        return "deleted"
    if any(line.startswith(("Binary files", "GIT binary patch")) for line in head):
        return "binary"
    if any(line.endswith(" 160000") or line.startswith("new file mode 160000") for line in head):
        return "a submodule"
    if not file.hunks and file.old_path:
        return f"renamed from {file.old_path}, otherwise unchanged"
    return "" if file.hunks or not any(" mode " in line for line in head) else "empty, or only its mode changed"


def _unquoted(name: str, prefix: str) -> str:
    """A path of a header; git quotes those with odd letters as C does."""
    name = name.rstrip("\t")
    if len(name) > 1 and name[0] == name[-1] == '"':
        raw = name[1:-1].encode("utf-8", "surrogateescape")
        made = _ESCAPED.sub(lambda m: bytes([_LETTERS[m[1]] if m[1] in _LETTERS else _octal(m[1])]), raw)
        name = made.decode("utf-8", "replace")
    return name.removeprefix(prefix)


def _octal(text: bytes) -> int:
    return int(text, 8) & 255 if text.isdigit() else text[0]


def read_hunks(patch: str, file: FileDiff) -> None:
    """Note the hunks of a patch (the shape GitHub gives for one file, too)."""
    for hunk in _hunks(patch):
        file.hunks.append(hunk)
        file.lines |= {number for sign, number, _ in hunk.rows if sign != "-"}
        file.added |= {number for sign, number, _ in hunk.rows if sign == "+"}


def _hunks(patch: str) -> Iterator[DiffHunk]:
    rows: list[tuple[str, int, str]] = []
    name, number, left, went = "", 0, 0, 0
    for line in patch.removesuffix("\n").split("\n"):
        if not (left or went):
            if rows:
                yield DiffHunk(tuple(rows), name)
                rows = []
            if match := _HUNK.match(line):
                number, left, went = int(match["start"]), int(match["count"] or 1), int(match["went"] or 1)
                name = match["name"].strip()
                number += not left  # where nothing is left the start is the line before
            continue
        sign = line[:1] or " "
        if sign not in " +-":
            continue
        rows.append((sign, number, line[1:]))
        number, left, went = number + (sign != "-"), left - (sign != "-"), went - (sign != "+")
    if rows:
        yield DiffHunk(tuple(rows), name)
