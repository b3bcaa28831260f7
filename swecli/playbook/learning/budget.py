"""What reflecting may take: a share of what the session took, in units of one uncached input token, and money a day."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from swecli.llm.price_table import Row, cost_of
from swecli.models.message import Usage
from swecli.playbook.learning.reflector_model import MAX_TOKENS
from swecli.store.records import SessionTotals, Spent

REFLECTING: Final = "reflect"  # the purpose that reflections are recorded with
_LEAST = 20_000  # units that any session may reflect with: a share of a short one would never do for a question
_SMOOTH = 2 / 3  # of the budget, for turns without friction: what is left is kept for those with it
_CACHED, _WRITTEN, _OUTPUT = 0.1, 1.25, 5.0  # units of a token that was read from a cache, written to it, or answered
_LETTERS = 3  # characters a token, at least: most texts have four
_EXPECTED_ANSWER = 400  # tokens


@dataclass(frozen=True, slots=True)
class ReflectionBudget:
    """What the user allows: `percent` of the session's units (0: no model is asked), US dollars a day (None: any)."""

    percent: int = 15
    usd_per_day: float | None = None


def units(usage: Usage) -> float:
    """What tokens weigh by the usual prices: one uncached input token is 1."""
    return usage.input + usage.cache_read * _CACHED + usage.cache_write * _WRITTEN + usage.output * _OUTPUT


def refusal(
    limits: ReflectionBudget, totals: SessionTotals, today: Spent, question: tuple[int, Row], *, friction: bool
) -> str:
    """Why a model is not asked now; "" when it may be.

    Args:
        limits: the user's.
        totals: what the session took so far, in all and by purpose.
        today: what reflections took today, in all sessions.
        question: its length in characters, and the model's prices.
        friction: something went wrong in the turn: such turns come first when the budget is short.
    """
    length, price = question
    tokens = length // _LETTERS
    used = units(totals.by_purpose.get(REFLECTING, Spent()).usage)
    allowed = max(_LEAST if limits.percent else 0, (units(totals.usage) - used) * limits.percent / 100)
    wanted = used + tokens + _EXPECTED_ANSWER * _OUTPUT
    if wanted > allowed * (1 if friction else _SMOOTH):
        return f"this session's reflection budget is used up: {used:,.0f} of {allowed:,.0f} units"
    if limits.usd_per_day is None:
        return ""
    worst = cost_of(Usage(input=tokens, output=MAX_TOKENS), price)
    if today.cost is None or worst is None:
        return f"${limits.usd_per_day:g} a day are allowed for reflecting, and what it costs is not known"
    if today.cost + 2 * worst > limits.usd_per_day:
        return f"${limits.usd_per_day:g} a day are allowed for reflecting, and ${today.cost:.4f} are spent today"
    return ""


def day_began() -> datetime:
    """When the user's day began."""
    return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)
