"""The text of a file: its encoding, its line ends, and bytes that are not text."""

from __future__ import annotations

import codecs
import re
import unicodedata

from swecli.values import dataclass

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
BYTE_ORDER_MARKS = tuple(mark for mark, _ in _BYTE_ORDER_MARKS)
_START = 8192  # bytes in which a binary file has a NUL, as git judges
_HEAD = 1024  # characters in which a text declares its encoding, as the standard of HTML says
_SAMPLE = 65536  # bytes by which an encoding is guessed
# What declares the encoding of a text: a comment in one of the first two lines, as Python, Ruby and Emacs have it, the
# first line of XML and CSS, an element of HTML.
_DECLARATIONS = (
    re.compile(r"\A(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)", re.ASCII),
    re.compile(r"\A(?:[^\n]*\n)?[^\n]*-\*-[^\n]*?coding:[ \t]*([-\w.]+)[^\n]*-\*-", re.ASCII),
    re.compile(r"""\A<\?xml[^>]*?encoding\s*=\s*["']([-\w.]+)""", re.ASCII),
    re.compile(r"""\A@charset\s+["']([-\w.]+)""", re.ASCII),
    re.compile(r"""<meta[^>]*?charset\s*=\s*["']?([-\w.]+)""", re.ASCII | re.IGNORECASE),
)
_EMACS_ENDS = re.compile(r"-(?:unix|dos|mac)\Z")
_SIGNS = (" ", "\n")  # of text in two bytes for each character: numbers would often be controls
_STRAY = re.compile("[\udc80-\udcff]")
REPLACEMENT = "\ufffd"  # shown for a byte that is not text


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file. In UTF-8 text, bytes that are none are lone surrogates, and written back unchanged."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        """The line end of most lines, "\\n" or "\\r\\n"; "" if the text has none."""
        ends = self.text.count("\n")
        if not ends:
            return ""
        pairs = self.text.count("\r\n")
        return "\r\n" if pairs * 2 >= ends else "\n"

    @property
    def has_mixed_ends(self) -> bool:
        """Whether some lines end with "\\r\\n" and some with "\\n"."""
        return 0 < self.text.count("\r\n") < self.text.count("\n")

    @property
    def is_valid(self) -> bool:
        """Whether all bytes could be decoded."""
        return self.text.isascii() or not _STRAY.search(self.text)

    @property
    def readable_text(self) -> str:
        """The text as `replace_strays` shows it."""
        return replace_strays(self.text)

    def encoding_for(self, text: str) -> str:
        """Return the encoding for `text`: this file's, unless it declares another one than this file's did."""
        declared = _declared(text)
        if self.mark or _is_wide(declared) or declared == _declared(self.text):
            return self.encoding
        return declared or self.encoding

    def encode(self, text: str) -> bytes:
        """Return `text` as bytes, with this file's byte order mark. Raises UnicodeEncodeError for a character that the
        encoding does not have."""
        encoding = self.encoding_for(text)
        errors = "surrogateescape" if encoding == "utf-8" and not self.is_valid else "strict"
        return self.mark + text.encode(encoding, errors)


def decode(data: bytes, known_encoding: str = "") -> TextFile | None:
    """Return the text of `data`, or None if it is binary.

    The encoding is told by a byte order mark; else it is UTF-8 if the bytes are, or the first of these that fits and
    gives the same bytes back: `known_encoding` (what the file was in, or its settings say), what the text itself
    declares, UTF-16 without a mark, and a guess. In plain ASCII the first two say what will be written."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_as(data[len(mark) :], encoding, mark)
    has_nul = b"\0" in data[:_START]
    if has_nul:
        return _decode_wide(data, known_encoding)
    declared = (known_encoding, _declared(data[:_START].decode("latin-1")))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        file = _first_fit(data, declared) or _guess(data)
        return file or TextFile(data.decode("utf-8", "surrogateescape"))
    return _first_fit(data, declared) or TextFile(text) if text.isascii() else TextFile(text)


def replace_strays(text: str) -> str:
    """Return a text with a mark in place of each byte that is not text."""
    return text if text.isascii() else _STRAY.sub(REPLACEMENT, text)


def codec_name(name: str) -> str:
    """Return Python's name of an encoding for text, "" if it has none."""
    try:
        info = codecs.lookup(name)
        "a".encode(info.name)  # not one for bytes, such as base64
    except (LookupError, ValueError):  # also NUL in the name
        return ""
    return info.name


def _declared(text: str) -> str:
    head = text[:_HEAD]
    names = (match[1] for pattern in _DECLARATIONS if (match := pattern.search(head)))
    return next(filter(None, (codec_name(_EMACS_ENDS.sub("", name)) for name in names)), "")


def _decode_as(data: bytes, encoding: str, mark: bytes = b"") -> TextFile | None:
    """Return the text in an encoding, None if its bytes are not those of the data."""
    if mark == codecs.BOM_UTF8:
        return TextFile(data.decode(encoding, "surrogateescape"), encoding, mark)
    try:
        text = data.decode(encoding)
        is_same = text.encode(encoding) == data
    except (UnicodeError, LookupError):
        return None
    return TextFile(text, encoding, mark) if is_same else None


def _first_fit(data: bytes, encodings: tuple[str, ...]) -> TextFile | None:
    for encoding in encodings:
        name = codec_name(encoding) if encoding else ""
        file = _decode_as(data, name) if name and not _is_wide(name) else None
        if file is not None and _is_plain(file.text[:_START]):
            return file
    return None


def _decode_wide(data: bytes, known_encoding: str) -> TextFile | None:
    """Return text in UTF-16 without a mark: of the two byte orders the one with more blanks and line ends."""
    files = [
        file
        for encoding in dict.fromkeys((codec_name(known_encoding), "utf-16-le", "utf-16-be"))
        if _is_wide(encoding)
        and (file := _decode_as(data, encoding)) is not None
        and _is_plain(file.text[:_SAMPLE])
        and any(sign in file.text for sign in _SIGNS)
    ]
    return max(files, key=lambda file: sum(map(file.text.count, _SIGNS)), default=None)


def _is_wide(encoding: str) -> bool:
    return encoding.startswith(("utf-16", "utf-32"))


def _is_plain(text: str) -> bool:
    """Return whether a text has no character that no text has: controls and codes without a character."""
    return text.isprintable() or not any(
        unicodedata.category(char) in ("Cc", "Cn", "Co", "Cs") and char not in "\t\n\r\f\x1b"
        for char in set(text)
    )


def _guess(data: bytes) -> TextFile | None:
    """Return the text in the encoding that it looks like, None if it looks like none."""
    if _is_mostly_utf8(data):
        return None
    # late: few files are not UTF-8
    from swecli.encoding_guess import guess_encodings

    return _first_fit(data, tuple(guess_encodings(data)))


def _is_mostly_utf8(data: bytes) -> bool:
    """Return whether a text has more letters in UTF-8 than bytes that are none: these are strays."""
    text = data.decode("utf-8", "surrogateescape")
    strays = len(_STRAY.findall(text))
    return sum(not char.isascii() for char in text) - strays > strays


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends. Only "\\n" and "\\r\\n" end a line; there is no empty line after the
    last."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines
