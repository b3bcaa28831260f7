"""Color the code of a page: tokens become <span>s of a few classes, whose colors style.css has for light and dark."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from itertools import groupby
from operator import itemgetter

from pygments.lexer import Lexer
from pygments.lexers import get_all_lexers, get_lexer_by_name
from pygments.token import Token

# Some patterns of lexers take time that grows with the square of the length, and a match cannot be interrupted. 27
# texts made to be slow were tried in all 600 languages, in lines of 80 and of 4,096. The slowest found, at this length:
# 34 s (tabs in easytrieve), 8 s (a line of backticks in janet, of quotes in maple), 2 s (one of brackets in html+ng2).
_MAX_CODE = 10_000  # characters, some 250 lines; a longer block has no colors
_PAGE_SECONDS = 5.0  # of the processor for all blocks of a page, measured: 3.5 MB of Python; later ones have no colors
# The first that a token belongs to is its class; the others have the color of text.
_CLASSES = (
    (Token.Comment.Preproc, "keyword"),
    (Token.Comment, "comment"),
    (Token.Keyword, "keyword"),
    (Token.Operator.Word, "keyword"),
    (Token.Literal.String, "string"),
    (Token.Literal.Number, "number"),
    (Token.Name.Attribute, "name"),
    (Token.Name.Class, "name"),
    (Token.Name.Decorator, "name"),
    (Token.Name.Function, "name"),
    (Token.Name.Tag, "name"),
    (Token.Generic.Inserted, "add"),
    (Token.Generic.Deleted, "del"),
)


class CodeColors:
    """Colors the blocks of one page, until `seconds` of the processor are spent."""

    def __init__(self, seconds: float = _PAGE_SECONDS) -> None:
        self._seconds_left = seconds

    def color(self, code: str, language: str, _attributes: str = "") -> str:
        """Return code as escaped HTML with its colors; "" if its language is unknown, or it or the page is too long.

        The signature is that of `highlight` of markdown-it, which escapes the code itself on "".
        """
        lexer = _find_lexer(language.lower())
        if lexer is None or len(code) > _MAX_CODE:
            return ""
        start = time.thread_time()
        try:
            tokens = self._split(code, lexer, start)
        except Exception:  # noqa: BLE001  # a lexer's fault costs the colors, not the page
            return ""
        finally:
            self._seconds_left -= time.thread_time() - start
        # it was too slow, or the lexer changes its text
        if "".join(text for _, text in tokens) != code:
            return ""
        return "".join(_format_parts(tokens))

    def _split(self, code: str, lexer: Lexer, start: float) -> list[tuple[str, str]]:
        """Return the code in parts, each with its class; not all of it if the time is up."""
        tokens: list[tuple[str, str]] = []
        for kind, text in lexer.get_tokens(code):
            if time.thread_time() - start > self._seconds_left:
                break
            tokens.append((_class_of(kind), text))
        return tokens


def _format_parts(tokens: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield escaped HTML, with one <span> around neighbours of one class."""
    for name, neighbours in groupby(tokens, itemgetter(0)):
        escaped = escape("".join(text for _, text in neighbours))
        yield f'<span class="{name}">{escaped}</span>' if name else escaped


@cache
def _class_of(kind: object) -> str:
    return next((name for parent, name in _CLASSES if kind in parent), "")


@cache
def _language_names() -> frozenset[str]:
    """Return the names of all languages that pygments itself knows: to ask it for another one takes 2 ms each time, and
    runs what other packages have installed."""
    return frozenset(name for _, names, _, _ in get_all_lexers(plugins=False) for name in names)


@cache
def _find_lexer(language: str) -> Lexer | None:
    """Return the lexer of a language; None if there is none."""
    if language not in _language_names():
        return None
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)
