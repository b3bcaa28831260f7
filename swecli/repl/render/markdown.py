"""Render Markdown as rich renderables, block by block; HTML is shown as text, and links show their address."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from swecli.text import sanitize

_MIN_WIDTH = 12  # columns below which content is not indented


@dataclass(frozen=True, slots=True)
class _PrefixedBlock:
    """`content` with `first` before its first line and `rest`, or spaces, before the others; both have `end=""`."""

    content: RenderableType
    first: Text
    rest: Text | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rest = self.rest or Text(" " * self.first.cell_len, end="")
        width = options.max_width - max(self.first.cell_len, rest.cell_len)
        if width < _MIN_WIDTH:
            yield self.content
            return
        inner = options.update(width=width, height=None)
        for index, line in enumerate(console.render_lines(self.content, inner, pad=False)):
            yield from (rest if index else self.first).render(console)
            yield from line
            yield Segment.line()


def add_prefix(
    content: RenderableType, first: str | Text, style: str = "", rest: str = ""
) -> RenderableType:
    """Return `content` with the prefix `first`; the other lines get `rest`, by default spaces."""
    begin = first if isinstance(first, Text) else Text(first, style, end="")
    return _PrefixedBlock(content, begin, Text(rest, style, end="") if rest else None)


_SPAN_STYLES = {"strong_open": "md.strong", "em_open": "md.em", "s_open": "md.s"}
_RULE_WIDTH = 40


def _render_blocks(
    tokens: Sequence[Token], color: bool, *, in_item: bool = False
) -> list[RenderableType]:
    """Render blocks with an empty line between them, in a list item only between paragraphs; skip empty code blocks."""
    rendered: list[RenderableType] = []
    previous = ""
    for block in _split_blocks(tokens):
        kind = block[0].type
        if kind != "fence" or block[0].content:
            gap = rendered and (not in_item or previous == kind == "paragraph_open")
            rendered += [*([Text("")] if gap else []), _render_block(block, color)]
            previous = kind
    return rendered


def _render_block(tokens: Sequence[Token], color: bool) -> RenderableType:
    """Render one block, given by its tokens from the opening to the closing one."""
    first = tokens[0]
    match first.type:
        case "heading_open":
            return _render_heading(first, tokens[1], color)
        case "fence" | "code_block":
            return add_prefix(
                _highlight(sanitize(first.content).rstrip("\n"), first.info if color else ""), "  "
            )
        case "bullet_list_open" | "ordered_list_open":
            return _render_list(tokens, color)
        case "blockquote_open":
            return add_prefix(Group(*_render_blocks(tokens[1:-1], color)), "▌ ", "quiet", "▌ ")
        case "hr":
            return Text("─" * _RULE_WIDTH, style="quiet", overflow="crop", no_wrap=True)
        case "table_open":
            return make_table(_table_rows(tokens, color))
        case "paragraph_open":
            return _render_inline(tokens[1], color)
        case "inline":
            return _render_inline(first, color)
    return Text(sanitize(first.content))


def _split_blocks(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Split tokens into top-level blocks."""
    depth = start = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : index + 1]
            start = index + 1


def _render_heading(opening: Token, content: Token, color: bool) -> Text:
    level = int(opening.tag[1:])
    text = _render_inline(content, color)
    if not color:
        return Text(f"{'#' * level} ").append_text(text)
    text.stylize_before(f"md.h{min(level, 3)}")
    return text


def _render_list(tokens: Sequence[Token], color: bool) -> RenderableType:
    opening = tokens[0]
    ordered = opening.type == "ordered_list_open"
    number = int(opening.attrs.get("start", 1))
    items = list(_split_blocks(tokens[1:-1]))
    width = len(str(number + len(items) - 1)) + 1
    marks = [f"{number + index}.".rjust(width) if ordered else "•" for index in range(len(items))]
    rows = zip(marks, items, strict=True)
    contents = (
        (mark, _render_blocks(item[1:-1], color, in_item=True) or [Text("")]) for mark, item in rows
    )
    return Group(
        *(add_prefix(Group(*content), f"{mark} ", "md.bullet") for mark, content in contents)
    )


def _render_inline(token: Token, color: bool) -> Text:
    text = Text()
    styles: list[str] = []
    links: list[tuple[int, str]] = []
    for child in token.children or []:
        kind, start = child.type, len(text)
        if kind in _SPAN_STYLES:
            styles.append(_SPAN_STYLES[kind])
        elif kind == "link_open":
            links.append((start, str(child.attrs.get("href", ""))))
            styles.append("md.link")
        elif kind == "link_close":
            styles.pop()
            start, href = links.pop()
            address = sanitize(href, keep_newlines=False)
            if address.removeprefix("mailto:") != text.plain[start:]:
                text.append(f" ({address})", "quiet")
        elif kind.endswith("_close"):
            styles.pop()
        else:
            text.append_text(_render_leaf(child, color))
            for style in styles:  # one by one: rich cannot combine theme styles by name
                text.stylize(style, start)
    return text


def _render_leaf(token: Token, color: bool) -> Text:
    content = sanitize(token.content)
    match token.type:
        case "softbreak" | "hardbreak":
            return Text("\n")
        case "code_inline":
            return Text().append(content if color else f"`{content}`", "md.code")
        case "image":
            source = sanitize(str(token.attrs.get("src", "")), keep_newlines=False)
            return Text(content or "image").append(f" ({source})", "quiet")
    return Text(content)


def _table_rows(tokens: Sequence[Token], color: bool) -> list[list[Text]]:
    rows: list[list[Text]] = []
    justify = "left"
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            justify = str(token.attrs.get("style", "")).rpartition(":")[2] or "left"
        elif token.type == "inline":
            cell = _render_inline(token, color)
            cell.justify = (
                "right" if justify == "right" else "center" if justify == "center" else "left"
            )
            rows[-1].append(cell)
    return rows


def make_table(rows: Sequence[Sequence[Text]]) -> Table:
    """Return a table with a line under its header, the first of the rows, and no other borders."""
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        border_style="quiet",
        header_style="head",
    )
    for header in rows[0]:
        table.add_column(header, justify=header.justify or "left", overflow="fold")
    for row in rows[1:]:
        table.add_row(*row)
    return table


_MAX_HIGHLIGHTED = 20_000  # characters of code


def _highlight(source: str, language: str) -> Text:
    """Expand tabs and highlight code, unless its language is unknown or it is too long."""
    source, name = source.expandtabs(4), language.strip().split(" ")[0].lower()
    if not name or len(source) > _MAX_HIGHLIGHTED:
        return Text(source)
    return Syntax("", name, theme="ansi_dark", word_wrap=True).highlight(source)[: len(source)]


_MAX_TAIL = 4_096  # characters of an unfinished block that are rendered as Markdown; a longer one is plain text
_ALWAYS_PARSED = (
    2_048  # characters below which each new line is parsed; above, only after growth by a quarter
)
_GROWTH = 1.25
_OPEN_BLOCKS = (
    "bullet_list_open",
    "ordered_list_open",
    "code_block",
)  # an empty line does not end these
_FENCES = ("```", "~~~")


class MarkdownStream:
    """Renders streamed Markdown block by block, in time linear in the length of the text."""

    def __init__(self, color: bool, text: str = "") -> None:
        parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 60}).enable(
            ["table", "strikethrough"]
        )
        self._color = color
        self._parser = parser.disable(
            ["reference", "html_block", "html_inline"]
        )  # link definitions may come later
        self._newlines = io.IncrementalNewlineDecoder(None, translate=True)
        self._pending = sanitize(text)  # the text of unfinished blocks
        self._parsed = 0  # length of the pending text when it was last parsed
        self._has_output = False

    def feed(self, text: str) -> list[RenderableType]:
        """Append text; return the blocks that it completes."""
        text = sanitize(self._newlines.decode(text))
        self._pending += text
        is_due = (
            len(self._pending) <= _ALWAYS_PARSED or len(self._pending) >= _GROWTH * self._parsed
        )
        if "\n" not in text or not (is_due or self._ends_with_fence()):
            return []
        *lines, unfinished = self._pending.split("\n")
        blocks = list(_split_blocks(self._parser.parse("".join(f"{line}\n" for line in lines))))
        complete: list[Token] = []
        start = 0
        for block in blocks:
            _, end = block[0].map or (0, 0)
            if block is blocks[-1] and not _is_complete(block[0], lines[end : end + 1]):
                break
            complete += block
            start = end
        self._pending = "\n".join([*lines[start:], unfinished])
        self._parsed = len(self._pending)
        return self._render(complete)

    def finish(self) -> list[RenderableType]:
        """Return the remaining blocks."""
        text, self._pending = self._pending + sanitize(self._newlines.decode("", final=True)), ""
        return self._render(self._parser.parse(text))

    def _render(self, tokens: Sequence[Token]) -> list[RenderableType]:
        rendered = _render_blocks(tokens, self._color)
        gap = [Text("")] if rendered and self._has_output else []
        self._has_output |= bool(rendered)
        return [*gap, *rendered]

    def tail(self, rows: int, width: int) -> RenderableType | None:
        """Render the end of the pending text in about `rows` rows of `width` columns; None if it is blank."""
        if not self._pending.strip():
            return None
        rendered: list[RenderableType] = [
            Text("\n".join(self._pending[-rows * width :].split("\n")[-rows:]))
        ]
        if len(self._pending) <= _MAX_TAIL:
            rendered = _render_blocks(self._parser.parse(self._pending), self._color)
        return Group(*([Text("")] if self._has_output else []), *rendered)

    def _ends_with_fence(self) -> bool:
        """Return True if the last whole line opens or closes a code block, which is printed once it is complete."""
        last = self._pending.rpartition("\n")[0]
        return last[last.rfind("\n") + 1 :].lstrip().startswith(_FENCES)


def _is_complete(first: Token, following: list[str]) -> bool:
    """Return True if no further text can change a block; `following` is the complete line after it, if any."""
    if first.type == "fence":
        begin, end = first.map or (0, 0)
        return end - begin == first.content.count("\n") + 2
    return first.type in ("heading_open", "hr") or (
        first.type not in _OPEN_BLOCKS and following != [] and not following[0].strip()
    )
