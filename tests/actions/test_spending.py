"""Test that `swecli stats`, `swecli report` and `/stats` show the same figures as text, HTML and JSON."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path

import pytest

from swecli.actions.spending import format_tables
from swecli.app import Runtime
from swecli.models.errors import UsageError
from swecli.pages.page import render_report
from swecli.store.spending import daily_spending
from tests.pages.test_page import PageTags
from tests.support.command_context import ScriptedContext
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import Reply
from tests.support.shell import swecli

FIGURES: dict[str, float | None] = {
    "requests": 3,
    "sent": 1200,
    "cached": 600,
    "received": 40,
    "cost": None,
}
FIGURES |= {"known_cost": 0.0, "unpriced": 3}


async def runtime_after_a_turn() -> Runtime:
    Path("notes.txt").write_text("a note\n" * 50)
    reading = calls(("read_file", {"path": "notes.txt"}))
    runtime = make_runtime([reading, Reply("Read.", cost=0.25)])
    await run_turn(runtime, "read the notes", learn=False)
    return runtime


@pytest.mark.parametrize("width", [40, 60, 120])
async def test_stats_fit_the_terminal_and_draw_a_daily_chart(width: int) -> None:
    runtime = await runtime_after_a_turn()
    printed = await ScriptedContext(runtime, width=width).type("/stats 7")
    assert max(map(len, printed.splitlines())) <= width
    assert "\x1b" not in printed
    for words in ("tokens sent a day", "US dollars a day", "█", "by model", "by tool"):
        assert words in printed


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("days", [2, 7, 14, 30, 90, 366])
async def test_the_chart_names_its_first_and_last_date(days: int, width: int) -> None:
    printed = await ScriptedContext(await runtime_after_a_turn(), width=width).type(
        f"/stats {days}"
    )
    below = next(line for line in printed.splitlines() if re.fullmatch(r"( *\d\d-\d\d)+", line))
    today = date.today()
    first = today - timedelta(days - 1)
    named = below.split()
    assert (named[0], named[-1]) == (f"{first:%m-%d}", f"{today:%m-%d}")


@pytest.mark.slow
async def test_stats_and_report_of_the_shell_have_the_same_figures() -> None:
    runtime = await runtime_after_a_turn()
    runtime.sessions.database.close()
    shown = swecli("stats", "7", environ={"COLUMNS": "60", "NO_COLOR": "1"})
    assert shown.code == 0, shown.err
    assert max(map(len, shown.out.splitlines())) <= 60
    found = swecli("stats", "7", "--json").json
    assert (found["total"]["requests"], found["total"]["cost"], len(found["days"])) == (2, 0.25, 7)
    written = swecli("report", "out.html", "--days", "7")
    assert (written.code, written.out) == (0, "Written to out.html.\n"), written.err
    page = Path("out.html").read_text()
    tags = PageTags(page)
    assert "script" not in tags.tags
    assert tags.followed == []
    assert "$0.25" in page
    again = swecli("report", "out.html")
    assert (again.code, again.complaint) == (
        42,
        f"swecli: {Path.cwd() / 'out.html'} exists already.  Name another file: swecli report FILE",
    )
    assert Path("out.html").read_text() == page


@pytest.mark.slow
def test_stats_and_report_work_without_requests() -> None:
    runtime = make_runtime()
    runtime.sessions.database.close()
    assert swecli("stats").out == "No requests in the last 30 days.\n"
    assert swecli("report", "empty.html").code == 0
    assert "Nothing was asked in these days." in Path("empty.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("stats", "0"), ("stats", "many"), ("stats", "1000"), ("report", "nowhere/x.html")],
)
def test_an_invalid_period_or_file_is_an_error_in_one_line(arguments: tuple[str, ...]) -> None:
    make_runtime().sessions.database.close()
    outcome = swecli(*arguments)
    assert outcome.code in (2, 42)
    assert outcome.complaint


async def test_an_invalid_number_of_days_is_refused() -> None:
    with pytest.raises(UsageError, match="'week' is not a whole number above 0"):
        await ScriptedContext(make_runtime()).type("/stats week")


def test_an_unknown_cost_is_shown_as_unknown() -> None:
    found = {"models": [{"name": "a/b"} | FIGURES], "causes": [], "tools": []}
    assert format_tables(found, 80)[2].split() == [
        *("a/b", "3", "1.2k", "50%", "40"),
        *("price", "not", "known"),
    ]


async def test_names_are_escaped_on_the_report_page() -> None:
    runtime = await runtime_after_a_turn()
    found = daily_spending(runtime.sessions.database, 7, date.today())
    found["models"][0]["name"] = "<script>alert(1)</script>"
    assert "script" not in PageTags(render_report(found)).tags
