"""Colouring source code piece by piece, so that a long block can be printed while it is still arriving."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.syntax import Syntax
from rich.text import Text

from swecli.repl.render.layout import indented
from swecli.repl.render.sanitise import clean

_INDENT = 2
_TAB = 4
_REACH = 100  # lines of an unfinished string, comment or block that are looked back at, at most
_LONGEST = 5_000  # characters of a line that are worth colouring

# The longest matching prefix of a pygments token's name wins.
_TOKENS = {
    "Token.Comment": "code.comment",
    "Token.Comment.Preproc": "code.keyword",
    "Token.Keyword": "code.keyword",
    "Token.Keyword.Constant": "code.number",
    "Token.Operator.Word": "code.keyword",
    "Token.Literal.String": "code.string",
    "Token.Literal.Number": "code.number",
    "Token.Name.Function": "code.name",
    "Token.Name.Class": "code.name",
    "Token.Name.Tag": "code.keyword",
    "Token.Name.Builtin": "code.builtin",
    "Token.Name.Decorator": "code.builtin",
    "Token.Generic.Inserted": "code.added",
    "Token.Generic.Deleted": "code.removed",
    "Token.Generic.Heading": "code.heading",
    "Token.Generic.Subheading": "code.heading",
}
_PROBE = "\nzq\n"  # a word put behind a piece: how it is read there shows whether the piece left something open


class Highlighter:
    """Colours consecutive pieces of one block; each piece is whole lines.

    A piece is read from the last place where a new word meant what it means at the beginning, so that a docstring
    that began earlier keeps its colour, and the work stays linear in the length of the block.
    """

    def __init__(self, language: str, color: bool) -> None:
        self._lexer: Any = _lexer(language) if color else None
        self._before = ""
        self._outside = self._lex(_PROBE)[-1][0] if self._lexer else ""
        self._styles: dict[str, str] = {}

    def next(self, piece: str) -> Text:
        """The piece, coloured; the next one goes on from here."""
        piece = piece.expandtabs(_TAB)
        text, inside = self._color(piece)
        self._before = self._before + piece if inside else ""
        if self._before.count("\n") > _REACH:
            self._before = ""
        return text

    def peek(self, piece: str) -> Text:
        """The piece, coloured, without going on."""
        return self._color(piece.expandtabs(_TAB))[0]

    def _color(self, piece: str) -> tuple[Text, bool]:
        """`piece` has no tabs, which the lexer would make longer. The flag: whether it left something open."""
        if self._lexer is None or len(piece) > _LONGEST:
            return Text(piece), False
        text, skip, kind = Text(), len(self._before), ""
        for kind, value in self._lex(self._before + piece + _PROBE):
            shown = value[skip:]
            skip = max(0, skip - len(value))
            if shown:
                text.append(shown, self._style(kind))
        return text[: len(piece)], kind != self._outside

    def _lex(self, source: str) -> list[tuple[str, str]]:
        """(kind, text) of each token but the white space at the end."""
        tokens = [(kind, value) for kind, value in self._lexer.get_tokens(source)]
        while tokens and not tokens[-1][1].strip():
            tokens.pop()
        return [(repr(kind), value) for kind, value in tokens] or [("", source)]

    def _style(self, kind: str) -> str:
        """The style of the longest prefix that has one."""
        if kind not in self._styles:
            parts = kind.split(".")
            names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
            self._styles[kind] = next((_TOKENS[name] for name in names if name in _TOKENS), "")
        return self._styles[kind]


def code_block(source: str, language: str, color: bool) -> RenderableType:
    """A whole block of code."""
    return framed(Highlighter(language, color).next(clean(source).rstrip("\n")))


def framed(code: Text) -> RenderableType:
    """Coloured code as it stands in an answer: indented, without a border that would be copied along."""
    return indented(code, _INDENT)


def _lexer(language: str) -> Any:
    name = language.strip().split(" ")[0].lower()
    return Syntax("", name).lexer if name and len(name) < 40 else None
