"""Format spending: tables by model, cause and tool, and a bar chart of the days."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from swecli.models.action import ActionResult
from swecli.models.axis import evenly_spaced
from swecli.models.counts import format_tokens, pluralize
from swecli.models.money import format_least, format_spent
from swecli.store.spending import Spending, daily_spending
from swecli.store.sqlite.database import Database

MIN_WIDTH = 40  # columns, below which nothing can be read
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


def format_stats(database: Database, days: int, width: int) -> ActionResult:
    """Format the spending of all sessions in the last days, at most `width` (at least 40) columns. Raises BadInput."""
    spending = daily_spending(database, days, date.today())
    width = max(MIN_WIDTH, width)
    total = spending["total"]
    if not total["requests"]:
        return ActionResult(spending, (f"No requests in the last {pluralize(days, 'day')}.",))
    lines = [
        f"{pluralize(days, 'day')} to {spending['days'][-1]['name']}: {pluralize(total['sessions'], 'session')}, "
        f"{pluralize(total['turns'], 'turn')}, {pluralize(total['requests'], 'request')}",
        f"{format_tokens(total['sent'])} tokens sent, {_cached_share(total)} from the cache, "
        f"{format_tokens(total['received'])} received, cost {_format_spent(total)}",
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
        lines += ["", *(format_row(row, width) for row in rows)]
    return lines


def _format_spent(row: Spending, *, is_short: bool = False) -> str:
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
        _format_spent(row, is_short=True),
    )
    return row["name"], f"{row['requests']:,}", *figures


def format_row(cells: Sequence[str], width: int) -> str:
    """Format a row of a table: a name, and as many cells behind it as the width has room for."""
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
    plot_lines = plotext.uncolorize(plotext.build()).splitlines()
    return [title, *(line.rstrip() for line in plot_lines if line.strip())]


def _format_tick(name: str, amount: float) -> str:
    return format_tokens(round(amount)) if name == "sent" else f"{amount:.3g}"
