"""Unified diffs, and hints for the model when the text that it wants to replace is not in the file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

_CONTEXT = 3
_MAX_COMPARED = 6000  # lines; a minimal diff of more takes too long, so the whole range is shown as replaced


@dataclass(frozen=True, slots=True)
class _Diff:
    """A unified diff. `added` and `removed` count lines; `changed` has (first, last) new lines of each change."""

    text: str
    added: int
    removed: int
    changed: tuple[tuple[int, int], ...]

    @property
    def counts(self) -> str:
        """A text like "+3 −1", without zeros."""
        both = [f"+{self.added}" if self.added else "", f"−{self.removed}" if self.removed else ""]
        return " ".join(part for part in both if part) or "±0"


def unified_diff(path: str, old: str | None, new: str) -> _Diff:
    """Return the diff from `old` (None for a new file) to `new`, with three lines of context."""
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
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _groups(before: list[str], after: list[str]) -> list[list[_Code]]:
    """Return difflib's grouped opcodes. Equal lines at both ends are cut off first, which makes large files cheap."""
    if before == after:
        return []
    most = min(len(before), len(after))
    head = next((i for i in range(most) if before[i] != after[i]), most)
    tail = next((i for i in range(most - head) if before[-1 - i] != after[-1 - i]), most - head)
    large = max(len(before), len(after)) - head - tail > _MAX_COMPARED
    start, rest = max(0, head - _CONTEXT), tail if large else max(0, tail - _CONTEXT)
    left, right = before[start : len(before) - rest], after[start : len(after) - rest]
    # if all lines are junk, difflib only finds the common start
    matcher = difflib.SequenceMatcher((lambda _: True) if large else None, left, right, autojunk=len(left) > 1000)
    groups = matcher.get_grouped_opcodes(_CONTEXT)
    return [[(tag, i1 + start, i2 + start, j1 + start, j2 + start) for tag, i1, i2, j1, j2 in g] for g in groups]


def _hunk(group: list[_Code], before: list[str], after: list[str]) -> Iterator[str]:
    old, new = (group[0][1], group[-1][2]), (group[0][3], group[-1][4])
    yield f"@@ -{_range(*old)} +{_range(*new)} @@\n"
    for tag, i1, i2, j1, j2 in group:
        yield from (_line(" " if tag == "equal" else "-", line) for line in before[i1:i2])
        yield from (_line("+", line) for line in after[j1:j2] if tag != "equal")


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


_SHOWN_LINES = 12
_MAX_LINE = 160  # characters
_MAX_LINES = 10_000
_MAX_PLACES = 20
_MAX_WANTED = 200  # lines
_MIN_SIMILARITY = 0.6
_NUMBERED = re.compile(r"^\s*\d+(\t|: ?| *\|)")
_ENDS = re.compile(r"^[ \t]+|[ \t]+$")


def explain_mismatch(text: str, old: str, new: str) -> str:
    """Return, as lines for the model, why `old` is not in `text`. Both must have normalized line ends."""
    notes = ["old_text is not in the file."]
    wanted = old.strip("\n").split("\n")
    if all(_NUMBERED.match(line) for line in wanted if line.strip()) and old.strip():
        notes.append("It seems to hold the line numbers of read_file: leave them out.")
        wanted = [_NUMBERED.sub("", line, count=1) for line in wanted]
    if new.strip() and new in text:
        notes.append(f"new_text is already there, at line {text.count(chr(10), 0, text.index(new)) + 1}.")
    if "\\n" in old and old.replace("\\n", "\n") in text:
        notes.append("It holds backslash-n where the file has line ends.")
    lines = text.split("\n")[:_MAX_LINES]
    place = _closest(lines, wanted[:_MAX_WANTED]) if old.strip() else None
    notes.append(
        _describe_place(lines, wanted, *place) if place else "Nothing in the file looks like it. Read the file again."
    )
    return "\n".join(notes)


def _closest(lines: list[str], wanted: list[str]) -> tuple[int, float] | None:
    """Return the index of the first line of the place most similar to `wanted`, and the similarity (0 to 1). Candidates
    are found by the longest line, then compared as a whole. Case and white space around lines are ignored."""
    anchor = max(range(len(wanted)), key=lambda i: len(wanted[i].strip()))
    lines, wanted = ([line.strip().casefold() for line in some] for some in (lines, wanted))
    stripped = [line[:_MAX_LINE] for line in lines]
    near = difflib.get_close_matches(wanted[anchor][:_MAX_LINE], stripped, n=3, cutoff=_MIN_SIMILARITY)
    best, at = 0.0, 0
    whole = "\n".join(wanted)[:4000]
    for place in [max(0, index - anchor) for index, line in enumerate(stripped) if line in near][:_MAX_PLACES]:
        there = "\n".join(lines[place : place + len(wanted)])[:4000]
        score = difflib.SequenceMatcher(None, whole, there, autojunk=False).ratio()
        if score > best:
            best, at = score, place
    return (at, best) if best >= _MIN_SIMILARITY else None


def _describe_place(lines: list[str], wanted: list[str], start: int, similarity: float) -> str:
    there = lines[start : start + len(wanted)]
    end = start + len(there)
    head = f"Closest: line {start + 1}" if len(there) == 1 else f"Closest: lines {start + 1}-{end}"
    what = "only white space or case differs" if similarity == 1 else f"{similarity:.0%} alike"
    out = [f"{head} ({what}). The file has:"]
    out += [f"{start + 1 + i:>6}\t{_truncate(line)}" for i, line in enumerate(there[:_SHOWN_LINES])]
    if len(there) > _SHOWN_LINES:
        out.append(f"   … {len(there) - _SHOWN_LINES} more lines")
    pairs = zip(there, wanted, strict=False)
    index = next((i for i, (has, want) in enumerate(pairs) if has != want), None)
    if index is not None:
        out.append(f"First difference, at line {start + 1 + index}:")
        out.append(f"  file:     {_truncate(_show_blanks(there[index]))}")
        out.append(f"  old_text: {_truncate(_show_blanks(wanted[index]))}")
    return "\n".join(out)


def _show_blanks(line: str) -> str:
    """Return a line with visible characters for the white space at its ends."""
    return _ENDS.sub(lambda ends: ends[0].replace("\t", "→").replace(" ", "·"), line)


def _truncate(line: str) -> str:
    return line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 1] + "…"
