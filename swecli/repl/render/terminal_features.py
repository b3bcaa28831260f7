"""What a terminal can do beyond drawing, as its environment tells: notify the user, and how it becomes narrower."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

NotificationKind = Literal["osc9", "osc777", "bell", ""]  # "" for a terminal that is not known

# An environment variable, the prefix of its value, and the kind of notification that the terminal's manual documents.
_NOTIFICATION_KINDS: tuple[tuple[str, str, NotificationKind], ...] = (
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


def notification_kind(environ: Mapping[str, str]) -> NotificationKind:
    """Return how a known terminal is told to notify; "" for others and behind a multiplexer."""
    if "TMUX" in environ or environ.get("TERM", "").startswith(("screen", "tmux")):
        return ""
    for name, prefix, kind in _NOTIFICATION_KINDS:
        if name in environ and environ[name].startswith(prefix):
            return kind
    return ""


def breaks_lines_when_narrowed(environ: Mapping[str, str]) -> bool:
    """Return False for the terminals that cut lines when they become narrow: xterm, the Linux console, GNU screen."""
    term = environ.get("TERM", "")
    is_screen = term.startswith("screen") and "TMUX" not in environ
    return not (is_screen or term == "linux" or "XTERM_VERSION" in environ)


def format_notification(setting: str, environ: Mapping[str, str], message: str) -> str:
    """Format the control sequence that notifies the user; "" if the setting is off."""
    kind = setting
    if setting == "auto":
        kind = notification_kind(environ) or "bell"
    return _NOTIFICATIONS.get(kind, "").format(message)
