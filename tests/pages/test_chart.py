"""Test that the charts of pages have axes that name amounts, dates and turns, to read and to be read aloud."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

import pytest

from swecli.pages.page import format_session, render_report
from tests.pages.test_page import make_export

LAST = date(2026, 11, 28)


def report_of(sent: list[int], costs: list[float | None]) -> str:
    """Return the report of days to LAST on which so many tokens were sent at these costs."""
    first = LAST - timedelta(len(sent) - 1)
    nothing = {"requests": 1, "cached": 0, "received": 0}
    days = [
        nothing | {"name": str(first + timedelta(day)), "sent": tokens, "cost": cost}
        for day, (tokens, cost) in enumerate(zip(sent, costs, strict=True))
    ]
    total = nothing | {"sessions": 1, "turns": 1, "sent": sum(sent), "cost": None}
    return render_report({"days": days, "total": total, "models": [], "causes": [], "tools": []})


def axis(page: str, name: str) -> list[list[str]]:
    """Return the labels of this axis of each chart."""
    return [
        re.findall(r"<span[^>]*>([^<]*)</span>", labels)
        for labels in re.findall(rf'<div class="{name}"[^>]*>(.*?)</div>', page)
    ]


def test_a_chart_names_round_amounts_and_its_first_and_last_date() -> None:
    page = report_of([0, 48_000, *[20_000] * 28], [0.0, 0.034, *[0.01] * 28])
    tokens, dollars = axis(page, "up")
    assert tokens == ["0", "20k", "40k", "60k"]
    assert dollars == ["$0.00", "$0.01", "$0.02", "$0.03", "$0.04"]
    for dates in axis(page, "along"):
        assert (dates[0], dates[-1], len(dates)) == ("10-30", "11-28", 6)


@pytest.mark.parametrize(
    ("cost", "largest"), [(0.0004, "$0.0004"), (0.009, "$0.010"), (3.5, "$4"), (4_100, "$6,000")]
)
def test_amounts_of_money_have_the_digits_that_tell_them_apart(cost: float, largest: str) -> None:
    labels = axis(report_of([100], [cost]), "up")[1]
    assert labels[-1] == largest
    assert len(set(labels)) == len(labels)


def test_a_bar_is_as_high_as_the_axis_says() -> None:
    page = report_of([50, 100, 25], [None] * 3)
    heights = [float(height) for height in re.findall(r'class="sent"[^>]* height="([^"]+)"', page)]
    assert heights == [50, 100, 25]
    assert axis(page, "up") == [["0", "50", "100"]]


def test_a_chart_is_described_for_those_who_do_not_see_it() -> None:
    page = report_of([50, 100], [None, None])
    described = re.findall(r'<svg [^>]*role="img" aria-label="([^"]*)"', page)
    assert described == ["Bar chart: Tokens sent a day, 2026-11-27 to 2026-11-28 (largest: 100)"]


def test_days_without_tokens_or_known_costs_have_no_chart() -> None:
    assert "<svg" not in report_of([0, 0], [None, 0.0])


def page_of_turns(count: int) -> str:
    turn = {"number": 1, "status": "done", "started_at": "2026", "cited": (), "shown": ()}
    turns = [turn | {"number": number} for number in range(1, count + 1)]
    request: dict[str, Any] = {"purpose": "turn", "input": 900, "cache_read": 100}
    request |= {"cache_write": 0, "output": 5, "cost": None}
    requests = [request | {"interaction": number} for number in range(1, count + 1)]
    return format_session("html", make_export() | {"interactions": turns, "requests": requests})


def test_a_session_names_the_turns_below_its_chart() -> None:
    page = page_of_turns(40)
    assert axis(page, "up") == [["0", "500", "1.0k"]]
    [turn_names] = axis(page, "along")
    assert (turn_names[0], turn_names[-1]) == ("T1", "T40")


def test_a_session_of_a_few_turns_names_each_of_them() -> None:
    [names] = axis(page_of_turns(8), "along")
    assert names == [f"T{number}" for number in range(1, 9)]
