"""Markdown as drawings: markdown-it's tokens, block by block, as rich renderables of our own.

HTML is shown as the text it is, links show their address, and nothing the parser was given is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from swecli.repl.render.code import code_block
from swecli.repl.render.layout import prefixed
from swecli.repl.render.sanitise import clean

_SPANS = {"strong_open": "md.strong", "em_open": "md.em", "s_open": "md.s"}
_COLUMN = 8  # columns a table's column needs, at least, to be worth drawing as one
_RULE = 40


@dataclass(frozen=True, slots=True)
class Block:
    """One top-level block: its tokens and the lines [start, end) of the source it takes."""

    kind: str
    tokens: Sequence[Token]
    start: int
    end: int


def make_parser() -> MarkdownIt:
    """CommonMark with tables and strike-through; no HTML, and no link definitions (a stream cannot wait for them)."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 60}).enable(["table", "strikethrough"])
    return parser.disable(["reference", "html_block", "html_inline"])


def top_blocks(tokens: Sequence[Token]) -> list[Block]:
    """The top-level blocks of a parsed text, in order."""
    return [
        Block(group[0].type, group, group[0].map[0], group[0].map[1])
        for group in _groups(tokens)
        if group[0].map is not None
    ]


def split_list(block: Block) -> tuple[int, list[Token], int]:
    """For a list: how many items are before the last one, the tokens of a list of those, and the last one's line."""
    items = list(_groups(block.tokens[1:-1]))
    *done, last = items
    line = last[0].map[0] if last[0].map else block.start
    return len(done), [block.tokens[0], *(token for item in done for token in item), block.tokens[-1]], line


def draw_markdown(text: str, color: bool) -> RenderableType:
    """A whole, finished text."""
    return draw_all(make_parser().parse(clean(text)), color)


def draw_all(tokens: Sequence[Token], color: bool) -> RenderableType:
    """Blocks with an empty line between them."""
    drawn: list[RenderableType] = []
    for group in _groups(tokens):
        if is_empty(group):
            continue
        drawn += [Text(""), draw(group, color)] if drawn else [draw(group, color)]
    return Group(*drawn)


def is_empty(tokens: Sequence[Token]) -> bool:
    """Whether a block has nothing to draw: code without a line."""
    return tokens[0].type == "fence" and not tokens[0].content


def draw(tokens: Sequence[Token], color: bool) -> RenderableType:
    """One block, given by its tokens from the opening to the closing one."""
    first = tokens[0]
    match first.type:
        case "heading_open":
            return _heading(first, tokens[1], color)
        case "fence" | "code_block":
            return code_block(first.content, first.info, color)
        case "bullet_list_open" | "ordered_list_open":
            return _list(tokens, color)
        case "blockquote_open":
            quoted = draw_all(tokens[1:-1], color)
            return prefixed(quoted, "▌ ", "md.quote", "▌ ")
        case "hr":
            return Text("─" * _RULE, style="md.rule", overflow="crop", no_wrap=True)
        case "table_open":
            return _Table(_cells(tokens, color))
        case "paragraph_open":
            return _inline(tokens[1], color)
        case "inline":
            return _inline(first, color)
    return Text(clean(first.content))


def _groups(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The tokens cut at the outermost level."""
    depth = start = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : index + 1]
            start = index + 1


def _heading(opening: Token, content: Token, color: bool) -> Text:
    level = int(opening.tag[1:])
    text = _inline(content, color)
    if not color:
        return Text(f"{'#' * level} ").append_text(text)
    text.stylize_before(f"md.h{min(level, 3)}")
    return text


def list_start(opening: Token) -> int:
    """The number of a list's first item; a list without numbers counts from 1."""
    return int(opening.attrs.get("start", 1))


def _list(tokens: Sequence[Token], color: bool) -> RenderableType:
    opening = tokens[0]
    ordered = opening.type == "ordered_list_open"
    number = list_start(opening)
    items = list(_groups(tokens[1:-1]))
    width = len(str(number + len(items) - 1)) + 1
    drawn = []
    for index, item in enumerate(items):
        sign = f"{number + index}.".rjust(width) if ordered else "•"
        drawn.append(prefixed(_item(item[1:-1], color), f"{sign} ", "md.bullet"))
    return Group(*drawn)


def _item(tokens: Sequence[Token], color: bool) -> RenderableType:
    """What an item holds; an empty line only between two paragraphs."""
    drawn: list[RenderableType] = []
    before = ""
    for group in _groups(tokens):
        if before == group[0].type == "paragraph_open":
            drawn.append(Text(""))
        drawn.append(draw(group, color))
        before = group[0].type
    return Group(*drawn) if drawn else Text("")


def _inline(token: Token, color: bool) -> Text:
    text = Text()
    styles: list[str] = []
    links: list[tuple[int, str]] = []
    for child in token.children or []:
        kind, start = child.type, len(text)
        if kind in _SPANS:
            styles.append(_SPANS[kind])
        elif kind == "link_open":
            links.append((start, str(child.attrs.get("href", ""))))
            styles.append("md.link")
        elif kind == "link_close":
            styles.pop()
            _address(text, *links.pop())
        elif kind.endswith("_close"):
            styles.pop()
        else:
            text.append_text(_leaf(child, color))
            for style in styles:  # each by itself: names of styles cannot be joined in one string
                text.stylize(style, start)
    return text


def _leaf(token: Token, color: bool) -> Text:
    """A piece of a line that holds no others."""
    content = clean(token.content)
    match token.type:
        case "softbreak" | "hardbreak":
            return Text("\n")
        case "code_inline":
            return Text().append(content if color else f"`{content}`", "md.code")
        case "image":
            source = clean(str(token.attrs.get("src", "")), keep_newlines=False)
            return Text(content or "image").append(f" ({source})", "md.url")
    return Text(content)


def _address(text: Text, start: int, href: str) -> None:
    """After a link's words its address, unless the words are the address."""
    address = clean(href, keep_newlines=False)
    if address.removeprefix("mailto:") != text.plain[start:]:
        text.append(f" ({address})", "md.url")


def _cells(tokens: Sequence[Token], color: bool) -> list[list[Text]]:
    rows: list[list[Text]] = []
    justify = "left"
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            justify = str(token.attrs.get("style", "")).rpartition(":")[2] or "left"
        elif token.type == "inline":
            cell = _inline(token, color)
            cell.justify = "right" if justify == "right" else "center" if justify == "center" else "left"
            rows[-1].append(cell)
    return rows


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows of cells, the first being the headers; as records where the columns would be too narrow."""

    rows: list[list[Text]]

    def __rich_console__(self, console: object, options: object) -> Iterator[RenderableType]:
        headers, *rows = self.rows or [[]]
        room = getattr(options, "max_width", 80)
        if len(headers) > 1 and room < _COLUMN * len(headers):
            yield from _records(headers, rows)
            return
        yield grid(headers, rows)


def grid(headers: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Table:
    """A table with a line under its headers and no other borders."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, border_style="md.table", header_style="head")
    for header in headers:
        table.add_column(header, justify=header.justify or "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _records(headers: Sequence[Text], rows: Sequence[Sequence[Text]]) -> Iterator[RenderableType]:
    for index, row in enumerate(rows):
        if index:
            yield Text("")
        for header, cell in zip(headers, row, strict=False):
            yield Text.assemble((f"{header.plain}: ", "head"), cell)
