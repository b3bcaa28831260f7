"""Parse unified diffs, and decide which files a review skips: lock files, generated, vendored and binary ones."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from itertools import groupby

from swecli.models.review_events import SkippedFile
from swecli.review.file_kinds import matches_kind
from swecli.review.judge.sources import Before, Source, Sources
from swecli.tools.files import digest
from swecli.values import dataclass

_HUNK = re.compile(
    r"@@ -(?P<old>\d+)(?:,(?P<removed>\d+))? \+(?P<start>\d+)(?:,(?P<count>\d+))? @@"
)
_NAMES = ("--- ", "+++ ", "rename from ", "rename to ")
_REMOVED_OTHERS = ("deleted file mode 120000", "deleted file mode 160000")
ATTRIBUTES = ("linguist-generated", "linguist-vendored", "diff")
MAX_LINE = 5_000  # characters; longer lines are minified or generated
LONG_LINE = f"a line over {MAX_LINE:,} characters"
_INCLUDABLE = {"lock", "generated", "vendored", "marked -diff", LONG_LINE}
_MAX_HEADER = 2_048  # characters in which a generated file is expected to be marked as such
_GENERATED = re.compile(
    r"generated\b.{0,200}?do not edit|do not edit.{0,200}?\bgenerated", re.IGNORECASE | re.DOTALL
)

# sign, line number in the new file, text; a removed line has the next line's number, in a file of which nothing is left
# its own
Row = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """The diff of one file. `status` says what happened to it as a whole (deleted, binary, submodule, ...), or is "";
    `is_new` is true of a file that the change adds."""

    path: str
    old_path: str = ""
    hunks: tuple[tuple[Row, ...], ...] = ()
    status: str = ""
    is_new: bool = False

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all hunks."""
        return tuple(row for hunk in self.hunks for row in hunk)

    @property
    def lines(self) -> set[int]:
        """The numbers of all lines of the new file that the diff shows."""
        return {number for sign, number, _ in self.rows if sign != "-"}

    @property
    def is_gone(self) -> bool:
        """Whether the change removes all lines of the file: a change that keeps some shows those around it."""
        return bool(self.hunks) and all(sign == "-" for sign, _, _ in self.rows)

    def undo(self, lines: Sequence[str]) -> tuple[str, ...]:
        """Return the lines of the file before the change; `lines` are those after it."""
        return tuple(text for _, _, text in self._undo_rows(lines))

    def before(self, lines: Sequence[str]) -> Before:
        """Return the file before the change; `lines` are those after it."""
        rows = self._undo_rows(lines)
        old = tuple(text for _, _, text in rows)
        present_lines = tuple(number for _, number, _ in rows)
        removed = frozenset(line for line, (sign, _, _) in enumerate(rows, 1) if sign == "-")
        content = "\n".join(old).encode("utf-8", "surrogatepass")
        source = Source(self.path, old, digest(content))
        added = frozenset(line for sign, line, _ in self.rows if sign == "+")
        return Before(source, present_lines, removed, self.is_gone, added)

    def _undo_rows(self, lines: Sequence[str]) -> list[Row]:
        """Return the lines before the change as rows of unchanged and removed ones."""
        old: list[Row] = []
        last = 0  # the last line of the new file that was taken or left out
        for sign, number, text in self.rows:
            unchanged = number - 1 if sign != " " else number
            old += _unchanged_rows(lines, last, unchanged)
            last = max(last, unchanged)
            if sign == "-":
                old.append((sign, number, text))
            elif sign == "+":
                last = number
        return [*old, *_unchanged_rows(lines, last, len(lines))]


def _unchanged_rows(lines: Sequence[str], last: int, end: int) -> list[Row]:
    """Return the rows of the lines after line `last`, up to line `end`."""
    return [(" ", number, text) for number, text in enumerate(lines[last:end], last + 1)]


def planned_lines(rows: Iterable[Row]) -> set[int]:
    """Return the lines to review: the added ones, and one for each place where lines were only removed."""
    lines: set[int] = set()
    for is_change, group in groupby(rows, key=lambda row: row[0] != " "):
        changed_lines = list(group) if is_change else []
        added = {number for sign, number, _ in changed_lines if sign == "+"}
        lines |= added or {max(1, number) for _, number, _ in changed_lines[:1]}
    return lines


def parse_diff(text: str) -> list[FileDiff]:
    """Parse the output of `git diff`, in its order. Names with control characters stay quoted."""
    files = re.split(r"^(?=diff --git |\* Unmerged path )", text, flags=re.M)
    return [_parse_file(file) for file in files if file.strip()]


def _parse_file(text: str) -> FileDiff:
    header = text.split("\n@@", 1)[0].split("\n")
    if header[0].startswith("* Unmerged path "):
        return FileDiff(header[0].removeprefix("* Unmerged path "), status="conflict")
    names = {
        key: line[len(key) :].rstrip("\t")
        for line in header
        for key in _NAMES
        if line.startswith(key)
    }
    path = names.get("+++ ", "").removeprefix("b/") or names.get("rename to ", "")
    if path == "/dev/null":
        path = names.get("--- ", "").removeprefix("a/")
    elif not path:  # only its mode changed, or it is binary: "a/NAME b/NAME"
        paths = header[0].removeprefix("diff --git ")
        path = paths[len(paths) // 2 + 3 :]
    # a removed link or submodule has its target as text
    is_text = not any(line in _REMOVED_OTHERS for line in header)
    hunks = parse_hunks(text) if is_text else ()
    old_path = names.get("rename from ", "")
    status = _status_of(header, has_hunks=bool(hunks), is_renamed=bool(old_path))
    is_new = any(line.startswith("new file mode") for line in header)
    return FileDiff(path, old_path, hunks, status, is_new)


def _status_of(header: list[str], *, has_hunks: bool, is_renamed: bool) -> str:
    """Return why a file of a diff has no lines to read, by the lines before its hunks; "" if it has."""
    if any(line.startswith("deleted file mode") for line in header):
        return "deleted"
    if any(line.startswith(("Binary files", "GIT binary patch")) for line in header):
        return "binary"
    if any(line.endswith(" 160000") for line in header):
        return "submodule"
    if has_hunks:
        return ""
    if is_renamed:
        return "only renamed"
    return "empty or only a new mode" if any(" mode " in line for line in header) else ""


def parse_hunks(patch: str) -> tuple[tuple[Row, ...], ...]:
    """Parse the hunks of one file's patch."""
    hunks: list[list[Row]] = []
    number = 0
    new_left = 0
    old_left = 0
    for line in patch.removesuffix("\n").split("\n"):
        if new_left or old_left:
            sign = line[:1] or " "
            if sign in " +-":
                hunks[-1].append((sign, number, line[1:]))
                number += sign != "-"
                new_left -= sign != "-"
                old_left -= sign != "+"
        elif match := _HUNK.match(line):
            hunks.append([])
            new_left = int(match["count"] or 1)
            old_left = int(match["removed"] or 1)
            # an empty range starts at the line before it
            number = int(match["start"]) + (not new_left)
    if all(sign == "-" for rows in hunks for sign, _, _ in rows):
        # of a file of which nothing is left, the removed lines, which are one hunk, have their own numbers
        hunks = [
            [(sign, number, text) for number, (sign, _, text) in enumerate(rows, 1)]
            for rows in hunks
        ]
    return tuple(tuple(rows) for rows in hunks if rows)


def is_included(path: str, include: Sequence[str]) -> bool:
    """Return whether a path matches a pattern, or is below a folder, of `--include`."""
    return any(
        fnmatch(path, pattern) or path.startswith(f"{pattern.rstrip('/')}/") for pattern in include
    )


def skip_rule(
    diff: FileDiff, sources: Sources, attributes: Mapping[str, str], include: Sequence[str]
) -> str:
    """Return the rule that skips a file by its status, name, git attributes or text, or "". A deleted text is read.
    Attributes override names in both directions; `include` patterns override the rules of `_INCLUDABLE`. Added lines do
    not count, so that a change can hide neither itself nor a file that it adds."""
    path = diff.path
    is_wanted = is_included(path, include)
    # a change may declare its own text binary
    if diff.status not in ("", "binary") and not diff.is_gone:
        return diff.status
    if sources.barrier(path):
        return "sensitive"
    if matches_kind(path, "binary"):
        return "binary"
    rule = "" if is_wanted else _rule_by_mark(path, attributes)
    if rule:
        return rule
    if (sources.root / path).is_symlink():
        return "link"
    source = sources.get(path)
    if source.hash and source.problem:
        return "binary"
    if is_wanted:
        return ""
    return _rule_by_text(diff, source, may_be_generated=not _is_denied(attributes, "generated"))


def _rule_by_mark(path: str, attributes: Mapping[str, str]) -> str:
    """Return the rule that skips a file by its git attributes or, where these are silent, by its name."""
    if attributes.get("diff") == "unset":
        return "marked -diff"
    for rule in ("lock", "generated", "vendored"):
        if attributes.get(f"linguist-{rule}", "") in ("set", "true"):
            return rule
        if matches_kind(path, rule) and not _is_denied(attributes, rule):
            return rule
    return ""


def _is_denied(attributes: Mapping[str, str], rule: str) -> bool:
    """Return whether the repository says that a file is none of that kind."""
    return attributes.get(f"linguist-{rule}", "") in ("unset", "false")


def _rule_by_text(diff: FileDiff, source: Source, *, may_be_generated: bool) -> str:
    """Return the rule that skips a file by those of its lines that the change has not added, or by those of a file of
    which it leaves nothing."""
    if diff.is_new:
        return ""
    added = {number for sign, number, _ in diff.rows if sign == "+"}
    lines = [line for number, line in enumerate(source.lines, 1) if number not in added]
    if diff.is_gone:
        lines = [text for _, _, text in diff.rows]
    if any(len(line) > MAX_LINE for line in lines):
        return LONG_LINE
    header = "\n".join(lines[:80])[:_MAX_HEADER]
    return "generated" if may_be_generated and _GENERATED.search(header) else ""


def format_skips(skips: Iterable[SkippedFile]) -> str:
    """Return `12 skipped: 3 lock, 4 generated` with how to include them; "" without any."""
    counts = Counter(skip.rule for skip in skips)
    listed = ", ".join(f"{count} {rule}" for rule, count in counts.most_common())
    more = "; --include PATTERN brings them back" if counts.keys() & _INCLUDABLE else ""
    return f"{counts.total()} skipped: {listed}{more}" if counts else ""
