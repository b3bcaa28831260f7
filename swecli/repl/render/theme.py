"""The colours: those of the terminal's own palette, changed where its background is light, or left out."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from swecli.repl.render.known_terminal import known_as

ASK = "\x1b]11;?\x07"  # what asks a terminal for its background
_SGR = re.compile(r"\x1b\[([\d;]+)m")
_ANSWER = re.compile(r"\x1b\]11;rgba?:([\da-f]+)/([\da-f]+)/([\da-f]+)[^\x07\x1b]{0,9}(?:\x07|\x1b\\)", re.IGNORECASE)
_BEGUN = re.compile(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]{0,40}\x1b?)?)?)?\Z")
_PATIENCE = 1.0  # seconds that the beginning of an answer waits for its end
# What becomes of a colour: on white, cyan and yellow cannot be read. "" leaves it out.
_CHANGES: Mapping[str, Mapping[str, str]] = {
    "light": {"36": "34", "33": "35", "91": "31", "92": "32", "93": "35", "94": "34", "95": "35", "96": "34"},
    "none": {str(code): "" for code in (*range(30, 38), *range(90, 98))},
}


class Theme:
    """The theme in use. `name` is auto, dark, light or none; auto is what the terminal's background is found to be."""

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self.name, self._found = name, "dark"
        background = environ.get("COLORFGBG", "").rpartition(";")[2]
        if background.isdecimal():
            self._found = "light" if int(background) in (7, *range(9, 16)) else "dark"
        self.asks = name == "auto" and not background and bool(known_as(environ))
        """Whether the terminal is to be asked for its background."""
        self._asked, self._held = float("-inf"), ""

    @property
    def shown(self) -> str:
        """dark, light or none."""
        return self._found if self.name == "auto" else self.name

    def asked(self) -> None:
        """The question is on its way: an answer may come among the keys."""
        self.asks, self._asked = False, time.monotonic()

    def take(self, data: str) -> str:
        """The keys in what came from the terminal: its answer is taken out, also one that comes in pieces."""
        if self._asked == float("-inf"):
            return data
        data, self._held = self._held + data, ""
        if match := _ANSWER.search(data):
            red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
            self._found = "light" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "dark"  # luma of Rec. 601
            return data[: match.start()] + data[match.end() :]
        if time.monotonic() - self._asked < _PATIENCE and (begun := _BEGUN.search(data)):
            data, self._held = data[: begun.start()], begun.group()
        return data

    def recolored(self, text: str) -> str:
        """Text with escape codes, its colours changed."""
        changes = _CHANGES.get(self.shown)
        if changes is None or "\x1b[" not in text:
            return text

        def changed(match: re.Match[str]) -> str:
            codes = [changes.get(code, code) for code in match[1].split(";")]
            kept = ";".join(code for code in codes if code)
            return f"\x1b[{kept}m" if kept else ""

        return _SGR.sub(changed, text)
