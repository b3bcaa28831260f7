"""Numbers as people read them, and what the terminal can show of anything."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

_AGES = ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"))


def money(cost: float | None) -> str:
    """US dollars; None is unknown, never shown as 0."""
    if cost is None:
        return "unknown"
    if 0 < cost < 0.01:
        return f"${cost:.4f}"
    return f"${cost:.2f}"


def tokens(count: int) -> str:
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


def bar(part: int, whole: int, width: int = 24) -> str:
    """`width` characters, of which the share of `part` is filled; something is at least one character."""
    filled = 0 if whole <= 0 or part <= 0 else min(width, max(1, round(width * part / whole)))
    return "█" * filled + "·" * (width - filled)


def age(then: datetime, now: datetime | None = None) -> str:
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
