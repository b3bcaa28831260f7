"""Markdown that is still arriving: a finished block is printed once, and only the rest is ever parsed again."""

from __future__ import annotations

import io
import re

from rich.console import Group, RenderableType
from rich.text import Text

from swecli.repl.render.markdown import colored, draw, draw_all, framed, groups, make_parser
from swecli.repl.render.sanitise import clean
from swecli.repl.render.screen import Screen

CODE_LINES = 20
"""Lines of code that are printed together."""
_DRAWN = 4_096  # characters of a tail that are worth parsing just to show it
_SMALL = 2_048  # a tail below this is parsed at every new line, a longer one only when it has grown by a quarter
_GROWTH = 1.25
_OPEN = ("bullet_list_open", "ordered_list_open", "code_block")  # an empty line does not end these


class MarkdownStream:
    """Feed it pieces of any size; `finish` prints what is left. The work is linear in the length of the text."""

    def __init__(self, screen: Screen) -> None:
        self._screen, self._parser = screen, make_parser()
        self._newlines = io.IncrementalNewlineDecoder(None, translate=True)
        self._rest = ""  # not printed yet, from the beginning of a line
        self._tried = 0  # length of the rest when it was last parsed
        self._fence: re.Pattern[str] | None = None  # what ends the block of code that the rest is in
        self._language, self._code = "", ""  # of that block: its name, and what is printed
        self._first = True

    def feed(self, text: str) -> None:
        """Take a piece; print what it finishes."""
        text = clean(self._newlines.decode(text))
        self._rest += text
        if "\n" in text:
            self._advance()

    def finish(self) -> None:
        """The text has ended: print the rest."""
        self._rest += clean(self._newlines.decode("", final=True))
        self._rest, self._tried = f"{self._rest}\n" if self._rest else "", 0
        self._advance()
        if self._fence is not None:
            self._print_code(self._rest.split("\n")[:-1])
        elif self._rest.strip():
            self._print(draw_all(self._parser.parse(self._rest), self._screen.color))
        self._rest, self._fence = "", None

    def tail(self, rows: int) -> RenderableType | None:
        """The unfinished end, as a drawing of about `rows` lines at most; None where there is nothing to show."""
        if not self._rest.strip():
            return None
        if self._fence is None and len(self._rest) <= _DRAWN:
            drawing: RenderableType = draw_all(self._parser.parse(self._rest), self._screen.color)
        else:
            text = Text("\n".join(self._rest[-rows * self._screen.width :].split("\n")[-rows:]))
            drawing = text if self._fence is None else framed(text)
        return drawing if self._first or self._code else Group(Text(""), drawing)

    def _advance(self) -> None:
        """Print and drop what is finished, as long as there is something."""
        while self._take_code() if self._fence is not None else self._take_blocks():
            pass

    def _take_code(self) -> bool:
        """Print lines of a block of code, in groups; True where it ends."""
        assert self._fence is not None
        *lines, unfinished = self._rest.split("\n")
        end = next((at for at, line in enumerate(lines) if self._fence.fullmatch(line)), None)
        ready = len(lines) // CODE_LINES * CODE_LINES if end is None else end
        self._print_code(lines[:ready])
        self._rest = "\n".join([*lines[ready if end is None else end + 1 :], unfinished])
        if end is not None:
            self._fence, self._code, self._tried = None, "", 0
        return end is not None

    def _take_blocks(self) -> bool:
        """Print the finished blocks of the complete lines; True where a block of code begins behind them."""
        if len(self._rest) > _SMALL and len(self._rest) < _GROWTH * self._tried:
            return False
        *lines, unfinished = self._rest.split("\n")
        blocks = list(groups(self._parser.parse("".join(f"{line}\n" for line in lines))))
        start = 0
        for block in blocks:
            first, (begin, end) = block[0], block[0].map or (0, 0)
            if block is not blocks[-1] or _ended(first.type, lines[end : end + 1]):
                if first.type != "fence" or first.content:
                    self._print(draw(block, self._screen.color))
                start = end
            elif first.type == "fence":
                self._fence = re.compile(rf" {{0,3}}{re.escape(first.markup[0])}{{{len(first.markup)},}}[ \t]*")
                self._language, self._code = first.info if self._screen.color else "", ""
                start = begin + 1
        self._rest = "\n".join([*lines[start:], unfinished])
        self._tried = len(self._rest)
        return self._fence is not None

    def _print(self, drawing: RenderableType) -> None:
        with self._screen.together():
            if not self._first:
                self._screen.line()
            self._screen.print(drawing)
        self._first = False

    def _print_code(self, lines: list[str]) -> None:
        if not lines:
            return
        piece = "".join(f"{line}\n" for line in lines).expandtabs(4)
        # read with all that came before it, or a string that began there would lose its colour
        code = colored(self._code + piece, self._language)[len(self._code) :]
        code.right_crop(1)
        if self._code:
            self._screen.print(framed(code))
        else:
            self._print(framed(code))
        self._code += piece


def _ended(kind: str, following: list[str]) -> bool:
    """Whether nothing that may follow can change a block; `following` is the complete line behind it, if any."""
    return kind in ("heading_open", "hr") or (kind not in _OPEN and following != [] and not following[0].strip())
