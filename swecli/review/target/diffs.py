"""A unified diff taken apart: which files, which lines of the new side; and which files a review leaves out, by which
rule: lock files, generated and vendored code, what nobody wrote by hand."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch, translate
from itertools import groupby
from pathlib import Path

from swecli.models.review_events import SkippedFile

_HUNK = re.compile(r"@@ -(?P<old>\d+)(?:,(?P<went>\d+))? \+(?P<start>\d+)(?:,(?P<count>\d+))? @@(?P<name>.*)")
_NAMES = ("--- ", "+++ ", "rename from ", "rename to ")
_HEADER = re.compile(r'diff --git "?a/(?P<old>.*?)"? "?b/(?P<new>.*?)"?$')
ATTRIBUTES = ("linguist-generated", "linguist-vendored", "diff")
_LONGEST_LINE = 5_000  # letters; no hand writes such a line
_HEAD = 2_048  # letters at the beginning in which generated files say so
_SAYS_SO = re.compile(r"generated\b.{0,200}?do not edit|do not edit.{0,200}?\bgenerated", re.IGNORECASE | re.DOTALL)
_NAMED = {
    kind: re.compile("|".join(map(translate, patterns.split())))
    for kind, patterns in tomllib.loads(Path(__file__).with_name("files.toml").read_text("utf-8")).items()
}


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """One hunk: `rows` are (sign, number in the new side, text); lines that went have the number they went before."""

    rows: tuple[tuple[str, int, str], ...]
    name: str = ""

    def planned(self) -> set[int]:
        """What a review has to read: the added lines, and one for each place where lines only went."""
        lines: set[int] = set()
        for changed, group in groupby(self.rows, key=lambda row: row[0] != " "):
            run = list(group) if changed else []
            lines |= {number for sign, number, _ in run if sign == "+"} or {max(1, number) for _, number, _ in run[:1]}
        return lines


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file of a diff. `what` says why there is nothing to read: deleted, binary, renamed, submodule, conflict; ""
    where there is."""

    path: str
    old_path: str = ""
    hunks: tuple[DiffHunk, ...] = ()
    what: str = ""

    @property
    def lines(self) -> set[int]:
        return {number for hunk in self.hunks for sign, number, _ in hunk.rows if sign != "-"}


def parse_diff(text: str) -> list[FileDiff]:
    """The files of `git diff` output, in order."""
    return [_file(part) for part in re.split(r"^(?=diff --git |\* Unmerged path )", text, flags=re.M) if part.strip()]


def _file(part: str) -> FileDiff:
    head = part.split("\n@@", 1)[0].split("\n")
    if head[0].startswith("* Unmerged path "):
        return FileDiff(head[0].removeprefix("* Unmerged path "), what="conflict")
    named = {key: _unquoted(line[len(key) :]) for line in head for key in _NAMES if line.startswith(key)}
    path = named.get("+++ ", "").removeprefix("b/") or named.get("rename to ", "")
    if path == "/dev/null":
        path = named.get("--- ", "").removeprefix("a/")
    elif not path:  # only its mode changed, or it is binary
        match = _HEADER.match(head[0])
        path = _unquoted(f'"{match["new"]}"' if '"' in head[0] else match["new"]) if match else head[0]
    hunks, old_path = parse_hunks(part), named.get("rename from ", "")
    return FileDiff(path, old_path, hunks, _what(head, hunks, old_path))


def _what(head: list[str], hunks: tuple[DiffHunk, ...], old_path: str) -> str:
    if any(line.startswith("deleted file mode") for line in head):
        return "deleted"
    if any(line.startswith(("Binary files", "GIT binary patch")) for line in head):
        return "binary"
    if any(line.endswith(" 160000") for line in head):
        return "a submodule"
    if not hunks and old_path:
        return f"renamed from {old_path}, otherwise unchanged"
    return "" if hunks or not any(" mode " in line for line in head) else "empty, or only its mode changed"


def _unquoted(name: str) -> str:
    """A name of a header; git quotes those with odd letters as C does."""
    name = name.rstrip("\t")
    if len(name) < 2 or name[0] != '"' or name[-1] != '"':
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape").decode("unicode_escape").encode("latin-1")
    return raw.decode("utf-8", "replace")


def parse_hunks(patch: str) -> tuple[DiffHunk, ...]:
    """The hunks of a patch (the shape GitHub gives for one file, too)."""
    out: list[tuple[str, list[tuple[str, int, str]]]] = []
    number, left, went = 0, 0, 0
    for line in patch.removesuffix("\n").split("\n"):
        if left or went:
            sign = line[:1] or " "
            if sign in " +-":
                out[-1][1].append((sign, number, line[1:]))
                number, left, went = number + (sign != "-"), left - (sign != "-"), went - (sign != "+")
        elif match := _HUNK.match(line):
            out.append((match["name"].strip(), []))
            left, went = int(match["count"] or 1), int(match["went"] or 1)
            number = int(match["start"]) + (not left)  # where nothing is left the start is the line before
    return tuple(DiffHunk(tuple(rows), name) for name, rows in out if rows)


def matches_kind(path: str, kind: str) -> bool:
    """Whether a file's name is that of a kind in `files.toml`."""
    return _NAMED[kind].match(f"/{path.lower()}") is not None


def skip_rule_for_path(path: str, attributes: Mapping[str, str], include: Sequence[str]) -> str:
    """The rule by which a file is skipped for its name or attributes, "" where it is not. Attributes are those of the
    base commit and win both ways; `include` patterns bring back what can be read."""
    if matches_kind(path, "binary"):
        return "binary"
    if any(fnmatch(path, pattern) or path.startswith(f"{pattern.rstrip('/')}/") for pattern in include):
        return ""
    if attributes.get("diff") == "unset":
        return "marked -diff"
    for rule in ("lock", "generated", "vendored"):
        marked = attributes.get(f"linguist-{rule}", "")
        if marked in ("set", "true") or (matches_kind(path, rule) and marked not in ("unset", "false")):
            return rule
    return ""


def skip_rule_for_text(lines: Sequence[str], attributes: Mapping[str, str]) -> str:
    """The rule by which a file is skipped for what it holds, "" where it is not."""
    if any(len(line) > _LONGEST_LINE for line in lines):
        return f"a line over {_LONGEST_LINE:,} characters"
    kept = attributes.get("linguist-generated") in ("unset", "false")
    return "generated" if not kept and _SAYS_SO.search("\n".join(lines[:80])[:_HEAD]) else ""


def format_skips(skips: Iterable[SkippedFile]) -> str:
    """`12 skipped: 3 lock, 4 generated, 5 vendored`, and what brings them back; "" without any."""
    counts = Counter(skip.rule for skip in skips)
    listed = ", ".join(f"{count} {rule}" for rule, count in counts.most_common())
    more = "; --include PATTERN brings them back" if counts.keys() - {"binary", "link"} else ""
    return f"{counts.total()} skipped: {listed}{more}" if counts else ""
