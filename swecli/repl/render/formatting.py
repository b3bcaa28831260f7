"""Format costs, tokens, times and shares for people; sanitize foreign text before it reaches the terminal."""

from __future__ import annotations

import re
from pathlib import Path


def format_dollars(cost: float | None) -> str:
    """Format US dollars; None is "unknown", never "$0.00"."""
    if cost is None:
        return "unknown"
    return f"${cost:.4f}" if 0 < cost < 0.01 else f"${cost:.2f}"


def format_tokens(count: int) -> str:
    """Format a token count in at most five characters: 940, 1.2k, 48k, 1.3M."""
    if count < 1000:
        return str(count)
    if count < 999_500:
        return f"{count / 1000:.1f}k" if count < 9950 else f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}M"


def percent(part: int, whole: int | None) -> int | None:
    """Return `part` as a percentage of `whole`, rounded up; None if `whole` is 0 or unknown."""
    return -(-100 * part // whole) if whole else None


def format_duration(milliseconds: float) -> str:
    """Format a duration: `0.4 s`, `12 s`, `3 min 05 s`."""
    seconds = milliseconds / 1000
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def short_path(path: Path) -> str:
    """Return the path with the home folder as `~`."""
    try:
        inside = path.relative_to(Path.home())
    except (ValueError, RuntimeError):  # elsewhere, or there is no home folder
        return str(path)
    return f"~/{inside}" if inside.parts else "~"


# Control sequences are removed whole, so that no printable rest ("[31m") remains. Each is bounded: an unterminated one
# must not remove the text that follows.
_CONTROL_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x1b\x07\x9c\n]{0,2000}(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]{0,4}[0-Z\\\\^-~]"
)
# C0 without tab and newline, DEL, C1; fillers and soft hyphens; bidi controls; zero-width characters; variation
# selectors; annotation, musical and shorthand controls; tag letters; noncharacters.
_INVISIBLE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SURROGATES = "\ud800-\udfff"
_LINE_END = re.compile("\r\n|[\r\u2028\u2029]")
_INVISIBLE_RUN = re.compile(f"[{_INVISIBLE}]+")
_LONE_SURROGATE = re.compile(f"[{_SURROGATES}]")
# Zero-width joiners shape words in Arabic, Persian and Indic scripts; anywhere else they are only invisible.
_JOINING = "\u0620-\u06ff\u0750-\u077f\u08a0-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f"
_JOINERS = re.compile(f"(?<![{_JOINING}])[\u200c\u200d]+|[\u200c\u200d]+(?![{_JOINING}])|[\u200c\u200d]{{2,}}")
_ESCAPABLE = re.compile(f"[{_INVISIBLE}{_SURROGATES}\u200c\u200d\u2028\u2029\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")

ESCAPED = re.compile(r"<U\+[0-9A-F]{4,6}>")  # a character as `escape_invisible` writes it


def sanitize(text: str, keep_newlines: bool = True) -> str:
    """Remove control sequences and invisible characters, except tabs and newlines.

    Line ends of every kind become "\\n", lone surrogates U+FFFD. Without `keep_newlines`, newlines and tabs become
    spaces. Idempotent.
    """
    text = _LINE_END.sub("\n", _CONTROL_SEQUENCE.sub("", text))
    text = _JOINERS.sub("", _LONE_SURROGATE.sub("\ufffd", _INVISIBLE_RUN.sub("", text)))
    return text if keep_newlines else text.replace("\n", " ").replace("\t", " ")


def escape_invisible(text: str) -> str:
    """Escape every control, invisible or unusual space character, except tabs and newlines, as `<U+202E>`."""
    return _ESCAPABLE.sub(lambda match: f"<U+{ord(match[0]):04X}>", text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 400) -> str:
    """Sanitize and join into one line, truncated to `limit` characters with an ellipsis."""
    line = " ".join(sanitize(text[: limit * 4], keep_newlines=False).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
