"""Markdown that is still arriving: what is finished is printed once, and only the rest is ever parsed again."""

from __future__ import annotations

import re

from markdown_it.token import Token
from rich.console import Group, RenderableType
from rich.text import Text

from swecli.repl.render.code import Highlighter, framed
from swecli.repl.render.markdown import Block, draw, draw_all, is_empty, list_start, make_parser, split_list, top_blocks
from swecli.repl.render.sanitise import clean
from swecli.repl.render.screen import Screen

CODE_LINES = 8
"""Lines of code that are printed together."""
_LIST_ITEMS = 8
"""Finished items of a list that are printed together."""
_LONGEST = 4_096
"""Characters of one paragraph that are held back; and of a tail that is worth parsing just to show it."""
_SMALL = 2_048  # a tail below this is parsed at every new line, a longer one only when it has grown by a quarter
_GROWTH = 1.25
_OPEN = ("bullet_list_open", "ordered_list_open", "code_block")  # an empty line does not end these


class MarkdownStream:
    """Feed it pieces of any size; `finish` prints what is left.

    `parsed` counts the characters given to the Markdown parser to find finished blocks, `printed` the pieces that
    went to the screen: the work is linear in the length of the text.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._parser = make_parser()
        self._rest = ""  # not printed yet, from the beginning of a line
        self._carry = ""  # a carriage return whose newline may follow
        self._tried = 0  # length of the rest when it was last parsed
        self._code: _CodeStream | None = None
        self._number: int | None = None  # of the next item of a list whose beginning is printed
        self._in_code = False  # whether lines of the present block of code are printed
        self._joined = True  # whether the next piece follows without an empty line
        self.parsed = 0
        self.printed = 0

    def feed(self, text: str) -> None:
        """Take a piece; print what it finishes."""
        text = self._carry + text
        self._carry = "\r" if text.endswith("\r") else ""
        text = clean(text.removesuffix("\r") if self._carry else text)
        self._rest += text if self._rest or self.printed or self._code else text.lstrip("\n")
        if self._code is not None:
            if "\n" in text:
                self._advance()
        elif self._due(text):
            self._advance()

    def finish(self) -> None:
        """The text has ended: print the rest."""
        self._advance()
        if self._code is not None:
            self._print_code(self._code.close(self._rest))
        elif self._rest.strip():
            self.parsed += len(self._rest)
            self._print(draw_all(self._parse(self._rest), self._screen.color))
        self._rest, self._code, self._tried = "", None, 0

    def tail(self, rows: int) -> RenderableType | None:
        """The unfinished end, as a drawing of about `rows` lines at most; None where there is nothing to show."""
        if self._code is not None:
            return self._spaced(self._code.tail(self._rest[-rows * self._screen.width :], rows))
        if not self._rest.strip():
            return None
        if len(self._rest) <= _LONGEST:
            return self._spaced(draw_all(self._parse(self._rest), self._screen.color))
        room = max(1, rows) * self._screen.width
        return self._spaced(Text("\n".join(self._rest[-room:].split("\n")[-rows:])))

    def _spaced(self, drawing: RenderableType | None) -> RenderableType | None:
        return drawing if self._joined or drawing is None else Group(Text(""), drawing)

    def _due(self, text: str) -> bool:
        """Whether looking for finished blocks is worth its price now that `text` came."""
        size = len(self._rest)
        if size - self._tried >= _LONGEST:
            return True
        if "\n" not in text:
            return False
        empty_line = size < 4 * _SMALL and "\n\n" in self._rest[-len(text) - 1 :]
        return empty_line or size < _SMALL or size >= _GROWTH * self._tried

    def _parse(self, text: str) -> list[Token]:
        """The tokens; a numbered list whose beginning is printed goes on counting."""
        tokens = self._parser.parse(text)
        if self._number is not None and tokens and tokens[0].type == "ordered_list_open":
            tokens[0].attrs["start"] = self._number
        return tokens

    def _advance(self) -> None:
        """Print and drop what is finished, as long as there is something."""
        while True:
            if self._code is not None:
                self._rest, piece = self._code.take(self._rest)
                self._print_code(piece)
                if not self._code.closed:
                    return
                self._joined = self._joined and not self._in_code
                self._code, self._in_code = None, False
            if not self._advance_text():
                self._tried = len(self._rest)
                return

    def _advance_text(self) -> bool:
        """One round over the complete lines; True where they end in a block of code, which is taken up next."""
        *lines, unfinished = self._rest.split("\n")
        if not lines:
            self._cut_long()
            return False
        complete = "\n".join(lines) + "\n"
        self.parsed += len(complete)
        blocks = top_blocks(self._parse(complete))
        for block in blocks[:-1]:
            if not is_empty(block.tokens):
                self._print(draw(block.tokens, self._screen.color))
        if blocks and blocks[-1].kind == "fence":
            self._open_code(blocks[-1], [*lines[blocks[-1].start :], unfinished])
            return True
        if blocks and not _ended(blocks[-1], lines):
            self._keep(blocks[-1], [*lines, unfinished])
        else:
            if blocks:
                self._print(draw(blocks[-1].tokens, self._screen.color))
            self._rest = unfinished
        return False

    def _open_code(self, block: Block, lines: list[str]) -> None:
        fence, first = block.tokens[0], lines[0]
        indent = len(first) - len(first.lstrip(" "))
        self._code = _CodeStream(fence.markup, indent, Highlighter(fence.info, self._screen.color))
        self._rest = "\n".join(lines[1:])

    def _keep(self, block: Block, lines: list[str]) -> None:
        """The last block goes on; what is certain of it is printed all the same."""
        start = block.start
        if block.kind.endswith("list_open"):
            count, tokens, line = split_list(block)
            if count >= _LIST_ITEMS:
                number = list_start(block.tokens[0]) + count
                self._print(draw(tokens, self._screen.color))
                self._joined, self._number, start = True, number, line
        self._rest = "\n".join(lines[start:])
        if block.kind in ("paragraph_open", "blockquote_open"):
            self._cut_long()

    def _cut_long(self) -> None:
        """A paragraph or quote without end is printed in pieces, cut at a line end, else at a space."""
        while len(self._rest) >= _LONGEST:
            cut = (self._rest.rfind("\n", 0, _LONGEST) + 1) or (self._rest.rfind(" ", 0, _LONGEST) + 1) or _LONGEST
            self.parsed += cut
            self._print(draw_all(self._parse(self._rest[:cut]), self._screen.color))
            self._joined, self._rest = True, self._rest[cut:]

    def _print(self, drawing: RenderableType) -> None:
        with self._screen.together():
            if not self._joined:
                self._screen.line()
            self._screen.print(drawing)
        self._joined, self._number = False, None
        self.printed += 1

    def _print_code(self, code: Text | None) -> None:
        if code is not None:
            if not self._joined:
                self._screen.line()
            self._screen.print(framed(code))
            self._joined, self._in_code = True, True
            self.printed += 1


class _CodeStream:
    """The inside of a fenced block: lines go out in groups, without the Markdown parser."""

    def __init__(self, fence: str, indent: int, colors: Highlighter) -> None:
        self._end = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*")
        self._indent, self._colors = indent, colors
        self._lines: list[str] = []
        self.closed = False

    def take(self, text: str) -> tuple[str, Text | None]:
        """Take the complete lines; give back the rest, and the code that is ready to be printed."""
        *lines, rest = text.split("\n")
        for index, line in enumerate(lines):
            if self._end.fullmatch(line):
                self.closed = True
                return "\n".join([*lines[index + 1 :], rest]), self._ready(len(self._lines))
            self._lines.append(line[min(self._indent, len(line) - len(line.lstrip(" "))) :])
        return rest, self._ready(len(self._lines) // CODE_LINES * CODE_LINES)

    def close(self, rest: str) -> Text | None:
        """The text ended inside the block."""
        if rest and not self._end.fullmatch(rest):
            self._lines.append(rest)
        return self._ready(len(self._lines))

    def tail(self, rest: str, rows: int) -> RenderableType | None:
        """What is not printed yet."""
        lines = [*self._lines, rest][-rows:] if rest.strip(" `~") else self._lines
        return framed(self._colors.peek("\n".join(lines))) if lines else None

    def _ready(self, count: int) -> Text | None:
        if not count:
            return None
        piece, self._lines = self._lines[:count], self._lines[count:]
        colored = self._colors.next("\n".join(piece) + "\n")
        colored.right_crop(1)
        return colored


def _ended(block: Block, lines: list[str]) -> bool:
    """Whether nothing that may follow these complete lines can change the last block."""
    if block.kind in ("heading_open", "hr"):
        return True
    return block.kind not in _OPEN and block.end < len(lines) and not lines[block.end].strip()
