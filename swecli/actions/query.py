"""Query the database of sessions in SQL."""

from __future__ import annotations

from threading import Event

from swecli.models.action import ActionResult
from swecli.store.sqlite.database import Database
from swecli.store.views import MAX_ROWS, run_query


def query(
    database: Database, text: str, limit: int = MAX_ROWS, *, stop: Event | None = None
) -> ActionResult:
    """Run one SELECT, read-only, and return at most `limit` rows; "" lists the views and their columns. When `stop` is
    set, the query ends. Raises BadInput."""
    found = run_query(database, text, limit, stop)
    nothing = () if found.rows else ("No rows.",)
    return ActionResult(found.records, nothing, found.columns, found.cells, found.note)
