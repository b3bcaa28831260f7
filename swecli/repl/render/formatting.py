"""Numbers as people read them; the one filter between foreign text and the screen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

_AGES = ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"))


def format_dollars(cost: float | None) -> str:
    """US dollars; None is unknown, never shown as 0."""
    if cost is None:
        return "unknown"
    if 0 < cost < 0.01:
        return f"${cost:.4f}"
    return f"${cost:.2f}"


def format_tokens(count: int) -> str:
    """A count of tokens in at most five characters: 940, 1.2k, 48k, 1.3M."""
    if count < 1000:
        return str(count)
    if count < 999_500:
        return f"{count / 1000:.1f}k" if count < 9950 else f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.1f}M"


def percent(part: int, whole: int | None) -> int | None:
    """How much of `whole` is taken, rounded up so that something is never 0 %; None where the whole is unknown."""
    if not whole:
        return None
    return -(-100 * part // whole)


def format_bar(part: int, whole: int, width: int = 24) -> str:
    """`width` characters, of which the share of `part` is filled; something is at least one character."""
    filled = 0 if whole <= 0 or part <= 0 else min(width, max(1, round(width * part / whole)))
    return "█" * filled + "·" * (width - filled)


def format_age(then: datetime, now: datetime | None = None) -> str:
    """How long ago: `5 min ago`, `3 h ago`, and the date from two days on. A time without a zone is UTC."""
    when = then if then.tzinfo else then.replace(tzinfo=UTC)
    seconds = max(0.0, ((now or datetime.now(UTC)) - when).total_seconds())
    for limit, unit, name in _AGES:
        if seconds < limit:
            return f"{int(seconds // unit)} {name} ago"
    return "1 day ago" if seconds < 2 * 86_400 else when.date().isoformat()


def wants_color(environ: Mapping[str, str], terminal: bool, setting: bool = True) -> bool:
    """Whether escape codes may be written: NO_COLOR and the setting say no, FORCE_COLOR says yes, else the terminal."""
    if "NO_COLOR" in environ or not setting:
        return False
    if environ.get("FORCE_COLOR", "0") not in ("0", "false"):
        return True
    return terminal and not is_dumb(environ)


def is_dumb(environ: Mapping[str, str]) -> bool:
    """Whether the terminal cannot even move its cursor."""
    return environ.get("TERM", "") in ("", "dumb", "unknown")


# Whole control sequences go first, so that their printable remains ("[31m") do not litter the text. Each is bounded:
# an unclosed one must not swallow what follows it.
_SEQUENCES = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x1b\x07\x9c\n]{0,2000}(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]{0,4}[0-Z\\\\^-~]"
)
# C0 but tab and newline, DEL, C1; fillers and soft hyphens; bidi controls; zero-width characters; variation
# selectors; annotation, musical and shorthand controls; tag letters; noncharacters.
_UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SURROGATES = "\ud800-\udfff"
_LINE_ENDS = re.compile("\r\n|[\r\u2028\u2029]")
_DROP = re.compile(f"[{_UNSEEN}]+")
_LONE = re.compile(f"[{_SURROGATES}]")
# Joiners shape words in Arabic, Persian and the scripts of India; anywhere else they only hide.
_SHAPED = "\u0620-\u06ff\u0750-\u077f\u08a0-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f"
_JOINERS = re.compile(f"(?<![{_SHAPED}])[\u200c\u200d]+|[\u200c\u200d]+(?![{_SHAPED}])|[\u200c\u200d]{{2,}}")
_ODD = re.compile(f"[{_UNSEEN}{_SURROGATES}\u200c\u200d\u2028\u2029\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")

ESCAPED = re.compile(r"<U\+[0-9A-F]{4,6}>")  # how `escape_invisible` writes a character nobody could see


def sanitize(text: str, keep_newlines: bool = True) -> str:
    """The text with nothing in it that is not a letter, a space, a tab or a newline.

    Line ends of every kind become "\\n"; lone surrogates become U+FFFD. Without `keep_newlines` the result is one
    line: newlines and tabs become spaces. Idempotent.
    """
    text = _LINE_ENDS.sub("\n", _SEQUENCES.sub("", text))
    text = _LONE.sub("\ufffd", _DROP.sub("", text))
    text = _JOINERS.sub("", text)
    return text if keep_newlines else text.replace("\n", " ").replace("\t", " ")


def escape_invisible(text: str) -> str:
    """The text with every control, invisible or odd-space character written out as `<U+202E>`. For what the user is
    asked to approve: nothing is dropped, nothing stays hidden. Tabs and newlines stay."""
    return _ODD.sub(lambda match: f"<U+{ord(match[0]):04X}>", text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 400) -> str:
    """The text cleaned and on one line, at most `limit` characters, cut with an ellipsis."""
    line = " ".join(sanitize(text[: limit * 4], keep_newlines=False).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
