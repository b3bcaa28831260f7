"""Keys that were typed before the prompt could read them."""

from __future__ import annotations

import fcntl
import os
import re
import struct
import termios

from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.input.vt100 import Vt100Input

from swecli.repl.input.key_stream import KeyStream


def keep_early_keys(source: Input) -> None:
    """Read what waits in the terminal, so that the application gets it at its start. Until then the terminal turned
    Enter into a line feed, which at the prompt is Ctrl+J and begins a new row."""
    if not isinstance(source, Vt100Input) or not os.isatty(source.fileno()):
        return
    with source.raw_mode():
        data = _read_waiting(source.fileno())
    if data:
        _type(source, data.decode("utf-8", "replace").replace("\n", "\r"))
        store_typeahead(source, source.flush_keys())


def _type(source: Vt100Input, text: str) -> None:
    """Type a text, each line for itself: while nothing is read, lines that were typed one by one come at once too."""
    parser = source.vt100_parser
    stream = KeyStream()
    for part in re.split("(\r)", text):
        for keys in stream.feed(stream.join(part)):
            if isinstance(keys, str):
                parser.feed(keys)
            else:
                parser.feed_key_callback(keys)
    for keys in stream.flush():
        if isinstance(keys, str):
            parser.feed(keys)


def _read_waiting(terminal: int) -> bytes:
    """Return what can be read at once; b"" also if the terminal was closed."""
    try:
        waiting = fcntl.ioctl(terminal, termios.FIONREAD, b"\0" * 4)
        (count,) = struct.unpack("i", waiting)
        return os.read(terminal, count) if count else b""
    except OSError:
        return b""
