"""The text of a file: its encoding, its line ends, and bytes that are not text."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from swecli.tools.base import ToolError

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file. Undecodable bytes are lone surrogates, and written back unchanged."""

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
    def is_valid(self) -> bool:
        """Whether all bytes could be decoded."""
        return not re.search(r"[\udc80-\udcff]", self.text)

    def encode(self, text: str) -> bytes:
        """Return `text` in this file's encoding, with its byte order mark. Raises ToolError if it cannot be encoded."""
        errors = "surrogateescape" if self.encoding == "utf-8" and not self.is_valid else "strict"
        try:
            return self.mark + text.encode(self.encoding, errors)
        except UnicodeEncodeError as error:
            letter = ord(text[error.start])
            raise ToolError(
                f"The text contains a character that files cannot hold (U+{letter:04X})."
            ) from error


def decode(data: bytes) -> TextFile | None:
    """Return the text of `data`, or None if it is binary."""
    mark, encoding = next(
        (pair for pair in _BYTE_ORDER_MARKS if data.startswith(pair[0])), (b"", "utf-8")
    )
    if not mark and b"\0" in data[:8192]:
        return None
    try:
        text = data[len(mark) :].decode(
            encoding, "surrogateescape" if encoding == "utf-8" else "strict"
        )
    except UnicodeDecodeError:
        return None
    return TextFile(text, encoding, mark)


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends. Only "\\n" and "\\r\\n" end a line; there is no empty line after the
    last."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return lines[:-1] if lines[-1] == "" else lines
