"""What reflecting may take: a share of the session's tokens, and so much money a day."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from swecli.store.records import SessionTotals, Spent

LEAST = 8_000  # tokens that any session may reflect with: a share of a short one would never do for a single question
REFLECTING: Final = "reflect"  # the purpose that reflections are recorded with


@dataclass(frozen=True, slots=True)
class ReflectionBudget:
    """What the user allows: `percent` of the session's tokens (0: no model is asked), US dollars a day (None: any)."""

    percent: int = 15
    usd_per_day: float | None = None


def refusal(limits: ReflectionBudget, session: SessionTotals, today: Spent, tokens: int, worst: float | None) -> str:
    """Why a model is not asked now; "" when it may be.

    Args:
        limits: the user's.
        session: what the session took so far, in all and by purpose.
        today: what reflections took today, in all sessions.
        tokens: what the question and the longest answer would take.
        worst: what that would cost in US dollars, None where the price is not known.
    """
    used = session.by_purpose.get(REFLECTING, Spent()).usage.total
    allowed = max(LEAST if limits.percent else 0, (session.usage.total - used) * limits.percent // 100)
    if used + tokens > allowed:
        return f"reflecting may take {limits.percent} % of the session's tokens: {used:,} of {allowed:,} are used"
    if limits.usd_per_day is None:
        return ""
    if today.cost is None or worst is None:
        return f"${limits.usd_per_day:g} a day are allowed for reflecting, and what it costs is not known"
    if today.cost + worst > limits.usd_per_day:
        return f"${limits.usd_per_day:g} a day are allowed for reflecting, and ${today.cost:.4f} are spent today"
    return ""
