"""Drawing a unified diff: line numbers, signs, and colours that need no background."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.repl.render.layout import Prefixed
from swecli.repl.render.sanitise import REVEALED, clean

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_NOISE = ("index ", "old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ")

Kind = Literal["added", "removed", "context", "gap", "file", "note"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line to draw; `number` counts in the new file, or in the old one for what was removed."""

    kind: Kind
    text: str
    number: int | None = None


def parse(diff: str) -> list[DiffLine]:
    """The lines of a unified diff with their numbers. Anything else comes back as notes, nothing is lost."""
    lines = list(_walk(diff.splitlines()))
    files = [line for line in lines if line.kind == "file"]
    if len(files) == 1:
        lines.remove(files[0])  # one file: whoever shows the diff has named it
    return lines


def _walk(source: list[str]) -> Iterator[DiffLine]:
    old = new = 0
    inside = seen = False
    for index, line in enumerate(source):
        after = source[index + 1] if index + 1 < len(source) else ""
        hunk = _HUNK.match(line)
        if hunk:
            if seen:
                yield DiffLine("gap", "")
            old, new, inside, seen = int(hunk[1]), int(hunk[2]), True, True
        elif line.startswith("--- ") and after.startswith("+++ "):
            inside = seen = False
        elif line.startswith("+++ ") and not inside:
            yield DiffLine("file", re.sub(r"^(?:[ab]/)?", "", line[4:].split("\t")[0]))
        elif not inside:
            if not line.startswith((*_NOISE, "diff --git ")):
                yield DiffLine("note", line)
        elif line.startswith("+"):
            yield DiffLine("added", line[1:], new)
            new += 1
        elif line.startswith("-"):
            yield DiffLine("removed", line[1:], old)
            old += 1
        elif line.startswith("\\"):
            yield DiffLine("note", line[2:])
        elif line.startswith("diff --git "):
            inside = False
        else:
            yield DiffLine("context", line[1:], new)
            old, new = old + 1, new + 1


def draw(lines: list[DiffLine], limit: int = 2000) -> RenderableType:
    """The lines with a gutter. A line over `limit` characters is cut, visibly; 0 cuts none."""
    width = max((len(str(line.number)) for line in lines if line.number is not None), default=1)
    return Group(*(_draw_line(line, width, limit) for line in lines))


def _draw_line(line: DiffLine, width: int, limit: int) -> RenderableType:
    if line.kind in ("note", "file"):
        return _content(line.text, "quiet" if line.kind == "note" else "head", limit)
    if line.kind == "gap":
        return Text(" " * (width - 1) + "┆", style="number")
    sign = {"added": "+", "removed": "-", "context": " "}[line.kind]
    style = line.kind if line.kind != "context" else ""
    gutter = Text(end="").append(f"{line.number:>{width}} ", "number").append(f"{sign} ", style or "number")
    follow = Text(" " * gutter.cell_len, end="")
    return Prefixed(_content(line.text, style, limit), gutter, follow)


def _content(text: str, style: str, limit: int) -> Text:
    cut = len(text) - limit if limit else 0
    shown = clean(text[:limit] if cut > 0 else text).replace("\n", " ")
    drawn = Text(shown, style=style, tab_size=4)
    drawn.highlight_regex(REVEALED, "revealed")
    if cut > 0:
        drawn.append(f" … {cut:,} more characters", "quiet")
    return drawn
