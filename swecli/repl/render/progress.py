"""Print what is final of an unfinished Markdown text, and keep as little of it as can be parsed again in its place.

What is kept begins with a skeleton of the blocks that are not finished: the opening line of a code block, the first two
lines of a table, the bullet of a list item with an empty heading as a stub, `- #`, for what was printed of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import RenderableType
from rich.text import Text

from swecli.repl.render.blocks import (
    Block,
    render_inline,
    render_leaf_block,
    split_blocks,
    table_rows,
)
from swecli.repl.render.code import CodeColors
from swecli.repl.render.prefix import add_prefix
from swecli.repl.render.table import TableRows, TableShape
from swecli.values import dataclass

_LISTS = ("bullet_list_open", "ordered_list_open")
_CODE = ("fence", "code_block")
# an empty line does not end these
_UNENDING = (*_LISTS, "code_block")
# Rows of a table that are looked at before its widths are set. Most tables have fewer, and are laid out as a whole.
_ROWS_TO_MEASURE = 8
# Characters of those rows, of which no further one is looked at: long cells are wrapped, fill a small screen, and would
# be pushed off it unread.
_CHARACTERS_TO_MEASURE = 600
# the beginning of an item's first line: quotes around the list, the bullet or number, and spaces
_ITEM_START = re.compile(r"([ >]*(?:[-+*]|\d{1,9}[.)]) {1,4})(?=\S)")
_STUB = "#"
_OPEN_MARK = re.compile(r"[*`\[~]|(?<!\w)_|_(?!\w)")


@dataclass(frozen=True, slots=True)
class BegunParagraph:
    """The first lines of a paragraph were printed and dropped."""


@dataclass(frozen=True, slots=True)
class BegunCode:
    """The first lines of a code block were printed and dropped; `colors` are for those that follow."""

    colors: CodeColors


@dataclass(frozen=True, slots=True)
class BegunTable:
    """The header and the first rows of a table were printed; the rows were dropped."""

    shape: TableShape


@dataclass(frozen=True, slots=True)
class BegunQuote:
    """Something of a quote was printed."""

    inside: Flow


@dataclass(frozen=True, slots=True)
class BegunList:
    """Something of a list was printed."""

    number: int | None  # of the first item that is left; None in a list without numbers
    item: Flow | None = None  # what was printed of that item, if anything
    has_stub: bool = False  # that item's first block is the stub


BegunBlock = BegunParagraph | BegunCode | BegunTable | BegunQuote | BegunList


@dataclass(frozen=True, slots=True)
class Flow:
    """What was printed of blocks that lie one below the other: those of the text, of a quote or of an item."""

    previous: str = ""  # type of the last block that was printed whole
    begun_block: BegunBlock | None = None  # what was printed of the first block that is left


def has_open_marks(parser: MarkdownIt, text: str) -> bool:
    """Return True if text after this one may change how it is rendered, as the end of an emphasis does."""
    if text.endswith("\\"):
        return True
    children = parser.parseInline(text)[0].children or []
    return any(child.type == "text" and _OPEN_MARK.search(child.content) for child in children)


class Printing:
    """Parses the pending lines once, and prints them. `pending` are the lines that stay so after `print_final`."""

    def __init__(self, parser: MarkdownIt, lines: list[str], color: bool) -> None:
        self._parser = parser
        self._lines = lines
        self._color = color
        self._skeleton: list[str] = []
        self._first_kept = 0  # number of the first line that is kept

    def print_all(self, flow: Flow) -> tuple[list[RenderableType], Flow]:
        """Render all lines: the text ends here."""
        return self._print_blocks(self._parse(), flow, is_open=False)

    def print_final(self, flow: Flow) -> tuple[list[RenderableType], Flow]:
        """Render what no further line can change."""
        return self._print_blocks(self._parse(), flow, is_open=True, is_text=True)

    @property
    def pending(self) -> list[str]:
        lines = [*self._skeleton, *self._lines[self._first_kept :]]
        return list(dropwhile(lambda line: not line.strip(), lines))

    def _parse(self) -> list[Block]:
        return list(split_blocks(self._parser.parse("".join(f"{line}\n" for line in self._lines))))

    def _print_blocks(
        self,
        blocks: Sequence[Block],
        flow: Flow,
        *,
        is_open: bool,
        in_item: bool = False,
        is_text: bool = False,
        keeps_last: bool = False,
    ) -> tuple[list[RenderableType], Flow]:
        """Render blocks with an empty line between them, in an item only between paragraphs; of the last one, if the
        flow is open, only what is final."""
        pieces: list[RenderableType] = []
        for block in blocks:
            kind = block[0].type
            begun_block = flow.begun_block if _fits(flow.begun_block, kind) else None
            is_last = block is blocks[-1]
            is_unfinished = is_open and is_last and (keeps_last or not self._is_ended(block[0]))
            if is_unfinished and is_text and kind == "paragraph_open":
                new_pieces, still_begun = self._print_first_lines(block[0], begun_block)
            else:
                new_pieces, still_begun = self._print_block(block, begun_block, is_unfinished)
            needs_gap = bool(flow.previous)
            if in_item:
                needs_gap = flow.previous == kind == "paragraph_open"
            if new_pieces and begun_block is None and needs_gap:
                new_pieces = [Text(""), *new_pieces]
            pieces += new_pieces
            if is_unfinished:
                return pieces, Flow(flow.previous, still_begun)
            flow = Flow(kind if new_pieces or begun_block else flow.previous)
            if is_open:
                _, self._first_kept = block[0].map or (0, 0)
        return pieces, flow

    def _is_ended(self, first: Token) -> bool:
        """Return True if no further line can belong to a block that is the last one."""
        start, end = first.map or (0, 0)
        if first.type == "fence":
            return end - start == first.content.count("\n") + 2
        if first.type in ("heading_open", "hr"):
            return True
        is_empty_below = end < len(self._lines) and not self._lines[end].strip()
        return is_empty_below and first.type not in _UNENDING

    def _print_block(
        self, block: Block, begun_block: BegunBlock | None, is_open: bool
    ) -> tuple[list[RenderableType], BegunBlock | None]:
        kind = block[0].type
        if kind in _CODE:
            return self._print_code(block[0], begun_block, is_open)
        if kind in _LISTS:
            return self._print_list(block, begun_block, is_open)
        if kind == "blockquote_open":
            return self._print_quote(block, begun_block, is_open)
        if kind == "table_open":
            return self._print_table(block, begun_block, is_open)
        if is_open:
            return [], begun_block
        if kind == "heading_open" and "\n" in block[1].content:
            return self._print_long_heading(block), None
        return [render_leaf_block(block, self._color)], None

    def _print_first_lines(
        self, first: Token, begun_block: BegunBlock | None
    ) -> tuple[list[RenderableType], BegunBlock | None]:
        """Render the lines of a paragraph but the last one, which may become the header of a table."""
        start, end = first.map or (0, 0)
        text = "\n".join(line.strip() for line in self._lines[start : end - 1])
        rest = self._lines[end - 1]
        if not text or has_open_marks(self._parser, text) or not self._is_paragraph(rest):
            return [], begun_block
        self._first_kept = end - 1
        return [self._render_text(text)], BegunParagraph()

    def _is_paragraph(self, line: str) -> bool:
        return self._parser.parse(line)[0].type == "paragraph_open"

    def _render_text(self, text: str) -> Text:
        return render_inline(self._parser.parseInline(text)[0], self._color)

    def _print_long_heading(self, block: Block) -> list[RenderableType]:
        """Render a paragraph that its underline makes a heading: the last line alone, as its first ones may have been
        printed before."""
        text, _, last = block[1].content.rpartition("\n")
        if has_open_marks(self._parser, text):
            return [render_leaf_block(block, self._color)]
        heading = [block[0], self._parser.parseInline(last)[0], block[-1]]
        return [self._render_text(text), render_leaf_block(heading, self._color)]

    def _print_code(
        self, first: Token, begun_block: BegunBlock | None, is_open: bool
    ) -> tuple[list[RenderableType], BegunBlock | None]:
        """Render the lines of code but for empty ones at the end."""
        lines = first.content.split("\n")
        while lines and not lines[-1].strip():
            lines.pop()
        colors = CodeColors.for_info(first.info if self._color else "")
        if isinstance(begun_block, BegunCode):
            colors = begun_block.colors
        pieces: list[RenderableType] = []
        if lines and not (is_open and first.type == "code_block"):
            text, colors = colors.color(lines)
            pieces.append(add_prefix(text, "  "))
        if not pieces and begun_block is None:
            return [], None
        if is_open:
            start, _ = first.map or (0, 0)
            self._skeleton.append(self._lines[start])
            self._first_kept = start + 1 + len(lines)
        return pieces, BegunCode(colors)

    def _print_table(
        self, block: Block, begun_block: BegunBlock | None, is_open: bool
    ) -> tuple[list[RenderableType], BegunBlock | None]:
        header, *rows = table_rows(block, self._color)
        if isinstance(begun_block, BegunTable):
            shape = begun_block.shape
            table = TableRows(shape, rows, has_header=False)
        else:
            measured = _rows_to_measure(rows)
            may_grow = len(rows) > len(measured)
            if is_open and not may_grow:
                return [], None
            shape = TableShape.measure(header, measured, may_grow)
            table = TableRows(shape, rows)
        if is_open:
            start, end = block[0].map or (0, 0)
            self._skeleton += self._lines[start : start + 2]
            self._first_kept = end
        return [table] if rows or table.has_header else [], BegunTable(shape)

    def _print_quote(
        self, block: Block, begun_block: BegunBlock | None, is_open: bool
    ) -> tuple[list[RenderableType], BegunBlock | None]:
        flow = begun_block.inside if isinstance(begun_block, BegunQuote) else Flow()
        blocks = list(split_blocks(block[1:-1]))
        # the last one stays unfinished, so that the next line finds a quote to go on with
        pieces, flow = self._print_blocks(blocks, flow, is_open=is_open, keeps_last=True)
        quoted: list[RenderableType] = [
            add_prefix(piece, "▌ ", "quiet", rest="▌ ") for piece in pieces
        ]
        return quoted, BegunQuote(flow) if quoted or begun_block else None

    def _print_list(
        self, block: Block, begun_block: BegunBlock | None, is_open: bool
    ) -> tuple[list[RenderableType], BegunBlock | None]:
        state = (
            begun_block
            if isinstance(begun_block, BegunList)
            else BegunList(_first_number(block[0]))
        )
        items = list(split_blocks(block[1:-1]))
        pieces: list[RenderableType] = []
        for item in items:
            is_unfinished = is_open and item is items[-1]
            if is_open and item is not items[0]:
                self._first_kept = _start(item[0])
            new_pieces, state = self._print_item(item, state, is_unfinished)
            pieces += new_pieces
        return pieces, state if pieces or begun_block else None

    def _print_item(
        self, item: Block, state: BegunList, is_open: bool
    ) -> tuple[list[RenderableType], BegunList]:
        bullet = "• " if state.number is None else f"{state.number}. "
        children = list(split_blocks(item[1:-1]))
        if state.has_stub:
            children = children[1:]
        has_stub = state.has_stub
        kept_before = self._first_kept
        skeleton_length = len(self._skeleton)
        if is_open:
            start = _start(item[0])
            match = _ITEM_START.match(self._lines[start])
            begins_flat = not children or children[0][0].type not in (*_LISTS, "blockquote_open")
            if match is None or not (has_stub or begins_flat):
                return [], state
            has_stub = has_stub or len(children) > 1 or self._is_whole(children)
            if has_stub:
                self._skeleton.append(f"{match[1]}{_STUB}")
                self._first_kept = start + 1
        flow = state.item or Flow()
        pieces, flow = self._print_blocks(children, flow, is_open=is_open, in_item=True)
        if not pieces and state.item is None:
            if is_open:  # nothing to stand a stub for
                self._first_kept = kept_before
                del self._skeleton[skeleton_length:]
                return [], state
            pieces = [Text("")]
        indented: list[RenderableType] = [add_prefix(piece, " " * len(bullet)) for piece in pieces]
        if pieces and state.item is None:
            indented[0] = add_prefix(pieces[0], bullet, "md.bullet")
        if not is_open:
            return indented, BegunList(None if state.number is None else state.number + 1)
        has_begun = state.item is not None or bool(pieces)
        return indented, BegunList(state.number, flow if has_begun else None, has_stub)

    def _is_whole(self, children: Sequence[Block]) -> bool:
        return bool(children) and self._is_ended(children[-1][0])


def _rows_to_measure(rows: Sequence[Sequence[Text]]) -> Sequence[Sequence[Text]]:
    """Return the first rows of a table, from which its widths are set."""
    size = 0
    for count, row in enumerate(rows[:_ROWS_TO_MEASURE], 1):
        size += sum(map(len, row))
        if size > _CHARACTERS_TO_MEASURE:
            return rows[:count]
    return rows[:_ROWS_TO_MEASURE]


def _fits(begun_block: BegunBlock | None, kind: str) -> bool:
    """Return True if a block of this kind can be the one that was begun."""
    match begun_block:
        case BegunParagraph():
            return kind in ("paragraph_open", "heading_open")
        case BegunCode():
            return kind == "fence"
        case BegunTable():
            return kind == "table_open"
        case BegunQuote():
            return kind == "blockquote_open"
        case BegunList():
            return kind in _LISTS
    return False


def _start(opening: Token) -> int:
    """Return the number of a block's first line."""
    return opening.map[0] if opening.map else 0


def _first_number(opening: Token) -> int | None:
    """Return the number of a list's first item; None if its items have bullets."""
    if opening.type == "bullet_list_open":
        return None
    return int(opening.attrs.get("start", 1))
