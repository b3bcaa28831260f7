"""Text for a terminal: format values for people, notify, recolor by the theme."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from swecli.models.counts import format_tokens as format_tokens
from swecli.models.counts import percent as percent
from swecli.models.money import format_dollars as format_dollars
from swecli.text import unclear_character


def format_duration(milliseconds: float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 05 s`."""
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


# Below these seconds, seconds a unit, unit.
_AGE_UNITS = ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"))


def format_age(then: datetime, now: datetime | None = None) -> str:
    """Format the time since `then`: `5 min ago`, `3 h ago`, the date after two days. A naive time is UTC."""
    when = then if then.tzinfo else then.replace(tzinfo=UTC)
    seconds = max(0.0, ((now or datetime.now(UTC)) - when).total_seconds())
    for limit, unit, name in _AGE_UNITS:
        if seconds < limit:
            return f"{int(seconds // unit)} {name} ago"
    return "1 day ago" if seconds < 2 * 86_400 else when.date().isoformat()


def short_path(path: Path) -> str:
    """Return the path with the home folder as `~`."""
    try:
        inside = path.relative_to(Path.home())
    except (ValueError, RuntimeError):  # elsewhere, or there is no home folder
        return str(path)
    return f"~/{inside}" if inside.parts else "~"


ESCAPED = re.compile(r"<U\+[0-9A-F]{4,6}>")  # a character as `escape_invisible` writes it


def escape_invisible(text: str) -> str:
    """Escape every control, invisible or unusual space character, except tabs and newlines, as `<U+202E>`."""
    return unclear_character().sub(
        lambda match: f"<U+{ord(match[0]):04X}>", text.replace("\r\n", "\n")
    )


# An environment variable, the prefix of its value, and the kind of notification that the terminal's manual documents.
_NOTIFICATION_KINDS = (
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
_NOTIFICATIONS = {
    "osc9": "\x1b]9;swecli: {}\x07",
    "osc777": "\x1b]777;notify;swecli;{}\x07",
    "bell": "\x07",
}


def notification_kind(environ: Mapping[str, str]) -> str:
    """Return osc9, osc777 or bell for a known terminal; "" for others and behind a multiplexer."""
    if "TMUX" in environ or environ.get("TERM", "").startswith(("screen", "tmux")):
        return ""
    matches = (
        kind
        for name, prefix, kind in _NOTIFICATION_KINDS
        if name in environ and environ[name].startswith(prefix)
    )
    return next(matches, "")


def breaks_lines_when_narrowed(environ: Mapping[str, str]) -> bool:
    """Return False for the terminals that cut lines when they become narrow: xterm, the Linux console, GNU screen."""
    term = environ.get("TERM", "")
    is_screen = term.startswith("screen") and "TMUX" not in environ
    return not (is_screen or term == "linux" or "XTERM_VERSION" in environ)


def format_notification(setting: str, environ: Mapping[str, str], message: str) -> str:
    """Format the control sequence that notifies the user; "" if the setting is off."""
    kind = (notification_kind(environ) or "bell") if setting == "auto" else setting
    return _NOTIFICATIONS.get(kind, "").format(message)


_BACKGROUND_QUERY = "\x1b]11;?\x07"
_BACKGROUND_REPLY = re.compile(
    r"\x1b\]11;rgba?:([\da-f]+)/([\da-f]+)/([\da-f]+)[^\x07\x1b]{0,9}(?:\x07|\x1b\\)", re.IGNORECASE
)
_PARTIAL_REPLY = re.compile(r"\x1b\](?:1(?:1(?:;[^\x07\x1b]{0,40}\x1b?)?)?)?\Z")
_REPLY_TIMEOUT = 1.0  # seconds that a partial reply is buffered
_SGR = re.compile(r"\x1b\[([\d;]+)m")
# Per theme, the SGR codes to replace: cyan, yellow and bright colors are unreadable on white. "" removes the code.
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
    """The color theme; `name` is auto, dark, light or none. auto follows the terminal's background."""

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self.name, self._detected = name, "dark"
        background = environ.get("COLORFGBG", "").rpartition(";")[2]
        if background.isdecimal():
            self._detected = "light" if int(background) in (7, *range(9, 16)) else "dark"
        can_query = name == "auto" and not background and bool(notification_kind(environ))
        self._query = _BACKGROUND_QUERY if can_query else ""
        self._queried_at, self._partial = float("-inf"), ""

    @property
    def resolved(self) -> str:
        """Return dark, light or none."""
        return self._detected if self.name == "auto" else self.name

    def pop_query(self) -> str:
        """Return the sequence that queries the terminal's background, once; "" if it is not needed."""
        query, self._query = self._query, ""
        if query:
            self._queried_at = time.monotonic()
        return query

    def strip_reply(self, data: str) -> str:
        """Remove the terminal's reply from its input, also if it arrives in pieces, and apply it."""
        if self._queried_at == float("-inf"):
            return data
        data, self._partial = self._partial + data, ""
        if match := _BACKGROUND_REPLY.search(data):
            red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
            luma = 0.299 * red + 0.587 * green + 0.114 * blue  # Rec. 601
            self._detected = "light" if luma > 0.5 else "dark"
            return data[: match.start()] + data[match.end() :]
        if time.monotonic() - self._queried_at < _REPLY_TIMEOUT and (
            partial := _PARTIAL_REPLY.search(data)
        ):
            data, self._partial = data[: partial.start()], partial.group()
        return data

    def recolor(self, text: str) -> str:
        """Replace the colors of text with escape codes by those of the theme."""
        replaced = _REPLACED_COLORS.get(self.resolved)
        if replaced is None or "\x1b[" not in text:
            return text

        def replace(match: re.Match[str]) -> str:
            codes = ";".join(
                code for old in match[1].split(";") if (code := replaced.get(old, old))
            )
            return f"\x1b[{codes}m" if codes else ""

        return _SGR.sub(replace, text)
