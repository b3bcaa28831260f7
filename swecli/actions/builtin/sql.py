"""`/sql` and `swecli sql`: query the database of sessions."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Flag, Invocation, Need, Words
from swecli.models.counts import parse_count
from swecli.models.errors import UsageError

if TYPE_CHECKING:  # the prompt completes the names of the actions before these are loaded
    from swecli.store.session_manager import SessionManager


@Action(
    Need.ALL_SESSIONS,
    Words("[QUERY]", "one SELECT (without: list the views)", "?", is_text=True),
    (
        Flag("--limit", "print at most N rows (default 1000)", "N"),
        Flag("--copy", "copy the database and the views into FILE, for other programs", "FILE"),
    ),
    during_turn=True,
)
async def sql(sessions: SessionManager, invocation: Invocation) -> ActionResult:
    """Query the database in SQL, read-only, through views whose names and columns are stable (alone: list them)

    A query that is cancelled ends. Raises UsageError, BadInput.
    """
    # late: not needed to declare an action
    from swecli.store.views import MAX_ROWS, copy_with_views, run_query

    limit = parse_count(invocation.value("--limit"), MAX_ROWS)
    file = invocation.value("--copy")
    if file and invocation.text:
        raise UsageError("--copy takes no query.", "Make the copy first, then ask.")
    if file:
        copy = str(copy_with_views(sessions.database, invocation.file(file)))
        return ActionResult({"copy": copy}, (copy,))
    stop = Event()
    try:
        # in a thread: a query must not block Esc and the prompt
        result = await asyncio.to_thread(run_query, sessions.database, invocation.text, limit, stop)
    finally:
        stop.set()
    lines = () if result.rows else ("No rows.",)
    return ActionResult(
        result.records,
        lines,
        head=result.columns,
        rows=result.cells,
        note=result.note,
    )
