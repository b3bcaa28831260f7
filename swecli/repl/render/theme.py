"""The color theme: the colors of what is written are replaced by those that can be read on the background."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from swecli.repl.render.terminal_features import notification_kind

_BACKGROUND_QUERY = "\x1b]11;?\x07"
_BACKGROUND_REPLY = re.compile(
    r"\x1b\]11;rgba?:([\da-f]+)/([\da-f]+)/([\da-f]+)[^\x07\x1b]{0,9}(?:\x07|\x1b\\)", re.IGNORECASE
)
_PARTIAL_REPLY = re.compile(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]{0,40}\x1b?)?)?)?\Z")
_REPLY_TIMEOUT = 1.0  # seconds that a partial reply is buffered
_COLOR_CODES = re.compile(r"\x1b\[([\d;]+)m")
# Per theme, the color codes to replace: cyan, yellow and bright colors are unreadable on white. "" removes the code.
_REPLACED_COLORS: Mapping[str, Mapping[str, str]] = {
    "light": {
        "36": "34",
        "33": "35",
        "91": "31",
        "92": "32",
        "93": "35",
        "94": "34",
        "95": "35",
        "96": "34",
    },
    "none": {str(code): "" for code in (*range(30, 38), *range(90, 98))},
}


class Theme:
    """The color theme; `name` is auto, dark, light or none, of which auto follows the terminal's background."""

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self.name = name
        self._detected = "dark"
        background = environ.get("COLORFGBG", "").rpartition(";")[2]
        if background.isdecimal():
            self._detected = "light" if int(background) in (7, *range(9, 16)) else "dark"
        can_query = name == "auto" and not background and bool(notification_kind(environ))
        self._query = _BACKGROUND_QUERY if can_query else ""
        self._queried_at = float("-inf")  # seconds of `time.monotonic`; never, to begin with
        self._partial = ""  # the beginning of a reply

    @property
    def resolved(self) -> str:
        """Return dark, light or none."""
        return self._detected if self.name == "auto" else self.name

    def pop_query(self) -> str:
        """Return the sequence that queries the terminal's background, once; "" if it is not needed."""
        query = self._query
        self._query = ""
        if query:
            self._queried_at = time.monotonic()
        return query

    def strip_reply(self, data: str) -> str:
        """Remove the terminal's reply from its input, also if it arrives in pieces, and apply it."""
        if self._queried_at == float("-inf"):
            return data
        data = self._partial + data
        self._partial = ""
        if match := _BACKGROUND_REPLY.search(data):
            channels = (int(digits, 16) / (16 ** len(digits) - 1) for digits in match.groups())
            red, green, blue = channels
            luma = 0.299 * red + 0.587 * green + 0.114 * blue  # Rec. 601
            self._detected = "light" if luma > 0.5 else "dark"
            return data[: match.start()] + data[match.end() :]
        partial = _PARTIAL_REPLY.search(data)
        if partial is not None and time.monotonic() - self._queried_at < _REPLY_TIMEOUT:
            self._partial = partial.group()
            return data[: partial.start()]
        return data

    def recolor(self, text: str) -> str:
        """Replace the colors of text with escape codes by those of the theme."""
        replaced = _REPLACED_COLORS.get(self.resolved)
        if replaced is None or "\x1b[" not in text:
            return text

        def replace(match: re.Match[str]) -> str:
            codes = [replaced.get(code, code) for code in match[1].split(";")]
            kept_codes = ";".join(filter(None, codes))
            return f"\x1b[{kept_codes}m" if kept_codes else ""

        return _COLOR_CODES.sub(replace, text)
