"""What requests cost: the tokens and US dollars of a session or of some days, by model, cause, tool and day."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.message import Usage
from swecli.models.request_parts import PartSizes, read_parts
from swecli.store.journal.reader import USAGE, Reader
from swecli.store.journal.tables import MODEL_REQUEST
from swecli.store.sqlite.database import Database
from swecli.store.views import run_query
from swecli.values import dataclass

_MAX_DAYS = 366
# a request without tokens, because it got no answer, cost nothing
_TOTALS = (
    "count(*) AS requests, sum(tokens_in) AS sent, sum(tokens_cached) AS cached,"
    " sum(tokens_out + tokens_reasoning) AS received, CASE WHEN"
    " count(*) FILTER (WHERE cost IS NULL AND tokens_in + tokens_out > 0) = 0 THEN total(cost) END AS cost,"
    " total(cost) AS known_cost,"
    " count(*) FILTER (WHERE cost IS NULL AND tokens_in + tokens_out > 0) AS unpriced"
)
_REFUSED_COUNT = "count(CASE WHEN approved = 0 THEN 1 END)"
# what the user refused or stopped did not fail
_FAILED = "count(CASE WHEN approved IS NOT 0 AND error IS NOT 'cancelled' THEN error END)"
_GROUP_COLUMNS = {"models": "model", "causes": "purpose"}
_DAY = "date(created_at, 'localtime')"
Spending = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PaidRequest:
    """A request of a session with what was paid for it."""

    model: str
    purpose: str  # as it is stored: that of another version may be none of `Purpose`
    interaction: int
    step: int
    usage: Usage
    cost: float | None  # US dollars; None if its price is not known
    parts: PartSizes  # {} if they are not stored
    answered_at: datetime


def paid_requests(database: Database, session_id: str) -> list[PaidRequest]:
    """Return the requests of a session in the order in which they were answered, those of undone turns too."""
    names = ("model", "purpose", "interaction", "step", "cost", "extra", "created_at", *USAGE)
    source = "model_request WHERE session_id = ? ORDER BY id"
    requests: list[PaidRequest] = []
    with database.read() as db:
        for row in Reader(db).select(MODEL_REQUEST, names, source, (session_id,)):
            extra = row["extra"]
            requests.append(
                PaidRequest(
                    model=row["model"],
                    purpose=row["purpose"],
                    interaction=row["interaction"],
                    step=row["step"],
                    usage=Usage(**{name: row[name] for name in USAGE}),
                    cost=row["cost"],
                    parts=read_parts(extra.get("parts") if isinstance(extra, dict) else None),
                    answered_at=row["created_at"],
                )
            )
    return requests


def session_spending(database: Database, session_id: str) -> Spending:
    """Return a session's spending by `models`, `causes` and `tools`, most tokens first: records with `name`,
    `requests`, tokens `sent` (of which `cached`) and `received`, `cost` in US dollars (None if a price is unknown: then
    `known_cost` is that of the others, and `unpriced` counts them); for
    tools `calls`, how many of them were `refused` or `failed`, and the `tokens` of their results."""
    return _group_spending(database, f"session_id = '{session_id}'")


def daily_spending(database: Database, days: int, today: date) -> Spending:
    """Return the same for all sessions of the last `days`, with a record for each of the `days`, oldest first, and
    `total`, which also has `sessions` and `turns`. Raises BadInput unless `days` is from 1 to 366."""
    if not 1 <= days <= _MAX_DAYS:
        raise BadInput(f"{days} days cannot be shown.", f"Name a number from 1 to {_MAX_DAYS}.")
    first = today - timedelta(days - 1)
    condition = f"{_DAY} BETWEEN '{first}' AND '{today}'"
    by_day: dict[str, Spending] = {}
    for offset in range(days):
        name = str(first + timedelta(offset))
        by_day[name] = {
            "name": name,
            "requests": 0,
            "sent": 0,
            "cached": 0,
            "received": 0,
            "cost": 0.0,
            "known_cost": 0.0,
            "unpriced": 0,
        }
    question = f"SELECT {_DAY} AS name, {_TOTALS} FROM requests WHERE {condition} GROUP BY 1"
    for record in run_query(database, question).records:
        by_day[record["name"]] = record

    count_columns = (
        "count(DISTINCT session_id) AS sessions, count(DISTINCT session_id || '/' || turn) AS turns"
    )
    question = f"SELECT {count_columns}, {_TOTALS} FROM requests WHERE {condition}"
    [total] = run_query(database, question).records
    for name, value in total.items():
        if value is None and name != "cost":  # a sum of no rows
            total[name] = 0
    return {"days": list(by_day.values()), "total": total} | _group_spending(database, condition)


def _group_spending(database: Database, condition: str) -> Spending:
    spending: Spending = {}
    for name, column in _GROUP_COLUMNS.items():
        question = (
            f"SELECT {column} AS name, {_TOTALS} FROM requests WHERE {condition}"
            " GROUP BY 1 ORDER BY sent DESC"
        )
        spending[name] = run_query(database, question).records
    figures = f"count(*) AS calls, {_REFUSED_COUNT} AS refused, {_FAILED} AS failed, total(tokens) AS tokens"
    question = (
        f"SELECT tool AS name, {figures} FROM calls WHERE {condition}"
        " GROUP BY 1 ORDER BY tokens DESC, calls DESC"
    )
    tools = run_query(database, question).records
    for tool in tools:
        tool["tokens"] = int(tool["tokens"])
    spending["tools"] = tools
    return spending
