"""What the terminal is known to understand beyond drawing: notifications, marks between prompts, links; its colours."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

# A variable, how its value begins, and how such a terminal is asked to notify, as their manuals have it.
_KNOWN = (
    ("TERM_PROGRAM", "iTerm.app", "osc9"),
    ("TERM_PROGRAM", "WezTerm", "osc9"),
    ("TERM_PROGRAM", "ghostty", "osc9"),
    ("TERM_PROGRAM", "vscode", "bell"),
    ("TERM", "xterm-kitty", "osc9"),
    ("TERM", "foot", "osc777"),
    ("WT_SESSION", "", "bell"),
    ("KONSOLE_VERSION", "", "bell"),
    ("VTE_VERSION", "", "bell"),
)
_NOTIFICATIONS = {"osc9": "\x1b]9;swecli: {}\x07", "osc777": "\x1b]777;notify;swecli;{}\x07", "bell": "\x07"}
PROMPT, SENT, OUTPUT, DONE = (f"\x1b]133;{letter}\x07" for letter in "ABCD")
"""Marks: before the prompt, behind it, before what it leads to, behind that. Terminals jump between them."""


def known_as(environ: Mapping[str, str]) -> str:
    """How a known terminal notifies; "" for one that is not known, or sits behind a multiplexer."""
    if "TMUX" in environ or environ.get("TERM", "").startswith(("screen", "tmux")):
        return ""
    found = (way for name, begin, way in _KNOWN if environ.get(name, "").startswith(begin) and name in environ)
    return next(found, "")


def notification(setting: str, environ: Mapping[str, str], words: str) -> str:
    """What to write to the terminal to call the user; "" where the setting is off."""
    way = (known_as(environ) or "bell") if setting == "auto" else setting
    return _NOTIFICATIONS.get(way, "").format(words)


ASK = "\x1b]11;?\x07"  # what asks a terminal for its background
_SGR = re.compile(r"\x1b\[([\d;]+)m")
_ANSWER = re.compile(r"\x1b\]11;rgba?:([\da-f]+)/([\da-f]+)/([\da-f]+)[^\x07\x1b]{0,9}(?:\x07|\x1b\\)", re.IGNORECASE)
_BEGUN = re.compile(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]{0,40}\x1b?)?)?)?\Z")
_PATIENCE = 1.0  # seconds that the beginning of an answer waits for its end
# What becomes of a colour: on white, cyan, yellow and what is bright cannot be read. "" leaves it out.
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
