"""Format what a session has cost: its tokens, tables by model, cause and tool, and the price of a full window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from swecli.actions.causes import Cause, group_by_cause
from swecli.actions.full_window import FullWindow, estimate_full_window
from swecli.actions.spending import MIN_WIDTH, format_row, format_tables
from swecli.llm.registry import price_of
from swecli.models.action import ActionResult
from swecli.models.counts import format_tokens, pluralize
from swecli.models.money import format_dollars, format_least, format_spent
from swecli.store.spending import paid_requests, session_spending

if TYPE_CHECKING:
    from swecli.app import Runtime

_BUCKETS = {
    "input": "input (uncached)",
    "cache_read": "cache reads",
    "cache_write": "cache writes",
    "output": "output",
    "reasoning": "reasoning",
}
_BUCKET_COLUMNS = 31  # of a name and its tokens


def format_session(runtime: Runtime, width: int) -> ActionResult:
    """Format the spending of the current session, at most `width` (at least 40) columns. Raises BadInput for none."""
    width = max(MIN_WIDTH, width)
    sessions = runtime.sessions
    session = sessions.session
    totals = sessions.totals()
    spending = session_spending(sessions.database, session.id)
    requests = paid_requests(sessions.database, session.id)
    prices = _find_prices(runtime, {request.model for request in requests})
    causes = group_by_cause(requests, prices)
    model = runtime.agent.model
    full = estimate_full_window(
        requests,
        prices,
        sessions.turn_sizes(1, session.interactions),
        {model.name: model.profile.window},
        runtime.settings.cache_minutes,
    )
    lines = [
        _format_bucket(name, getattr(totals.usage, bucket)) for bucket, name in _BUCKETS.items()
    ]
    lines.append(_format_bucket("total tokens", totals.usage.total))
    spent_text = format_spent(totals.cost, totals.known_cost, totals.unpriced)
    lines.append(f"{pluralize(totals.requests, 'request')} · cost {spent_text}")
    lines += format_tables({"models": spending["models"], "causes": [], "tools": []}, width)
    lines += _format_causes(causes, width)
    lines += format_tables({"models": [], "causes": [], "tools": spending["tools"]}, width)
    lines += _format_full_window(full, runtime.settings.cache_minutes)
    value = {
        "tokens": asdict(totals.usage),
        "requests": totals.requests,
        "cost": totals.cost,
        "known_cost": totals.known_cost,
        "unpriced": totals.unpriced,
        "models": spending["models"],
        "causes": [_cause_to_json(cause) for cause in causes],
        "tools": spending["tools"],
        "full_window": asdict(full),
    }
    return ActionResult(value, tuple(lines))


def _find_prices(runtime: Runtime, names: set[str]) -> dict[str, Any]:
    """Return the prices of models by their names, that of the session's model as it is used."""
    model = runtime.agent.model
    prices = {name: price_of(name, runtime.settings, runtime.start.environ) for name in names}
    return prices | {model.name: model.profile.price or prices.get(model.name)}


def _cause_to_json(cause: Cause) -> dict[str, Any]:
    return {
        "name": cause.name,
        "tokens": cause.tokens,
        "cost": cause.cost,
        "known_cost": cause.known_cost,
        "unpriced": cause.unpriced,
    }


def _format_bucket(name: str, tokens: int) -> str:
    amount = f"{tokens:,}"
    return f"{name}{amount.rjust(_BUCKET_COLUMNS - len(name))}"


def _format_causes(causes: Sequence[Cause], width: int) -> list[str]:
    """Format what the requests were paid for, after an empty line."""
    if not causes:
        return []
    rows = [("by cause", "tokens", "cost")]
    for cause in causes:
        cost = format_least(cause.cost, cause.known_cost)
        rows.append((cause.name, format_tokens(cause.tokens), cost))
    return ["", *(format_row(row, width) for row in rows)]


def _format_full_window(full: FullWindow, cache_minutes: int) -> list[str]:
    """Format what a window of all turns would have cost, after an empty line; [] if no request tells."""
    if not full.requests:
        return []
    lines = [
        "",
        f"with a full window (estimate): about {format_dollars(full.full_cost)} for the turns, in place of "
        f"{format_dollars(full.cost)}{_format_change(full.cost, full.full_cost)}",
        f"  {format_tokens(full.full_sent)} tokens sent in place of {format_tokens(full.sent)}: each request with all "
        "turns before it, at the same prices",
        f"  a request finds the one before it in the cache within {cache_minutes} minutes, if the model has read from "
        "one here",
    ]
    if full.too_long:
        verb = "is" if full.too_long == 1 else "are"
        lines.append(
            f"  {pluralize(full.too_long, 'request')} of these {verb} longer than the model takes"
        )
    left_out = [
        (full.unpriced, "the price is not known"),
        (full.unmeasured, "it is not stored what they consisted of"),
    ]
    for count, reason in left_out:
        if count:
            lines.append(f"  {pluralize(count, 'request')} not counted: {reason}")
    return lines


def _format_change(cost: float, other: float) -> str:
    """Return how much more or less the other cost is, as in ": 40% more"; "" if it is as much, or costs nothing."""
    share = round(100 * (other - cost) / cost) if cost else 0
    if not share:
        return ""
    return f": {abs(share)}% {'more' if share > 0 else 'less'}"
