"""Replace exact pieces of a file's text. What is not replaced stays byte for byte."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from pydantic import Field

from swecli.text_files import TextFile
from swecli.tools.base import ToolError
from swecli.tools.line_ends import keep_line_ends
from swecli.tools.near_miss import explain_mismatch
from swecli.tools.params import Params
from swecli.tools.spans import Span, compose, replaced_spans
from swecli.values import dataclass

_MAX_LINES = 10  # of matches, in an error


class Edit(Params):
    """One replacement. Line ends of both texts are normalized; the file keeps its own."""

    old_text: str = Field(
        description="The exact text to replace, including whitespace, without line numbers."
    )
    new_text: str = Field(description="The text to replace it with.")
    replace_all: bool = Field(False, description="Replace all occurrences instead of exactly one.")


@dataclass(frozen=True, slots=True)
class EditedText:
    """A text after edits."""

    text: str
    spans: list[Span]  # what was replaced
    edit_count: int
    failures: list[str]  # a line or more for each edit that was left out, beginning with its number


def apply_edits(file: TextFile, edits: Sequence[Edit], *, hints: bool = True) -> EditedText:
    """Apply the edits in order, each to the result of those before. One that does not match, or more than once, is left
    out; without `hints` its failure quotes nothing of the file. Raises ToolError if none can be made."""
    text = file.text
    spans: list[Span] = []
    failures: list[str] = []
    for number, edit in enumerate(edits, start=1):
        try:
            text, replaced = _apply(text, edit, file, hints=hints)
        except ToolError as error:
            prefix = f"Edit {number} of {len(edits)}: " if len(edits) > 1 else ""
            failures.append(f"{prefix}{error}")
        else:
            spans = compose(spans, replaced)
    if len(failures) == len(edits):
        raise ToolError("\n".join([*failures, "Nothing was changed."]))
    return EditedText(text, spans, len(edits) - len(failures), failures)


def _apply(text: str, edit: Edit, file: TextFile, *, hints: bool) -> tuple[str, list[Span]]:
    """Return the text after one edit, and what was replaced. Raises ToolError."""
    old = normalize_newlines(edit.old_text)
    new = normalize_newlines(edit.new_text)
    if not old:
        raise ToolError(
            "old_text is empty. Give the text to replace, or use write_file for the whole file."
        )
    if old == new:
        raise ToolError("old_text and new_text are the same.")

    plain = normalize_newlines(text)
    # overlapping matches are ambiguous too
    pattern = re.escape(old) if edit.replace_all else f"(?={re.escape(old)})"
    starts = [match.start() for match in re.finditer(pattern, plain)]
    if not starts:
        reason = explain_mismatch(plain, old, new) if hints else "old_text is not in the file."
        raise ToolError(reason)
    if len(starts) > 1 and not edit.replace_all:
        raise ToolError(_describe_matches(plain, starts))
    own_starts, own_stops = _own_places(text, starts, len(old))
    if file.has_mixed_ends:
        # a line end behind the place says how the lines in it end, if it has none itself
        pieces = [
            _keep_ends(text, start, end, new, file.newline)
            for start, end in zip(own_starts, own_stops, strict=True)
        ]
    else:
        own_ends = new.replace("\n", file.newline) if file.newline else edit.new_text
        pieces = [own_ends] * len(starts)
    return _replace(text, own_starts, own_stops, pieces)


def _keep_ends(text: str, start: int, end: int, new: str, newline: str) -> str:
    """Return what stands for a place of the text: its lines keep their ends, and new ones take those around them."""
    line_end = text.find("\n", end)
    if line_end >= 0:
        newline = "\r\n" if text[line_end - 1] == "\r" else "\n"
    return keep_line_ends(text[start:end], new, newline)


def _describe_matches(text: str, starts: list[int]) -> str:
    lines = ", ".join(str(text.count("\n", 0, start) + 1) for start in starts[:_MAX_LINES])
    more = f" and {len(starts) - _MAX_LINES} more" if len(starts) > _MAX_LINES else ""
    return (
        f"old_text occurs {len(starts)} times, at lines {lines}{more}. "
        "Add the lines around it until it is unique, or set replace_all."
    )


def _own_places(text: str, starts: list[int], length: int) -> tuple[list[int], list[int]]:
    """Return where pieces of `length` characters begin and end in the text, from where they begin in the text with
    normalized line ends."""
    # positions of the line ends that have two characters in `text`: each one before a position moves it by one
    pairs = [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))]
    own_starts = [start + bisect_left(pairs, start) for start in starts]
    own_ends = [start + length + bisect_left(pairs, start + length) for start in starts]
    return own_starts, own_ends


def _replace(
    text: str, starts: list[int], ends: list[int], new: Sequence[str]
) -> tuple[str, list[Span]]:
    """Replace each place of the text by one of the new pieces."""
    pieces: list[str] = []
    position = 0
    for start, end, piece in zip(starts, ends, new, strict=True):
        pieces += [text[position:start], piece]
        position = end
    pieces.append(text[position:])
    return "".join(pieces), replaced_spans(starts, ends, [len(piece) for piece in new])


def normalize_newlines(text: str) -> str:
    """Return a text whose lines all end with `\\n`."""
    return text.replace("\r\n", "\n")
