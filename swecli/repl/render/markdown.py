"""Markdown as drawings: markdown-it's tokens, block by block, as rich renderables of our own.

HTML is shown as the text it is, links show their address, and nothing the parser was given is left out.
"""

from __future__ import annotations

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

from swecli.repl.render.formatting import sanitize

_NARROW = 12  # below this many columns an indent would cost more than it shows


@dataclass(frozen=True, slots=True)
class Prefixed:
    """`content` with `first` before its first line and `rest` before the others; all of it within the width. Both end
    without a newline and carry their styles in spans."""

    content: RenderableType
    first: Text
    rest: Text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        indent = max(self.first.cell_len, self.rest.cell_len)
        room = options.max_width - indent
        if room < _NARROW:
            yield self.content
            return
        inner = options.update(width=room, height=None)
        for index, line in enumerate(console.render_lines(self.content, inner, pad=False)):
            yield from (self.rest if index else self.first).render(console)
            yield from line
            yield Segment.line()


def prefixed(content: RenderableType, first: str, style: str = "", rest: str | None = None) -> Prefixed:
    """`content` behind the sign `first`; following lines are indented as far, or begin with `rest`."""
    lead = Text(end="").append(first, style)
    follow = Text(end="").append(" " * lead.cell_len if rest is None else rest, style)
    return Prefixed(content, lead, follow)


def indented(content: RenderableType, columns: int) -> Prefixed:
    """`content` moved to the right."""
    return prefixed(content, " " * columns)


_SPANS = {"strong_open": "md.strong", "em_open": "md.em", "s_open": "md.s"}
_RULE = 40


def make_parser() -> MarkdownIt:
    """CommonMark with tables and strike-through; no HTML, and no link definitions (a stream cannot wait for them)."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 60}).enable(["table", "strikethrough"])
    return parser.disable(["reference", "html_block", "html_inline"])


def draw_markdown(text: str, color: bool) -> RenderableType:
    """A whole, finished text."""
    return draw_all(make_parser().parse(sanitize(text)), color)


def draw_all(tokens: Sequence[Token], color: bool) -> RenderableType:
    """Blocks with an empty line between them; code without a line is nothing to draw."""
    drawn: list[RenderableType] = []
    for group in groups(tokens):
        if group[0].type != "fence" or group[0].content:
            drawn += [Text(""), draw(group, color)] if drawn else [draw(group, color)]
    return Group(*drawn)


def draw(tokens: Sequence[Token], color: bool) -> RenderableType:
    """One block, given by its tokens from the opening to the closing one."""
    first = tokens[0]
    match first.type:
        case "heading_open":
            return _heading(first, tokens[1], color)
        case "fence" | "code_block":
            return indented(_colored(sanitize(first.content).rstrip("\n"), first.info if color else ""), 2)
        case "bullet_list_open" | "ordered_list_open":
            return _list(tokens, color)
        case "blockquote_open":
            quoted = draw_all(tokens[1:-1], color)
            return prefixed(quoted, "▌ ", "quiet", "▌ ")
        case "hr":
            return Text("─" * _RULE, style="quiet", overflow="crop", no_wrap=True)
        case "table_open":
            return grid(_cells(tokens, color))
        case "paragraph_open":
            return _inline(tokens[1], color)
        case "inline":
            return _inline(first, color)
    return Text(sanitize(first.content))


def groups(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The tokens cut at the outermost level: one block each."""
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


def _list(tokens: Sequence[Token], color: bool) -> RenderableType:
    opening = tokens[0]
    ordered = opening.type == "ordered_list_open"
    number = int(opening.attrs.get("start", 1))
    items = list(groups(tokens[1:-1]))
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
    for group in groups(tokens):
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


def _address(text: Text, start: int, href: str) -> None:
    """After a link's words its address, unless the words are the address."""
    address = sanitize(href, keep_newlines=False)
    if address.removeprefix("mailto:") != text.plain[start:]:
        text.append(f" ({address})", "quiet")


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


def grid(rows: Sequence[Sequence[Text]]) -> Table:
    """A table with a line under its headers, the first of the rows, and no other borders."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, border_style="quiet", header_style="head")
    for header in rows[0]:
        table.add_column(header, justify=header.justify or "left", overflow="fold")
    for row in rows[1:]:
        table.add_row(*row)
    return table


_COLORED = 20_000  # characters of code that are worth colouring


def _colored(source: str, language: str) -> Text:
    """Code without tabs, in the terminal's own colours unless its language is "", not known, or it is very long."""
    source, name = source.expandtabs(4), language.strip().split(" ")[0].lower()
    if not name or len(source) > _COLORED:
        return Text(source)
    return Syntax("", name, theme="ansi_dark", word_wrap=True).highlight(source)[: len(source)]
