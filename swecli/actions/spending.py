"""Format spending: tables by model, cause and tool, and a bar chart of the days."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from swecli.models.action import ActionResult
from swecli.models.axis import spread
from swecli.models.counts import format_tokens, pluralize
from swecli.models.money import format_dollars
from swecli.store.sqlite.database import Database
from swecli.store.views import Spending, daily_spending

_MIN_WIDTH = 40  # columns, below which nothing can be read
_NARROW_WIDTH = (
    56  # columns, below which a table shows its name, requests, sent tokens and cost only
)
_DATE_COLUMNS = 10  # of a date below the chart, with the room around it
_PLOT_ROWS = 9  # with title and axis
_TITLES = {"models": "by model", "causes": "by cause", "tools": "by tool"}


def format_stats(database: Database, days: int, width: int) -> ActionResult:
    """Format the spending of all sessions in the last days, at most `width` (at least 40) columns. Raises BadInput."""
    found = daily_spending(database, days, date.today())
    width = max(_MIN_WIDTH, width)
    whole = found["total"]
    if not whole["requests"]:
        return ActionResult(found, (f"No requests in the last {pluralize(days, 'day')}.",))
    lines = [
        f"{pluralize(days, 'day')} to {found['days'][-1]['name']}: {pluralize(whole['sessions'], 'session')}, "
        f"{pluralize(whole['turns'], 'turn')}, {pluralize(whole['requests'], 'request')}",
        f"{format_tokens(whole['sent'])} tokens sent, {_cached_share(whole)} from the cache, "
        f"{format_tokens(whole['received'])} received, cost {format_dollars(whole['cost'])}",
    ]
    lines += ["", *_plot("tokens sent a day", found["days"], "sent", width)]
    if any(day["cost"] for day in found["days"]):
        lines += ["", *_plot("US dollars a day", found["days"], "cost", width)]
    return ActionResult(found, (*lines, *format_tables(found, width)))


def format_tables(found: Spending, width: int) -> list[str]:
    """Format the tables that have rows, each after an empty line."""
    lines = list[str]()
    for name, title in _TITLES.items():
        if not found[name]:
            continue
        rows: list[tuple[str, ...]] = [(title, "requests", "sent", "cached", "received", "cost")]
        if name == "tools":
            rows = [(title, "calls", "refused", "failed", "tokens")]
        rows += [_row_cells(one) for one in found[name]]
        lines += ["", *(_format_row(row, width) for row in rows)]
    return lines


def _cached_share(one: Spending) -> str:
    """Return the share of sent tokens that were read from the provider's cache."""
    return f"{100 * one['cached'] // one['sent']}%" if one["sent"] else "0%"


def _row_cells(one: Spending) -> tuple[str, ...]:
    if "calls" in one:
        counts = (f"{one[name]:,}" for name in ("calls", "refused", "failed"))
        return one["name"], *counts, format_tokens(one["tokens"])
    figures = (
        format_tokens(one["sent"]),
        _cached_share(one),
        format_tokens(one["received"]),
        format_dollars(one["cost"]),
    )
    return one["name"], f"{one['requests']:,}", *figures


def _format_row(cells: Sequence[str], width: int) -> str:
    sizes: tuple[int, ...] = (9, 8, 7, 7) if len(cells) == 5 else (9, 7, 7, 9, 9)
    if width < _NARROW_WIDTH and len(cells) > 5:
        cells = (*cells[:3], cells[-1])
        sizes = (9, 7, 9)
    room = min(48, width - sum(sizes))
    name = cells[0] if len(cells[0]) <= room else f"{cells[0][: room - 1]}…"
    return name.ljust(room) + "".join(
        cell.rjust(size) for cell, size in zip(cells[1:], sizes, strict=True)
    )


def _plot(title: str, days: Sequence[dict[str, Any]], name: str, width: int) -> list[str]:
    """Draw a bar for each day; unknown costs count as 0."""
    # late: only needed to draw
    import plotext

    values = [one[name] or 0 for one in days]
    top = max(*values, 0) or 1
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plotsize(width, _PLOT_ROWS)
    plotext.bar(range(len(days)), values, width=0.7)
    dates = spread(len(days), width // _DATE_COLUMNS)
    plotext.xticks(dates, [days[at]["name"][5:] for at in dates])
    ticks = [0, top / 2, top]
    labels = [_format_tick(name, tick) for tick in ticks]
    plotext.yticks(ticks, labels)
    drawn = plotext.uncolorize(plotext.build()).splitlines()
    return [title, *(line.rstrip() for line in drawn if line.strip())]


def _format_tick(name: str, amount: float) -> str:
    return format_tokens(round(amount)) if name == "sent" else f"{amount:.3g}"
