"""What was spent over days as one self-contained HTML page."""

from __future__ import annotations

from swecli.pages.page import render
from swecli.store.spending import Spending

_CHART = 160  # units: the height of the chart's drawing


def report(found: Spending) -> str:
    """The page of what `daily_spending` found: no script, no request to anywhere, light and dark by the reader's
    setting."""
    charts = []
    for name, part, title in (("sent", "cached", "Tokens sent a day"), ("cost", "", "US dollars a day")):
        top = max(day[name] or 0 for day in found["days"])
        if top:
            scale = _CHART / top
            bars = [(day, (day[name] or 0) * scale, (day[part] if part else 0) * scale) for day in found["days"]]
            charts.append({"title": title, "name": name, "top": top, "bars": bars})
    first, last = found["days"][0]["name"], found["days"][-1]["name"]
    return render("report.html", title=f"Spent from {first} to {last}", charts=charts, chart=_CHART, found=found)
