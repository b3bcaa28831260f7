"""Color code line by line: the color of a line depends on the lines before it, never on those after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cache
from typing import Any

from pygments.lexer import ExtendedRegexLexer, Lexer, LexerContext, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound
from rich.syntax import Syntax, SyntaxTheme
from rich.text import Text

from swecli.values import dataclass

_TAB_SIZE = 4
# A line or an open comment that is longer is not colored: no person reads colors there, and each line of an open
# comment is looked at again with those before it.
_MAX_COLORED = 4_096
_ROOT = ("root",)


@dataclass(frozen=True, slots=True)
class CodeColors:
    """Colors lines of `language`, or leaves them as they are if it is unknown. A value: coloring returns the next one.

    `unfinished` are the lines before that have to be looked at again, as those of a comment that is not closed, and
    `stack` the states of the lexer at their beginning.
    """

    language: str = ""
    stack: tuple[str, ...] = _ROOT
    unfinished: str = field(default="", repr=False)

    @classmethod
    def for_info(cls, info: str) -> CodeColors:
        """Return the colors for the words after a fence."""
        words = info.lower().split()
        return cls(words[0] if words else "")

    def color(self, lines: list[str]) -> tuple[Text, CodeColors]:
        """Return lines with their colors and tabs expanded, and the colors for the lines that follow."""
        plain = [line.expandtabs(_TAB_SIZE) for line in lines]
        text = Text("\n".join(plain))
        lexer = _find_lexer(self.language)
        if lexer is None:
            return text, self
        colors = self
        start = 0
        for line in plain:
            if len(line) <= _MAX_COLORED:
                colors = colors._color_line(lexer, text, line, start)
            start += len(line) + 1
        return text, colors

    def _color_line(self, lexer: Lexer, text: Text, line: str, start: int) -> CodeColors:
        """Color the line that begins at `start` of `text`, and return the colors for the next one."""
        source = f"{self.unfinished}{line}\n"
        offset = start - len(self.unfinished)
        context = LexerContext(source, 0, list(self.stack))
        last = ""
        try:
            for position, kind, last in _tokens(lexer, context):
                style = _theme().get_style_for_token(kind)
                begin = offset + position
                end = min(begin + len(last), start + len(line))
                begin = max(begin, start)
                if style and begin < end:
                    text.stylize(style, begin, end)
        except Exception:  # noqa: BLE001  # a lexer's fault costs the colors, not the code
            return CodeColors()
        is_closed = not last.strip() or len(source) > _MAX_COLORED
        if is_closed:
            return CodeColors(self.language, tuple(context.stack))
        return CodeColors(self.language, self.stack, source)


def _tokens(lexer: Lexer, context: LexerContext) -> Iterator[tuple[int, Any, str]]:
    """Yield position, type and text of the tokens of a line. `context` has the states at its end afterwards, if the
    lexer can go on where it stopped; another one sees each line alone."""
    if isinstance(lexer, RegexLexer) and not isinstance(lexer, ExtendedRegexLexer):
        # the only loop of pygments that begins and ends with given states; it needs nothing of its own class
        yield from ExtendedRegexLexer.get_tokens_unprocessed(lexer, context=context)
    else:
        yield from lexer.get_tokens_unprocessed(context.text)


@cache
def _find_lexer(language: str) -> Lexer | None:
    """Return the lexer of a language; None if there is none."""
    if not language:
        return None
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


@cache
def _theme() -> SyntaxTheme:
    """Return the theme of the terminal's own sixteen colors."""
    return Syntax.get_theme("ansi_dark")
