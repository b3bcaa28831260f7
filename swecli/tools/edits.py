"""Exact-match edits: where old text stands, and the whole text after all edits of one call."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Protocol

from swecli.tools.base import ToolError
from swecli.tools.near import hint
from swecli.tools.text_files import TextFile


class Edit(Protocol):
    """One replacement; the texts' line ends do not matter, those of the file are kept."""

    @property
    def old_text(self) -> str: ...
    @property
    def new_text(self) -> str: ...
    @property
    def replace_all(self) -> bool: ...


def apply_edits(file: TextFile, edits: Sequence[Edit], *, hints: bool = True) -> str:
    """The file's text after the edits, applied in order, each to what the one before left. All of them or none.

    Everything outside the replaced stretches stays byte for byte, mixed line ends included. `hints` False keeps
    the file's text out of the failure (for files that may not be read).

    Raises:
        ToolError: an edit does not match, or matches more than once; says where and what is near.
    """
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
