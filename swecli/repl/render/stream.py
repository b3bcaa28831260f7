"""Markdown that is still arriving: a finished block is printed once, and only the rest is ever parsed again."""

from __future__ import annotations

import io

from markdown_it.token import Token
from rich.console import Group, RenderableType
from rich.text import Text

from swecli.repl.render.formatting import clean
from swecli.repl.render.markdown import draw, draw_all, groups, make_parser
from swecli.repl.render.screen import Screen

_DRAWN = 4_096  # characters of a tail that are worth parsing just to show it
_SMALL = 2_048  # a tail below this is parsed at every new line, a longer one only when it has grown by a quarter
_GROWTH = 1.25
_OPEN = ("bullet_list_open", "ordered_list_open", "code_block")  # an empty line does not end these
_FENCES = ("```", "~~~")


class MarkdownStream:
    """Feed it pieces of any size; `finish` prints what is left. The work is linear in the length of the text."""

    def __init__(self, screen: Screen) -> None:
        self._screen, self._parser = screen, make_parser()
        self._newlines = io.IncrementalNewlineDecoder(None, translate=True)
        self._rest = ""  # not printed yet, from the beginning of a line
        self._tried = 0  # length of the rest when it was last parsed
        self._first = True

    def feed(self, text: str) -> None:
        """Take a piece; print what it finishes."""
        text = clean(self._newlines.decode(text))
        self._rest += text
        if "\n" in text and (len(self._rest) <= _SMALL or len(self._rest) >= _GROWTH * self._tried or self._fenced()):
            self._print_blocks()

    def finish(self) -> None:
        """The text has ended: print the rest."""
        self._rest += clean(self._newlines.decode("", final=True))
        if self._rest.strip():
            self._print(draw_all(self._parser.parse(self._rest), self._screen.color))
        self._rest = ""

    def tail(self, rows: int) -> RenderableType | None:
        """The unfinished end, as a drawing of about `rows` lines at most; None where there is nothing to show."""
        if not self._rest.strip():
            return None
        drawing: RenderableType = Text("\n".join(self._rest[-rows * self._screen.width :].split("\n")[-rows:]))
        if len(self._rest) <= _DRAWN:
            drawing = draw_all(self._parser.parse(self._rest), self._screen.color)
        return drawing if self._first else Group(Text(""), drawing)

    def _fenced(self) -> bool:
        """Whether the last whole line begins or ends a block of code, which is shown as soon as it is whole."""
        last = self._rest.rpartition("\n")[0]
        return last[last.rfind("\n") + 1 :].lstrip().startswith(_FENCES)

    def _print_blocks(self) -> None:
        *lines, unfinished = self._rest.split("\n")
        blocks = list(groups(self._parser.parse("".join(f"{line}\n" for line in lines))))
        start = 0
        for block in blocks:
            first, (_, end) = block[0], block[0].map or (0, 0)
            if block is blocks[-1] and not _ended(first, lines[end : end + 1]):
                break
            if first.type != "fence" or first.content:
                self._print(draw(block, self._screen.color))
            start = end
        self._rest = "\n".join([*lines[start:], unfinished])
        self._tried = len(self._rest)

    def _print(self, drawing: RenderableType) -> None:
        with self._screen.together():
            if not self._first:
                self._screen.line()
            self._screen.print(drawing)
        self._first = False


def _ended(first: Token, following: list[str]) -> bool:
    """Whether nothing that may follow can change a block; `following` is the complete line behind it, if any."""
    if first.type == "fence":
        begin, end = first.map or (0, 0)
        return end - begin == first.content.count("\n") + 2
    return first.type in ("heading_open", "hr") or (
        first.type not in _OPEN and following != [] and not following[0].strip()
    )
