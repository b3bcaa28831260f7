r"""How the name of a file is written where people and models read it, and read back to the same bytes.

A name stands as it is wherever that is clear, else in double quotes with escapes: `\"`, `\\`, `\n`, `\t`, `\xNN` for
one byte, `\uNNNN` and `\UNNNNNNNN` for a character that cannot be seen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from unicodedata import normalize

from swecli.text import unclear_character
from swecli.values import dataclass

_QUOTED = re.compile(r'"((?:[^"\\\n]|\\[^\n])+)"')
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([nt\"\\]))", re.ASCII
)
_LETTERS = {"\n": r"\n", "\t": r"\t", '"': r"\"", "\\": r"\\"}
_BY_LETTER = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}
_FIRST_BYTE = 0xDC00  # a byte that is not UTF-8 is this code and its value, as Python decodes names
_LAST_CODE = 0x10FFFF

# An @ at the start of a word, not in an e-mail address.
_MENTION = re.compile(r"""(?<![^\s([{,;:'"])@(?=\S)""")
_RANGE = re.compile(r":(\d{1,9})(?:-(\d{1,9}))?(?!\w)", re.ASCII)
_WORD = re.compile(r"\S+")
_LEAD = re.compile(r"\w+")
_CLOSING = re.compile(r"[^\w]*\Z")  # what may stand behind the slash of a folder: no further name
_JOINS_WORDS = frozenset("_-/")  # what belongs to a name if it follows a letter of it
_MAX_WORDS = 12  # of a name with spaces that stands without quotes
_MAX_ENDS = 64  # places where a name without quotes may end: one with more punctuation needs quotes
_MAX_LENGTH = (
    4 * 4096
)  # characters of a mention: the longest path of Linux, each byte of it an escape
_NEEDS_QUOTES = re.compile(r'[\s"\\]')


@dataclass(frozen=True, slots=True)
class Reading:
    """One name that a mention may mean, and the lines it asks for."""

    name: str
    start: int  # first line; 0: all lines
    end: int  # last line
    stop: int  # the position behind it, in the text


@dataclass(frozen=True, slots=True)
class WrittenMention:
    """An @ and what stands behind it."""

    text: str  # from behind the @ to the next blank, or to the closing quote
    is_quoted: bool
    lead: str  # the letters that every name it may mean begins with; "" if these are not known
    stop: int  # the position where the next mention may begin: behind the quotes, else behind the @
    _line: str  # the text from behind the @
    _start: int  # its position

    def readings(self) -> Iterator[Reading]:
        """Yield the names that it may mean, the longest first."""
        quoted = _QUOTED.match(self._line) if self.is_quoted else None
        for name, end in _read_quoted(self._line, quoted) if quoted else _read_bare(self._line):
            first, last, behind = _read_range(self._line, end)
            yield Reading(name, first, last, self._start + behind)


def fold_name(name: str) -> str:
    """Return a name to compare names that differ in capitals, or in how accents are written. Each accent stands apart,
    so that the beginning of a name stays one."""
    return name.lower() if name.isascii() else normalize("NFD", name).casefold()


def write_name(name: str) -> str:
    """Return a name for a line of its own, or the end of a sentence: quoted if it has anything that cannot be seen."""
    if name.isascii() and name.isprintable() and not name.startswith('"'):
        return name
    is_clear = not (unclear_character().search(name) or "\n" in name or "\t" in name)
    return name if is_clear and not name.startswith('"') else quote_name(name)


def relative_name(root: Path, path: str) -> str:
    """Return a path to show: relative to the workspace, or as it is if it lies outside."""
    if Path(path).is_relative_to(root):
        path = str(Path(path).relative_to(root))
    return write_name(path)


def write_mention(name: str) -> str:
    """Return what mentions a file, without the @: quoted unless `find_mention` reads the bare name back whole."""
    is_bare = not _NEEDS_QUOTES.search(name) and write_name(name) == name
    return name if is_bare else quote_name(name)


def read_name(text: str) -> str | None:
    """Return the name that a whole text quotes, None if it is not one in quotes."""
    match = _QUOTED.fullmatch(text)
    return _unescape(match[1]) if match else None


def read_start(text: str) -> str:
    """Return the name that has been begun behind an @ and is completed now."""
    if not text.startswith('"'):
        return text
    match = _QUOTED.match(text)
    if match is None:
        return _unescape(text[1:])
    return _unescape(match[1]) + text[match.end() :]


def quote_name(name: str) -> str:
    """Return a name in quotes, which end it whatever text follows."""
    quoted = "".join(_LETTERS.get(char) or _escape_hidden(char) for char in name)
    return f'"{quoted}"'


def _escape_hidden(char: str) -> str:
    code = ord(char)
    if _FIRST_BYTE + 0x80 <= code <= _FIRST_BYTE + 0xFF:
        return f"\\x{code - _FIRST_BYTE:02x}"
    if not unclear_character().match(char):
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _unescape(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted
    name = _ESCAPE.sub(_read_escape, quoted)
    try:
        return os.fsdecode(os.fsencode(name))  # bytes that are UTF-8 together are letters
    except UnicodeEncodeError:
        return name


def _read_escape(match: re.Match[str]) -> str:
    byte, short, long, letter = match.groups()
    if letter:
        return _BY_LETTER[letter]
    code = int(byte or short or long, 16)
    if byte and code >= 0x80:
        code += _FIRST_BYTE
    return chr(code) if code <= _LAST_CODE else match[0]


def find_mention(text: str, position: int = 0) -> WrittenMention | None:
    """Return the first mention at or behind a position: `@name`, `@"a name"`, both also with `:12` or `:12-20`. None if
    there is none."""
    match = _MENTION.search(text, position)
    if match is None:
        return None
    start = match.end()
    line = text[start : start + _MAX_LENGTH].partition("\n")[0]
    if quoted := _QUOTED.match(line):
        return WrittenMention(quoted[0], True, "", start + quoted.end(), line, start)
    word = _WORD.match(line)
    lead = _LEAD.match(line)
    assert word is not None
    return WrittenMention(word[0], False, lead[0] if lead else "", start, line, start)


def _read_quoted(line: str, quoted: re.Match[str]) -> Iterator[tuple[str, int]]:
    """Yield the names that a quoted name may mean: with what goes on behind the quotes, then by its escapes, then as it
    is written."""
    behind = quoted.end()
    name = _unescape(quoted[1])
    tail = _WORD.match(line, behind)
    if tail and (tail[0][0].isalnum() or tail[0][0] in "._-/[("):
        possible = (end for end in range(behind + 1, tail.end() + 1) if _is_end(line, end))
        for end in reversed(list(islice(possible, _MAX_ENDS))):
            yield name + line[behind:end], end
        if name.endswith("/") and not _is_end(line, behind):  # its folder is not meant
            return
    yield name, behind
    if name != quoted[1]:
        yield quoted[1], behind


def _read_bare(line: str) -> Iterator[tuple[str, int]]:
    """Yield the names that a line may begin with, the longest first: with spaces, then without."""
    opening = 1 if line.startswith('"') else 0  # a quote that nobody has closed
    *_, last_word = islice(_WORD.finditer(line), _MAX_WORDS)
    possible = (end for end in range(opening + 1, last_word.end() + 1) if _is_end(line, end))
    for end in reversed(list(islice(possible, _MAX_ENDS))):
        name = line[opening:end]
        if name.endswith("/") and not _CLOSING.match(_rest_of_word(line, end)):
            continue  # the path goes on
        yield (_unescape(name) if opening else name), end


def _rest_of_word(line: str, position: int) -> str:
    match = _WORD.match(line, position)
    return match[0] if match else ""


def _is_end(line: str, end: int) -> bool:
    """Return whether a name can end here: what follows is no letter of the same word."""
    if line[end - 1].isspace():
        return False
    if end == len(line) or line[end - 1] == "/":
        return True
    following = line[end]
    if following == ".":  # an ending, or the end of a sentence
        after = line[end + 1 : end + 2]
        return not (after.isalnum() or after == "_")
    return not following.isalnum() and following not in _JOINS_WORDS


def _read_range(line: str, end: int) -> tuple[int, int, int]:
    """Return the lines that are asked for behind a name, and the position behind them."""
    match = _RANGE.match(line, end)
    if match is None:
        return 0, 0, end
    first = max(1, int(match[1]))
    return first, int(match[2] or first), match.end()
