"""What requests took, by model, cause, tool and day: of one session, or of all over some days."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from swecli.models.errors import BadInput
from swecli.store.sqlite.database import Database
from swecli.store.views import run_query

MOST_DAYS = 366
# a request that used no token, because nobody answered, cost nothing
_FIGURES = (
    "count(*) AS requests, sum(tokens_in) AS sent, sum(tokens_cached) AS cached,"
    " sum(tokens_out + tokens_reasoning) AS received, CASE WHEN"
    " count(*) FILTER (WHERE cost IS NULL AND tokens_in + tokens_out > 0) = 0 THEN total(cost) END AS cost"
)
_BY = {"models": "model", "causes": "purpose"}
_DAY = "date(created_at, 'localtime')"

Spending = dict[str, Any]


def session_spending(database: Database, session_id: str) -> Spending:
    """A session's `models`, `causes` and `tools`, most tokens first: records with a `name`, `requests`, tokens `sent`
    (of which `cached`) and `received`, `cost` in US dollars (None where a price is unknown); of a tool its `calls`, how
    many `failed`, and the `tokens` of its results."""
    return _by(database, f"session_id = '{session_id}'")


def daily_spending(database: Database, days: int, today: date) -> Spending:
    """The same of all sessions of the last `days`, with the `days` themselves, oldest first, none left out, and
    `total`, which also has `sessions` and `turns`. Raises BadInput for a number of days out of 1 to 366."""
    if not 1 <= days <= MOST_DAYS:
        raise BadInput(f"{days} days cannot be shown.", f"Name a number from 1 to {MOST_DAYS}.")
    first = today - timedelta(days - 1)
    where = f"{_DAY} BETWEEN '{first}' AND '{today}'"
    found = run_query(database, f"SELECT {_DAY} AS name, {_FIGURES} FROM requests WHERE {where} GROUP BY 1").records
    of = {one["name"]: one for one in found}
    none = {"requests": 0, "sent": 0, "cached": 0, "received": 0, "cost": 0.0}
    names = [str(first + timedelta(number)) for number in range(days)]
    counted = "count(DISTINCT session_id) AS sessions, count(DISTINCT session_id || '/' || turn) AS turns"
    total = run_query(database, f"SELECT {counted}, {_FIGURES} FROM requests WHERE {where}").records[0]
    total = {name: 0 if value is None and name != "cost" else value for name, value in total.items()}
    return {"days": [of.get(name, {"name": name} | none) for name in names], "total": total} | _by(database, where)


def _by(database: Database, where: str) -> Spending:
    found: Spending = {}
    for name, column in _BY.items():
        chosen = f"SELECT {column} AS name, {_FIGURES} FROM requests WHERE {where} GROUP BY 1 ORDER BY sent DESC"
        found[name] = run_query(database, chosen).records
    figures = "count(*) AS calls, count(error) AS failed, total(tokens) AS tokens"
    tools = f"SELECT tool AS name, {figures} FROM calls WHERE {where} GROUP BY 1 ORDER BY tokens DESC, calls DESC"
    found["tools"] = [one | {"tokens": int(one["tokens"])} for one in run_query(database, tools).records]
    return found
