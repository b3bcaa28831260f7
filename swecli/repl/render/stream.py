"""Render streamed Markdown: whatever no further text can change is printed, line by line; the rest is pending."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from swecli.repl.render.blocks import render_inline, split_blocks
from swecli.repl.render.progress import BegunParagraph, Flow, Printing, has_open_marks
from swecli.text import sanitize

# characters of pending text that are rendered as Markdown at each drawing; the end of a longer one is plain text
_MAX_TAIL = 4_096
# characters of pending text below which each new line is parsed; above, only after growth by a quarter
_ALWAYS_PARSED = 2_048
_GROWTH = 1.25
_WIDTH = 80  # columns assumed by a caller that does not know them


class MarkdownStream:
    """Renders streamed Markdown, in time linear in the length of the text."""

    def __init__(self, color: bool) -> None:
        parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 60}).enable(
            ["table", "strikethrough"]
        )
        self._color = color
        # link definitions may come later
        self._parser = parser.disable(["reference", "html_block", "html_inline"])
        self._newlines = io.IncrementalNewlineDecoder(None, translate=True)
        self._lines: list[str] = []  # whole lines of which something is not printed yet
        self._partial: list[str] = []  # pieces of the line that is not whole
        self._checked = 0  # length of the partial line when its first rows were last looked for
        self._parsed = 0  # characters of the whole lines when they were last parsed
        self._flow = Flow()

    def feed(self, text: str, width: int = _WIDTH) -> list[RenderableType]:
        """Append text; return what it completes, for a terminal of `width` columns."""
        completed, newline, rest = sanitize(self._newlines.decode(text)).rpartition("\n")
        if not newline:
            self._partial.append(rest)
            return self._pop_rows(width)
        self._lines += "".join([*self._partial, completed]).split("\n")
        self._partial = [rest]
        self._checked = 0
        size = _size(self._lines)
        if size > _ALWAYS_PARSED and size < _GROWTH * self._parsed:
            return []
        return [*self._print_lines(), *self._pop_rows(width)]

    def finish(self) -> list[RenderableType]:
        """Return what is left."""
        self._partial.append(sanitize(self._newlines.decode("", final=True)))
        pieces, self._flow = self._render_pending()
        self._lines = []
        self._partial = []
        return pieces

    def tail(self, rows: int, width: int) -> RenderableType | None:
        """Render the end of what is pending in about `rows` rows of `width` columns; None if it is blank."""
        size = _size(self._lines) + sum(map(len, self._partial))
        if size > _MAX_TAIL:
            ending = "\n".join([*self._lines[-rows:], "".join(self._partial)[-rows * width :]])
            return Text(ending[-rows * width :])
        pieces, _ = self._render_pending()
        return Group(*pieces) if pieces else None

    def _render_pending(self) -> tuple[list[RenderableType], Flow]:
        lines = [*self._lines, "".join(self._partial)]
        return self._printing(lines).print_all(self._flow)

    def _printing(self, lines: list[str]) -> Printing:
        return Printing(self._parser, lines, self._color)

    def _print_lines(self) -> list[RenderableType]:
        """Return what is final of the whole lines, and drop it."""
        printing = self._printing(self._lines)
        pieces, self._flow = printing.print_final(self._flow)
        self._lines = printing.pending
        self._parsed = _size(self._lines)
        return pieces

    def _pop_rows(self, width: int) -> list[RenderableType]:
        """Return the first rows of a paragraph whose only line is not whole, and drop them from it."""
        length = sum(map(len, self._partial))
        if self._lines or length < self._checked + width:
            return []
        line = "".join(self._partial)
        self._partial = [line]
        self._checked = length
        rows, rest = self._split_rows(line, width)
        if not rows:
            return []
        pieces, _ = self._printing([rows]).print_all(self._flow)
        self._flow = Flow("paragraph_open", BegunParagraph())
        self._partial = [rest]
        self._checked = 0
        return pieces

    def _split_rows(self, line: str, width: int) -> tuple[str, str]:
        """Split a line of a paragraph before its last row but one; "" if no row is certain."""
        words = list(re.finditer(r"\S+", line))[:-1]  # the last one may not be whole
        text = line[: words[-1].end()] if words else ""
        if "|" in text or has_open_marks(self._parser, text) or not self._is_paragraph(text):
            return "", line
        rendered = self._render(text).split()
        last_row = _words_of_last_row(rendered, width)
        if not 0 < last_row < min(len(rendered), len(words)):
            return "", line
        last_row_start = words[-last_row].start()
        rows = line[:last_row_start].rstrip()
        rest = line[last_row_start:]
        is_same = self._render(rows).split() == rendered[:-last_row]
        return (rows, rest) if is_same and self._is_paragraph(rest) else ("", line)

    def _is_paragraph(self, text: str) -> bool:
        blocks = list(split_blocks(self._parser.parse(text)))
        return [block[0].type for block in blocks] == ["paragraph_open"]

    def _render(self, text: str) -> str:
        return render_inline(self._parser.parseInline(text)[0], self._color).plain


def _size(lines: Sequence[str]) -> int:
    """Return the characters of whole lines, their ends too: also empty ones take time."""
    return sum(map(len, lines)) + len(lines)


def _words_of_last_row(words: Sequence[str], width: int) -> int:
    """Return how many words the last row holds when each row takes as many as fit in `width` columns."""
    count = used_width = 0
    for word in words:
        word_width = cell_len(word)
        if count and used_width + 1 + word_width > width:
            count = used_width = 0
        used_width += word_width + (1 if count else 0)
        count += 1
    return count
