"""Fetch the published table of model prices and limits, check it, and say what changed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from swecli.config.private_files import write_file
from swecli.llm.price_table import FETCHED_HEAD, Row, cost_of, fetched_table_path, model_table
from swecli.llm.public_json import fetch_object
from swecli.models.errors import BadInput, Unavailable
from swecli.models.message import Usage

# litellm's own variable for the address of its table, and its own default
ADDRESS_VARIABLE = "LITELLM_MODEL_COST_MAP_URL"
_ADDRESS = (
    "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"
)
_SECONDS = 30.0
_MOST_BYTES = 32 << 20  # the table of today has 2 MB
_FEWEST_ROWS = 0.5  # of the known ones: a table with fewer is taken for a broken one
_CHAT = ("chat", "responses")
_SIZES = ("max_input_tokens", "max_output_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class TableUpdate:
    """What a fetched table has: its `address`, the number of `rows`, and names of chat models that are `new`, `gone`,
    or have `other` prices or sizes."""

    address: str
    rows: int
    new: tuple[str, ...]
    gone: tuple[str, ...]
    other: tuple[str, ...]


def update_table(environ: Mapping[str, str]) -> TableUpdate:
    """Fetch the table and store it for this user. Raises Unavailable with one line if it cannot be fetched or is not a
    table, BadInput if it cannot be stored."""
    address = environ.get(ADDRESS_VARIABLE, "").strip() or _ADDRESS
    fetched = fetch_object(address, seconds=_SECONDS, most_bytes=_MOST_BYTES)
    rows = {name: checked_row(row) for name, row in fetched.items() if _is_row(row)}
    before = model_table()
    if len(rows) <= _FEWEST_ROWS * len(before):
        raise Unavailable(
            f"{address} sent {len(rows):,} models, and {len(before):,} are known: not taken.",
            "Check the address.",
        )
    whole = json.dumps({"version": 1, "address": address, "models": rows}, indent=1)
    assert whole.encode().startswith(FETCHED_HEAD)
    path = fetched_table_path()
    try:
        write_file(path, whole)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from error
    known = _chat({name: checked_row(row) for name, row in before.items()})
    now = _chat(rows)
    return TableUpdate(
        address,
        len(rows),
        tuple(name for name in now if name not in known),
        tuple(name for name in known if name not in now),
        tuple(name for name in now if name in known and _facts(now[name]) != _facts(known[name])),
    )


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("litellm_provider"), str)


def checked_row(row: Row) -> dict[str, Any]:
    """Return a row without prices and sizes that are none: a negative price would lower what is counted."""
    return {key: value for key, value in row.items() if _is_plausible(key, value)}


def _is_plausible(key: str, value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if "cost" in key and is_number:
        return math.isfinite(value) and value >= 0
    if key in _SIZES:
        return is_number and math.isfinite(value) and value > 0
    return True


def _chat(rows: Mapping[str, Row]) -> dict[str, Row]:
    return {name: row for name, row in sorted(rows.items()) if row.get("mode") in _CHAT}


def _facts(row: Row) -> tuple[Any, ...]:
    """Return what a person looks at: sizes, and the price of a request of each kind."""
    kinds = (Usage(1, 0, 0, 0, 0), Usage(0, 1, 0, 0, 0), Usage(0, 0, 1, 0, 0), Usage(0, 0, 0, 1, 0))
    return (*(row.get(size) for size in _SIZES), *(cost_of(kind, row) for kind in kinds))
