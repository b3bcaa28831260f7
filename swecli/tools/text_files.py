"""A file as text, with everything needed to write it back as it was: encoding, byte order mark, line ends."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from swecli.tools.base import ToolError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LOOKED_AT = 8192


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file. Bytes that are no valid text stand in it as lone surrogates and come back unharmed."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @property
    def newline(self) -> str:
        """How most of its lines end: "\\n" or "\\r\\n"; "" where it has no line end at all."""
        pairs = self.text.count("\r\n")
        if not pairs:
            return "\n" if "\n" in self.text else ""
        return "\r\n" if pairs * 2 >= self.text.count("\n") else "\n"

    @property
    def clean(self) -> bool:
        """Whether all of its bytes were valid text."""
        return not any("\udc80" <= letter <= "\udcff" for letter in self.text)

    def encode(self, text: str) -> bytes:
        """Bytes for `text` in this file's encoding, with its mark. Raises ToolError for what cannot be written."""
        errors = "surrogateescape" if self.encoding == "utf-8" else "strict"
        try:
            return self.mark + text.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            letter = text[error.start]
            raise ToolError(
                f"The text holds a letter that cannot be written to a file (U+{ord(letter):04X})."
            ) from error


def encode_new(content: str) -> bytes:
    """Bytes of a file that did not exist: valid UTF-8. Raises ToolError for what cannot be written so."""
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        letter = ord(content[error.start])
        raise ToolError(f"The text holds a letter that cannot be written to a file (U+{letter:04X}).") from error


def decode(data: bytes) -> TextFile | None:
    """The text in `data`; None where it is binary."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                errors = "surrogateescape" if encoding == "utf-8" else "strict"
                return TextFile(data[len(mark) :].decode(encoding, errors), encoding, mark)
            except UnicodeDecodeError:
                return None
    if b"\0" in data[:_LOOKED_AT]:
        return None
    return TextFile(data.decode("utf-8", "surrogateescape"))


def split_lines(text: str) -> list[str]:
    """Lines without their ends. Only "\\n" and "\\r\\n" end a line; a last line end does not open another line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines


def printable(text: str) -> str:
    """Text fit for a message: bytes that are no valid text written out as `\\xNN`."""
    if text.isascii():
        return text
    return "".join(f"\\x{ord(c) - 0xDC00:02x}" if "\udc80" <= c <= "\udcff" else c for c in text)


def with_style_of(old: TextFile, content: str) -> bytes:
    """New content for a file that exists, in its encoding and, unless `content` chose its own, its line ends."""
    if old.newline == "\r\n" and "\r\n" not in content:
        content = content.replace("\n", "\r\n")
    return old.encode(content)
