"""When two pieces of code are the same: their layout counts where it can change what the code does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import lru_cache

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.token import Comment, Literal, Operator, Punctuation, Text, _TokenType
from pygments.util import ClassNotFound

from swecli.review.file_kinds import matches_kind
from swecli.values import dataclass

_MAX_CHARACTERS = 1_000_000  # of a file whose tokens are read: six seconds, measured on our sources
_CACHE_SIZE = 64  # files: one is read anew for each answer, and rarely changes meanwhile
_Token = tuple[_TokenType, str]


@lru_cache(_CACHE_SIZE)
def read_forms(path: str, lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return a form of each line of a file: lines with equal forms do the same at their place.

    The form of code is the depth of its indentation, whatever the width of a step, and its text, in which a run of
    blanks outside of quotes is one. It is "" for a blank line. All other lines are kept as they are, but for a carriage
    return at their end: the inside of quotes, documents and settings, and languages that are not known.
    """
    exact = tuple(f"={line.removesuffix(chr(13))}" for line in lines)
    text = "\n".join(lines)
    lexer = _find_lexer(path)
    if lexer is None or len(text) > _MAX_CHARACTERS:
        return exact
    tokens = [(kind, value) for _, kind, value in lexer.get_tokens_unprocessed(text)]
    if "".join(value for _, value in tokens) != text:
        return exact
    layout = _Layout()
    forms: list[str] = []
    for line, exact_form in zip(_split_lines(tokens), exact, strict=False):
        form = layout.read(line)
        forms.append(exact_form if form is None else form)
    return tuple(forms)


def digest_code(forms: Iterable[str]) -> str:
    """Return a digest of lines by their forms; blank lines of code do not count."""
    text = "\n".join(form for form in forms if form)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _find_lexer(path: str) -> Lexer | None:
    """Return what splits the language of a file into tokens; None where every blank may count."""
    if matches_kind(path, "docs") or matches_kind(path, "config"):
        return None
    try:
        return get_lexer_for_filename(path)
    except ClassNotFound:
        return None


@dataclass(frozen=True, slots=True)
class _Line:
    """The tokens of a line, without the end of the line; `begins_quoted` if it begins inside of quotes."""

    tokens: list[_Token]
    begins_quoted: bool = False

    @property
    def is_blank(self) -> bool:
        return all(_is_blank(token) for token in self.tokens)


def _split_lines(tokens: Iterable[_Token]) -> list[_Line]:
    """Return the lines of a file. A token that goes over several lines is cut at their ends."""
    lines = [_Line([])]
    for kind, value in tokens:
        first, *others = value.split("\n")
        pieces = [(lines[-1], first)]
        for piece in others:
            lines.append(_Line([], begins_quoted=kind in Literal))
            pieces.append((lines[-1], piece))
        for line, piece in pieces:
            if piece:
                line.tokens.append((kind, piece))
    return lines


def _is_blank(token: _Token) -> bool:
    kind, text = token
    return kind in Text and text.isspace()


@dataclass(slots=True)
class _Layout:
    """Reads the lines of a file in order. Where a line may stand at any indentation, inside of brackets, behind a
    backslash or as a comment, its own says nothing of the depth of the lines after it."""

    around: list[str] = field(default_factory=lambda: [""])  # indentations, the outermost first
    inside: list[str] = field(default_factory=list)  # the same of the lines in open brackets
    brackets: int = 0  # that are open
    continues: bool = False  # the line before ended with a backslash

    def read(self, line: _Line) -> str | None:
        """Return the form of a line, None if it has to be kept as it is."""
        if line.is_blank and not line.begins_quoted:
            return ""
        form = None if line.begins_quoted else self._form(line.tokens)
        self._count_brackets(line.tokens)
        self.continues = line.tokens[-1][1].endswith("\\") if line.tokens else False
        return form

    def _form(self, tokens: Sequence[_Token]) -> str | None:
        indent = tokens[0][1] if _is_blank(tokens[0]) else ""
        code = tokens[1:] if indent else tokens
        if code[0][1][0].isspace():  # in a comment of several lines, or in a text between tags
            return None
        depth = _measure(self._open_blocks(code), indent)
        text = "".join(" " if _is_blank(token) else token[1] for token in code)
        ends_quoted = code[-1][0] in Literal
        return f"{depth}:{text if ends_quoted else text.rstrip()}"

    def _open_blocks(self, code: Sequence[_Token]) -> list[str]:
        """Return the indentations that the line is compared with, and its own is added to."""
        blocks = self.inside if self.brackets else self.around
        is_comment = all(token[0] in Comment or _is_blank(token) for token in code)
        return list(blocks) if is_comment or self.continues else blocks

    def _count_brackets(self, tokens: Sequence[_Token]) -> None:
        for kind, text in tokens:
            if kind in Punctuation or kind in Operator:
                for character in text:
                    self._count(character)

    def _count(self, character: str) -> None:
        if character in "([{":
            if not self.brackets:
                self.inside = list(self.around)
            self.brackets += 1
        elif character in ")]}" and self.brackets:
            self.brackets -= 1


def _measure(around: list[str], indent: str) -> str:
    """Return how deep a line with this indentation is, and add the indentation to those `around` the next line. One
    that fits none of them is kept as it is."""
    is_dedent = False
    while not indent.startswith(around[-1]):
        around.pop()
        is_dedent = True
    if indent == around[-1]:
        return str(len(around) - 1)
    around.append(indent)
    return repr(indent) if is_dedent else str(len(around) - 1)
