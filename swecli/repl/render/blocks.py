"""Render single blocks of Markdown as rich renderables; HTML is shown as text, and links show their address."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markdown_it.token import Token
from rich.console import JustifyMethod, RenderableType
from rich.text import Text

from swecli.repl.render.prefix import Sign
from swecli.text import sanitize

_SPAN_STYLES = {"strong_open": "md.strong", "em_open": "md.em", "s_open": "md.s"}
_RULE_WIDTH = 40
_JUSTIFY: dict[str, JustifyMethod] = {"text-align:right": "right", "text-align:center": "center"}
_CITATION = r"\[P-[0-9]+(?:, ?P-[0-9]+)*\]"


Block = Sequence[Token]  # from its opening token to its closing one


def split_blocks(tokens: Sequence[Token]) -> Iterator[Block]:
    """Split tokens into the blocks that lie one below the other."""
    depth = start = 0
    for index, token in enumerate(tokens):
        depth += token.nesting
        if depth == 0:
            yield tokens[start : index + 1]
            start = index + 1


def render_leaf_block(tokens: Block, color: bool) -> RenderableType:
    """Render a block that is neither a container, a table nor code."""
    first = tokens[0]
    match first.type:
        case "heading_open":
            return _render_heading(first, tokens[1], color)
        case "hr":
            rule = Text("─" * _RULE_WIDTH, style="quiet", overflow="crop", no_wrap=True)
            return Sign(rule, "---")
        case "paragraph_open":
            return render_inline(tokens[1], color)
        case "inline":
            return render_inline(first, color)
    return Text(sanitize(first.content))


def _render_heading(opening: Token, content: Token, color: bool) -> Text:
    level = int(opening.tag[1:])
    text = render_inline(content, color)
    if not color:
        return Text(f"{'#' * level} ").append_text(text)
    text.stylize_before(f"md.h{min(level, 3)}")
    return text


def render_inline(token: Token, color: bool) -> Text:
    """Render an inline token with its emphasis, code and links."""
    text = Text()
    styles: list[str] = []
    links: list[tuple[int, str]] = []
    for child in token.children or []:
        kind = child.type
        start = len(text)
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
    # names of strategies, which the model gives for the records
    text.highlight_regex(_CITATION, "quiet")
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


def table_rows(tokens: Block, color: bool) -> list[list[Text]]:
    """Return the cells of a table, row by row, the header first."""
    rows: list[list[Text]] = []
    justify: JustifyMethod = "left"
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            justify = _JUSTIFY.get(str(token.attrs.get("style")), "left")
        elif token.type == "inline":
            cell = render_inline(token, color)
            cell.justify = justify
            rows[-1].append(cell)
    return rows
