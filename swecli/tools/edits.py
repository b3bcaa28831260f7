"""A change to one file: exact-match edits, planned and shown, then made only if the file is still what it was."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from swecli.models.message import Display, ToolResult
from swecli.tools.base import Params, ToolContext, ToolError, ToolPlan
from swecli.tools.files import TextFile, decode, digest, printable, read_bytes, write_atomic
from swecli.tools.limits import visible
from swecli.tools.near_miss import hint
from swecli.tools.paths import relative, shown, write_guard


class Edit(Params):
    """One replacement; the texts' line ends do not matter, those of the file are kept."""

    old_text: str = Field(description="The exact text to replace, white space included, without line numbers.")
    new_text: str = Field(description="What stands there afterwards.")
    replace_all: bool = Field(False, description="Replace every occurrence instead of the only one.")


def apply_edits(file: TextFile, edits: Sequence[Edit], *, hints: bool = True) -> str:
    """The file's text after the edits, in order, all of them or none; the rest stays byte for byte, mixed line ends
    included. Without `hints` a failure shows nothing of the file. Raises ToolError: an edit does not match, or more
    than once."""
    text = file.text
    for number, edit in enumerate(edits, start=1):
        which = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
        try:
            text = _apply(text, edit, file.newline, hints)
        except ToolError as error:
            after = " Edits before it were tried first." if number > 1 else ""
            raise ToolError(f"{which}{error}\nNothing was changed.{after}") from error
    return text


def _apply(text: str, edit: Edit, newline: str, hints: bool) -> str:
    old, new = _unix(edit.old_text), _unix(edit.new_text)
    if not old:
        raise ToolError("old_text is empty. Give the text to replace, or use write_file for the whole file.")
    if old == new:
        raise ToolError("old_text and new_text are the same.")
    plain = _unix(text)
    starts = _starts(plain, old, overlapping=not edit.replace_all)
    if not starts:
        raise ToolError(hint(plain, old, new) if hints else "old_text is not in the file.")
    if len(starts) > 1 and not edit.replace_all:
        lines = [plain.count("\n", 0, start) + 1 for start in starts]
        raise ToolError(
            f"old_text is there {len(starts)} times, at lines {_listed(lines)}. "
            "Add the lines around it until it is unique, or set replace_all."
        )
    return _replace(text, starts, len(old), edit.new_text if not newline else new.replace("\n", newline))


def _replace(text: str, starts: list[int], length: int, new: str) -> str:
    """Replace stretches given in positions of the text with plain line ends."""
    # where, in that text, line ends stand that are two letters here: each one before a position moves it by one
    pairs = [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))]
    pieces, done = [], 0
    for start in starts:
        pieces += [text[done : start + bisect_left(pairs, start)], new]
        done = start + length + bisect_left(pairs, start + length)
    return "".join([*pieces, text[done:]])


def _starts(text: str, old: str, *, overlapping: bool) -> list[int]:
    found, at = [], text.find(old)
    while at >= 0:
        found.append(at)
        at = text.find(old, at + (1 if overlapping else len(old)))
    return found


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _listed(lines: list[int], most: int = 10) -> str:
    shown = ", ".join(str(line) for line in lines[:most])
    return shown if len(lines) <= most else f"{shown} and {len(lines) - most} more"


@dataclass(frozen=True, slots=True)
class _FileChange:
    """The bytes a file is to get, and the digest of those it had when this was shown (None: there was no file)."""

    path: Path
    shown: str
    base: str | None
    data: bytes
    diff: _Diff


def read_base(ctx: ToolContext, path: Path, *, must_be_seen: bool) -> tuple[TextFile, str]:
    """The text of the file to change and its digest. Raises ToolError: it changed since it was read, was never read
    though it must be, or is no text."""
    data = read_bytes(ctx.root, path)
    name = shown(ctx.root, path)
    base = digest(data)
    seen = ctx.seen.get(path)
    if seen is None and must_be_seen:
        raise ToolError(f"{name} exists and was not read yet. Read it first with read_file, then write it.")
    if seen is not None and seen != base:
        raise ToolError(f"{name} changed since it was read. Read it again with read_file, then change it.")
    file = decode(data)
    if file is None:
        raise ToolError(f"{name} is a binary file. Only text can be changed here.")
    return file, base


def plan_change(
    ctx: ToolContext, path: Path, old: TextFile | None, base: str | None, data: bytes, verb: str
) -> ToolPlan:
    """The plan that shows the whole change as a diff and holds what will be written."""
    subject, name = relative(ctx.root, path), shown(ctx.root, path)
    new = decode(data)
    if new is None:
        raise ToolError("The content holds NUL characters: this would be a binary file. Nothing was written.")
    before, after = (old.text if old else None), new.text
    if old is not None and old.newline == new.newline == "\r\n":
        # line ends that stay as they are would only be noise at every line
        before, after = old.text.replace("\r\n", "\n"), new.text.replace("\r\n", "\n")
    diff = unified(name, before, after)
    preview = Display(title=name, body=visible(printable(diff.text)), kind="diff")
    return ToolPlan(
        summary=f"{verb} {name} ({diff.counts})",
        preview=preview,
        state=_FileChange(path, name, base, data, diff),
        session_label="all changes to files in this workspace",
        session_rule="edit(**)",
        subject=subject,
        guard=write_guard(subject),
    )


def make_change(ctx: ToolContext, plan: ToolPlan, done: str) -> ToolResult:
    """Write what was shown, record it as seen, and report it to both readers. Raises ToolError if the file changed."""
    change: _FileChange = plan.state
    write_atomic(ctx.root, change.path, change.data, change.base)
    ctx.seen[change.path] = digest(change.data)
    places = [f"{first}-{last}" if last > first else str(first) for first, last in change.diff.changed[:20]]
    where = f" Changed lines, as they are numbered now: {', '.join(places)}." if change.base and places else ""
    text = f"{done} {change.shown} ({change.diff.counts}).{where}"
    return ToolResult(ok=True, for_model=text, for_user=plan.preview)


_CONTEXT = 3
# Beyond this many differing lines a minimal diff takes too long: the whole stretch is shown as replaced.
_MAX_COMPARED = 6000


@dataclass(frozen=True, slots=True)
class _Diff:
    """A unified diff, with the number of lines added and removed, and (first, last) new lines of each hunk's change."""

    text: str
    added: int
    removed: int
    changed: tuple[tuple[int, int], ...]

    @property
    def counts(self) -> str:
        """ "+3 −1", with only what is there."""
        both = [f"+{self.added}" if self.added else "", f"−{self.removed}" if self.removed else ""]
        return " ".join(part for part in both if part) or "±0"


def unified(path: str, old: str | None, new: str) -> _Diff:
    """The diff from `old` (None: there was no file) to `new`, with three lines of context."""
    before, after = _lines(old or ""), _lines(new)
    groups = _groups(before, after)
    out = ["--- /dev/null\n" if old is None else f"--- a/{path}\n", f"+++ b/{path}\n"]
    for group in groups:
        out.extend(_hunk(group, before, after))
    real = [code for group in groups for code in group if code[0] != "equal"]
    return _Diff(
        text="".join(out) if real else "",
        added=sum(j2 - j1 for _, _, _, j1, j2 in real),
        removed=sum(i2 - i1 for _, i1, i2, _, _ in real),
        changed=tuple((j1 + 1, max(j2, j1 + 1)) for _, _, _, j1, j2 in real),
    )


_Code = tuple[str, int, int, int, int]


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    whole = [part + "\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def _groups(before: list[str], after: list[str]) -> list[list[_Code]]:
    """Opcodes in groups with their context, as difflib gives them; what is equal at both ends is left off before,
    which makes large files cheap."""
    if before == after:
        return []
    most = min(len(before), len(after))
    head = next((i for i in range(most) if before[i] != after[i]), most)
    tail = next((i for i in range(most - head) if before[-1 - i] != after[-1 - i]), most - head)
    large = max(len(before), len(after)) - head - tail > _MAX_COMPARED
    start, rest = max(0, head - _CONTEXT), tail if large else max(0, tail - _CONTEXT)
    left, right = before[start : len(before) - rest], after[start : len(after) - rest]
    # where all lines are junk, only what both begin with is found
    matcher = difflib.SequenceMatcher((lambda _: True) if large else None, left, right, autojunk=len(left) > 1000)
    groups = matcher.get_grouped_opcodes(_CONTEXT)
    return [[(tag, i1 + start, i2 + start, j1 + start, j2 + start) for tag, i1, i2, j1, j2 in g] for g in groups]


def _hunk(group: list[_Code], before: list[str], after: list[str]) -> Iterator[str]:
    old, new = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])
    yield f"@@ -{_range(*old)} +{_range(*new)} @@\n"
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            yield from (_line(" ", line) for line in before[i1:i2])
            continue
        yield from (_line("-", line) for line in before[i1:i2])
        yield from (_line("+", line) for line in after[j1:j2])


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
