"""Format spending: tables by model, cause and tool, the price of a full window, and a bar chart of the days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any

from swecli.models.action import ActionResult
from swecli.models.axis import evenly_spaced
from swecli.models.counts import format_tokens, pluralize
from swecli.models.money import format_dollars, format_least, format_spent
from swecli.store.spending import Spending, daily_spending, paid_requests, session_spending
from swecli.store.sqlite.database import Database

if TYPE_CHECKING:
    from swecli.actions.causes import Cause
    from swecli.actions.full_window import FullWindow
    from swecli.app import Runtime

_MIN_WIDTH = 40  # columns, below which nothing can be read
# columns, below which a table shows its name, requests, sent tokens and cost only, and below which no requests neither
_NARROW_WIDTH = 72
_NARROWEST_WIDTH = 50
_COST_COLUMNS = 17  # of "price not known", with the room before it
_DATE_COLUMNS = 10  # of a date below the chart, with the room around it
_PLOT_ROWS = 9  # with title and axis
# of the cells behind the name, by the number of cells
_COLUMN_SIZES: dict[int, tuple[int, ...]] = {
    3: (7, _COST_COLUMNS),
    4: (9, 7, _COST_COLUMNS),
    5: (9, 8, 7, 7),
    6: (9, 7, 7, 9, _COST_COLUMNS),
}
_TITLES = {"models": "by model", "causes": "by cause", "tools": "by tool"}
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
    # late: of all that is spent, only a session's is told by the parts of its requests
    from swecli.actions.causes import group_by_cause
    from swecli.actions.full_window import estimate_full_window

    width = max(_MIN_WIDTH, width)
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
    spent = format_spent(totals.cost, totals.known_cost, totals.unpriced)
    lines.append(f"{pluralize(totals.requests, 'request')} · cost {spent}")
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
    # late: as above
    from swecli.llm.registry import price_of

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
    return ["", *(_format_row(row, width) for row in rows)]


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


def format_stats(database: Database, days: int, width: int) -> ActionResult:
    """Format the spending of all sessions in the last days, at most `width` (at least 40) columns. Raises BadInput."""
    spending = daily_spending(database, days, date.today())
    width = max(_MIN_WIDTH, width)
    total = spending["total"]
    if not total["requests"]:
        return ActionResult(spending, (f"No requests in the last {pluralize(days, 'day')}.",))
    lines = [
        f"{pluralize(days, 'day')} to {spending['days'][-1]['name']}: {pluralize(total['sessions'], 'session')}, "
        f"{pluralize(total['turns'], 'turn')}, {pluralize(total['requests'], 'request')}",
        f"{format_tokens(total['sent'])} tokens sent, {_cached_share(total)} from the cache, "
        f"{format_tokens(total['received'])} received, cost {_spent(total)}",
    ]
    lines += ["", *_plot("tokens sent a day", spending["days"], "sent", width)]
    if any(day["cost"] for day in spending["days"]):
        lines += ["", *_plot("US dollars a day", spending["days"], "cost", width)]
    return ActionResult(spending, (*lines, *format_tables(spending, width)))


def format_tables(spending: Spending, width: int) -> list[str]:
    """Format the tables that have rows, each after an empty line."""
    lines = list[str]()
    for name, title in _TITLES.items():
        if not spending[name]:
            continue
        rows: list[tuple[str, ...]] = [(title, "requests", "sent", "cached", "received", "cost")]
        if name == "tools":
            rows = [(title, "calls", "refused", "failed", "tokens")]
        rows += [_row_cells(row) for row in spending[name]]
        lines += ["", *(_format_row(row, width) for row in rows)]
    return lines


def _spent(row: Spending, *, is_short: bool = False) -> str:
    if is_short:
        return format_least(row["cost"], row["known_cost"])
    return format_spent(row["cost"], row["known_cost"], row["unpriced"])


def _cached_share(row: Spending) -> str:
    """Return the share of sent tokens that were read from the provider's cache."""
    return f"{100 * row['cached'] // row['sent']}%" if row["sent"] else "0%"


def _row_cells(row: Spending) -> tuple[str, ...]:
    if "calls" in row:
        counts = (f"{row[name]:,}" for name in ("calls", "refused", "failed"))
        return row["name"], *counts, format_tokens(row["tokens"])
    figures = (
        format_tokens(row["sent"]),
        _cached_share(row),
        format_tokens(row["received"]),
        _spent(row, is_short=True),
    )
    return row["name"], f"{row['requests']:,}", *figures


def _format_row(cells: Sequence[str], width: int) -> str:
    if width < _NARROWEST_WIDTH and len(cells) > 5:
        cells = (cells[0], cells[2], cells[-1])
    elif width < _NARROW_WIDTH and len(cells) > 5:
        cells = (*cells[:3], cells[-1])
    sizes = _COLUMN_SIZES[len(cells)]
    name_width = min(48, width - sum(sizes))
    name = cells[0] if len(cells[0]) <= name_width else f"{cells[0][: name_width - 1]}…"
    return name.ljust(name_width) + "".join(
        cell.rjust(size) for cell, size in zip(cells[1:], sizes, strict=True)
    )


def _plot(title: str, days: Sequence[dict[str, Any]], name: str, width: int) -> list[str]:
    """Draw a bar for each day, of the known costs."""
    # late: only needed to draw
    import plotext

    values = [day[name] or 0 for day in days]
    highest = max(*values, 0) or 1
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plotsize(width, _PLOT_ROWS)
    plotext.bar(range(len(days)), values, width=0.7)
    dates = evenly_spaced(len(days), width // _DATE_COLUMNS)
    plotext.xticks(dates, [days[index]["name"][5:] for index in dates])
    ticks = [0, highest / 2, highest]
    plotext.yticks(ticks, [_format_tick(name, tick) for tick in ticks])
    drawn = plotext.uncolorize(plotext.build()).splitlines()
    return [title, *(line.rstrip() for line in drawn if line.strip())]


def _format_tick(name: str, amount: float) -> str:
    return format_tokens(round(amount)) if name == "sent" else f"{amount:.3g}"
