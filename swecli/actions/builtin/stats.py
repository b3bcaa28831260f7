"""`/stats` and `swecli stats`: tokens and cost of the last days."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Invocation, Need, Words
from swecli.models.counts import parse_count

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.store.session_manager import SessionManager

DAYS = 30


@Action(Need.ALL_SESSIONS, Words("[DAYS]", f"how many (default {DAYS})", "?"), during_turn=True)
def stats(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Show the tokens and cost of all sessions in the last 30 (or DAYS) days, by day, model, cause and tool"""
    # late: not needed to declare an action
    from swecli.actions.spending import format_stats

    width = shutil.get_terminal_size().columns
    return format_stats(sessions.database, parse_count(invocation.text, DAYS), width)
