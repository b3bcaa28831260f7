"""What the terminal is known to understand beyond drawing: notifications, marks between prompts, links to files."""

from __future__ import annotations

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
