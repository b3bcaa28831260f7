"""Bytes of an event stream to events: whatever the line ends, wherever the bytes were split, without keeping them."""

from __future__ import annotations

LONGEST_EVENT = 4 << 20
_STRAY = 1 << 20  # of a body that is no event stream
_BOM = b"\xef\xbb\xbf"


class TooLong(ValueError):
    """An event or an answer is larger than any answer of a model."""


class EventReader:
    """Gives the data of each whole event. `stray` is what came and is no event stream: a JSON body, a web page."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # the beginning of a line
        self._size = 0
        self._data: list[bytes] = []
        self._began = False
        self._stray: list[bytes] = []
        self._stray_size = 0

    @property
    def stray(self) -> bytes:
        """Lines that are no part of an event, joined."""
        return b"\n".join(self._stray)

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the events that this piece completes. Raises TooLong."""
        if not piece:
            return []
        self._rest.append(piece)
        self._size += len(piece)
        if self._size > LONGEST_EVENT:
            raise TooLong(f"an event of more than {LONGEST_EVENT >> 20} MiB")
        return self._lines() if b"\n" in piece or b"\r" in piece else []

    def end(self) -> list[bytes]:
        """The data of an event whose closing empty line never came."""
        self._rest.append(b"\n\n")
        return self._lines()

    def _lines(self) -> list[bytes]:
        text = b"".join(self._rest)
        if not self._began and len(text) >= len(_BOM):
            text, self._began = text.removeprefix(_BOM), True
        held = b""
        if b"\r" in text:
            # the other half of a line end may come with the next piece
            text, held = (text[:-1], b"\r") if text.endswith(b"\r") else (text, b"")
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = text.split(b"\n")
        self._rest = [rest + held] if rest or held else []
        found = [data for line in lines if (data := self._line(line)) is not None]
        self._size = len(rest) + sum(map(len, self._data))
        return found

    def _line(self, line: bytes) -> bytes | None:
        """The data of the event that this line ends."""
        if not line:
            data, self._data = b"\n".join(self._data), []
            return data or None
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            self._data.append(value)
        elif name == b"error":  # older llama.cpp servers: an error object as a field of its own
            self._data.append(b'{"error":%b}' % value)
        elif name not in (b"", b"event", b"id", b"retry") and self._stray_size < _STRAY:
            self._stray.append(line)
            self._stray_size += len(line)
        return None
