"""What was spent, for the eye: tables by model, cause and tool, and the days drawn in characters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from swecli.models.finding import pluralize
from swecli.playbook.action import ActionResult
from swecli.repl.render.formatting import format_dollars, format_tokens
from swecli.store.sqlite.database import Database
from swecli.store.views import Spending, daily_spending

_NARROWEST, _NARROW, _ROWS = 40, 56, 9
_TITLES = {"models": "by model", "causes": "by cause", "tools": "by tool"}


def stats(database: Database, days: int, width: int) -> ActionResult:
    """What all sessions spent in the last days, in lines of at most `width` columns (40 at least). Raises BadInput."""
    found, width = daily_spending(database, days, date.today()), max(_NARROWEST, width)
    whole = found["total"]
    if not whole["requests"]:
        return ActionResult(found, (f"Nothing was asked in the last {pluralize(days, 'day')}.",))
    lines = [
        f"{pluralize(days, 'day')} to {found['days'][-1]['name']}: {pluralize(whole['sessions'], 'session')}, "
        f"{pluralize(whole['turns'], 'turn')}, {pluralize(whole['requests'], 'request')}",
        f"{format_tokens(whole['sent'])} tokens sent, {share(whole)} from the cache, "
        f"{format_tokens(whole['received'])} received, cost {format_dollars(whole['cost'])}",
    ]
    lines += ["", *_plot("tokens sent a day", found["days"], "sent", width)]
    if any(day["cost"] for day in found["days"]):
        lines += ["", *_plot("US dollars a day", found["days"], "cost", width)]
    return ActionResult(found, (*lines, *tables(found, width)))


def tables(found: Spending, width: int) -> list[str]:
    """The three tables, with an empty line before each; those without rows are left out."""
    lines = list[str]()
    for name, title in _TITLES.items():
        if not found[name]:
            continue
        rows: list[tuple[str, ...]] = [(title, "requests", "sent", "cached", "received", "cost")]
        if name == "tools":
            rows = [(title, "calls", "failed", "tokens")]
        rows += [_cells(one) for one in found[name]]
        lines += ["", *(_row(row, width) for row in rows)]
    return lines


def share(one: Spending) -> str:
    """The part of what was sent that the provider had in its cache."""
    return f"{100 * one['cached'] // one['sent']}%" if one["sent"] else "0%"


def _cells(one: Spending) -> tuple[str, ...]:
    if "calls" in one:
        return one["name"], f"{one['calls']:,}", f"{one['failed']:,}", format_tokens(one["tokens"])
    figures = format_tokens(one["sent"]), share(one), format_tokens(one["received"]), format_dollars(one["cost"])
    return one["name"], f"{one['requests']:,}", *figures


def _row(cells: Sequence[str], width: int) -> str:
    sizes = (9, 7, 7) if len(cells) == 4 else (9, 7, 7, 9, 9)
    if width < _NARROW and len(cells) > 4:
        cells, sizes = (*cells[:3], cells[-1]), (9, 7, 9)
    room = min(48, width - sum(sizes))
    name = cells[0] if len(cells[0]) <= room else f"{cells[0][: room - 1]}…"
    return name.ljust(room) + "".join(cell.rjust(size) for cell, size in zip(cells[1:], sizes, strict=True))


def _plot(title: str, days: Sequence[dict[str, Any]], name: str, width: int) -> list[str]:
    """Bars, one a day; a cost that is unknown is none."""
    # late: it is loaded for a drawing alone
    import plotext  # noqa: PLC0415

    values = [one[name] or 0 for one in days]
    top = max(*values, 0) or 1
    plotext.clear_figure()
    plotext.theme("clear")
    plotext.plotsize(width, _ROWS)
    plotext.bar([one["name"][5:] for one in days], values, width=0.7)
    ticks = [0, top / 2, top]
    plotext.yticks(ticks, [format_tokens(round(tick)) if name == "sent" else f"{tick:.3g}" for tick in ticks])
    return [title, *(line.rstrip() for line in plotext.uncolorize(plotext.build()).splitlines() if line.strip())]
