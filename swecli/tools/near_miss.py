"""Say why an edit's text is not in a file: the most similar place, and the first difference."""

from __future__ import annotations

import difflib
import re

from swecli.text import truncate

_SHOWN_LINES = 12
_MAX_LINE = 160  # characters
_MAX_COMPARED = 10_000  # lines of the file
_MAX_WANTED = 200  # lines of the edit
_MAX_PLACES = 20  # compared as a whole
_MAX_PLACE = 4000  # characters of each
_MIN_SIMILARITY = 0.6  # difflib's own default for a close match
_NUMBERED = re.compile(r"^\s*\d+(\t|: ?| *\|)")
_ENDS = re.compile(r"^[ \t]+|[ \t]+$")


def explain_mismatch(text: str, old: str, new: str) -> str:
    """Return, as lines for the model, why `old` is not in `text`. All must have normalized line ends."""
    notes = ["old_text is not in the file."]
    old_lines = old.strip("\n").split("\n")
    if old.strip() and _all_numbered(old_lines):
        notes.append("It seems to contain the line numbers of read_file: leave them out.")
        old_lines = [_NUMBERED.sub("", line, count=1) for line in old_lines]
    made_at = _find_whole_lines(text, new)
    if made_at:
        notes.append(f"new_text is already there, at line {made_at}.")
    if "\\n" in old and old.replace("\\n", "\n") in text:
        notes.append("It contains backslash-n where the file has line breaks.")

    lines = text.split("\n")[:_MAX_COMPARED]
    place = _closest(lines, old_lines[:_MAX_WANTED]) if old.strip() else None
    if place is None:
        notes.append("The file has no similar text. Read the file again.")
    else:
        start, similarity = place
        notes.append(_describe_place(lines, old_lines, start, similarity))
    return "\n".join(notes)


def _all_numbered(lines: list[str]) -> bool:
    return all(_NUMBERED.match(line) for line in lines if line.strip())


def _find_whole_lines(text: str, old_text: str) -> int:
    """Return the line, from 1, at which `old_text` stands as whole lines, 0 if it does not: that a few letters
    occur somewhere does not mean that the edit was made."""
    if not old_text.strip():
        return 0
    match = re.search(rf"^[ \t]*{re.escape(old_text.strip())}[ \t]*$", text, re.MULTILINE)
    return text.count("\n", 0, match.start()) + 1 if match else 0


def _closest(lines: list[str], old_lines: list[str]) -> tuple[int, float] | None:
    """Return the index of the first line of the place most similar to `old_lines`, and the similarity (0 to 1).
    Candidates are found by the longest line, then compared as a whole. Case and white space around lines are
    ignored."""
    anchor = max(range(len(old_lines)), key=lambda index: len(old_lines[index].strip()))
    plain_lines = [_plain(line) for line in lines]
    plain_wanted = [_plain(line) for line in old_lines]
    starts = [line[:_MAX_LINE] for line in plain_lines]
    near = difflib.get_close_matches(
        plain_wanted[anchor][:_MAX_LINE], starts, n=3, cutoff=_MIN_SIMILARITY
    )
    places = [max(0, index - anchor) for index, line in enumerate(starts) if line in near]

    best_place = 0
    best_score = 0.0
    whole = "\n".join(plain_wanted)[:_MAX_PLACE]
    for place in places[:_MAX_PLACES]:
        candidate = "\n".join(plain_lines[place : place + len(old_lines)])[:_MAX_PLACE]
        score = difflib.SequenceMatcher(None, whole, candidate, autojunk=False).ratio()
        if score > best_score:
            best_place = place
            best_score = score
    return (best_place, best_score) if best_score >= _MIN_SIMILARITY else None


def _plain(line: str) -> str:
    return line.strip().casefold()


def _describe_place(lines: list[str], old_lines: list[str], start: int, similarity: float) -> str:
    file_lines = lines[start : start + len(old_lines)]
    first = start + 1
    place = f"line {first}" if len(file_lines) == 1 else f"lines {first}-{start + len(file_lines)}"
    likeness = "only white space or case differs" if similarity == 1 else f"{similarity:.0%} alike"
    out = [f"Closest: {place} ({likeness}). The file has:"]
    for number, line in enumerate(file_lines[:_SHOWN_LINES], first):
        out.append(f"{number:>6}\t{truncate(line, _MAX_LINE)}")
    if len(file_lines) > _SHOWN_LINES:
        out.append(f"   … {len(file_lines) - _SHOWN_LINES} more lines")

    pairs = zip(file_lines, old_lines, strict=False)
    differing = next((i for i, (have, want) in enumerate(pairs) if have != want), None)
    if differing is not None:
        out.append(f"First difference, at line {first + differing}:")
        out.append(f"  file:     {truncate(_show_blanks(file_lines[differing]), _MAX_LINE)}")
        out.append(f"  old_text: {truncate(_show_blanks(old_lines[differing]), _MAX_LINE)}")
    return "\n".join(out)


def _show_blanks(line: str) -> str:
    """Return a line with visible characters for the white space at its ends."""
    return _ENDS.sub(lambda ends: ends[0].replace("\t", "→").replace(" ", "·"), line)
