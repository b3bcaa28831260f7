"""A hint for the model when the text it wants to replace is not in the file: where it almost is, and what differs."""

from __future__ import annotations

import difflib
import re

_SHOWN_LINES = 12
_MAX_LINE = 160
_MAX_LINES = 10_000
_MAX_PLACES = 20
_MAX_WANTED = 200
_ALIKE = 0.6
_NUMBERED = re.compile(r"^\s*\d+(\t|: ?| *\|)")
_ENDS = re.compile(r"^[ \t]+|[ \t]+$")


def hint(text: str, old: str, new: str) -> str:
    """Why `old` was not found in `text` (both with plain line ends), as lines for the model."""
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
    notes.append(_shown(lines, wanted, *place) if place else "Nothing in the file looks like it. Read the file again.")
    return "\n".join(notes)


def _closest(lines: list[str], wanted: list[str]) -> tuple[int, float] | None:
    """Index of the first line of the place most like `wanted`, found by its longest line, then compared as a whole, and
    how alike they are; white space around lines and case do not count."""
    anchor = max(range(len(wanted)), key=lambda i: len(wanted[i].strip()))
    lines, wanted = ([line.strip().casefold() for line in some] for some in (lines, wanted))
    stripped = [line[:_MAX_LINE] for line in lines]
    near = difflib.get_close_matches(wanted[anchor][:_MAX_LINE], stripped, n=3, cutoff=_ALIKE)
    best, at = 0.0, 0
    whole = "\n".join(wanted)[:4000]
    for place in [max(0, index - anchor) for index, line in enumerate(stripped) if line in near][:_MAX_PLACES]:
        there = "\n".join(lines[place : place + len(wanted)])[:4000]
        score = difflib.SequenceMatcher(None, whole, there, autojunk=False).ratio()
        if score > best:
            best, at = score, place
    return (at, best) if best >= _ALIKE else None


def _shown(lines: list[str], wanted: list[str], start: int, alike: float) -> str:
    there = lines[start : start + len(wanted)]
    end = start + len(there)
    head = f"Closest: line {start + 1}" if len(there) == 1 else f"Closest: lines {start + 1}-{end}"
    what = "only white space or case differs" if alike == 1 else f"{alike:.0%} alike"
    out = [f"{head} ({what}). The file has:"]
    out += [f"{start + 1 + i:>6}\t{_cut(line)}" for i, line in enumerate(there[:_SHOWN_LINES])]
    if len(there) > _SHOWN_LINES:
        out.append(f"   … {len(there) - _SHOWN_LINES} more lines")
    pairs = zip(there, wanted, strict=False)
    index = next((i for i, (has, want) in enumerate(pairs) if has != want), None)
    if index is not None:
        out.append(f"First difference, at line {start + 1 + index}:")
        out.append(f"  file:     {_cut(_spelled(there[index]))}")
        out.append(f"  old_text: {_cut(_spelled(wanted[index]))}")
    return "\n".join(out)


def _spelled(line: str) -> str:
    """A line with its white space at both ends written so that it can be seen."""
    return _ENDS.sub(lambda ends: ends[0].replace("\t", "→").replace(" ", "·"), line)


def _cut(line: str) -> str:
    return line if len(line) <= _MAX_LINE else line[: _MAX_LINE - 1] + "…"
