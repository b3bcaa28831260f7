"""How long ago something was, as text for people."""

from __future__ import annotations

from datetime import UTC, datetime

# Below these seconds, seconds a unit, unit.
_UNITS = ((60, 1, "s"), (3600, 60, "min"), (86_400, 3600, "h"))


def format_age(then: datetime, now: datetime | None = None) -> str:
    """Format the time since `then`: `5 min ago`, `3 h ago`, the date after two days. A naive time is UTC."""
    moment = then if then.tzinfo else then.replace(tzinfo=UTC)
    seconds = max(0.0, ((now or datetime.now(UTC)) - moment).total_seconds())
    for limit, unit, name in _UNITS:
        if seconds < limit:
            return f"{int(seconds // unit)} {name} ago"
    return "1 day ago" if seconds < 2 * 86_400 else moment.date().isoformat()
