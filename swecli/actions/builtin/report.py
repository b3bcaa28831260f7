"""`swecli report`: the statistics of `swecli stats` as a page."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from swecli.actions.builtin.stats import DAYS
from swecli.models.action import Action, ActionResult, Flag, Invocation, Need, Words
from swecli.models.counts import parse_count

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.store.session_manager import SessionManager


@Action(
    Need.ALL_SESSIONS,
    Words("[FILE]", "default: swecli-report-DATE.html", "?"),
    (Flag("--days", f"how many (default {DAYS})", "N"),),
    in_session=False,
)
def report(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Write the statistics of `swecli stats` as one HTML page"""
    # late: not needed to declare an action
    from swecli.pages.page import render_report, write_new_file
    from swecli.store.spending import daily_spending

    today = date.today()
    spending = daily_spending(
        sessions.database, parse_count(invocation.value("--days"), DAYS), today
    )
    name = invocation.text or f"swecli-report-{today}.html"
    file = invocation.file(name)
    write_new_file(file, render_report(spending), "Name another file: swecli report FILE")
    return ActionResult({"file": str(file)} | spending, (f"Written to {name}.",))
