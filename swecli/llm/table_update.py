"""Make a table of model prices and limits of litellm's; fetch its newest one, check it, and say what changed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from swecli.config.private_files import write_file
from swecli.llm.price_table import (
    TABLE_HEAD,
    Row,
    cost_of,
    fetched_table_path,
    is_row,
    model_table,
)
from swecli.llm.public_json import fetch_object
from swecli.llm.thinking import LEVELS
from swecli.models.errors import BadInput, Unavailable
from swecli.models.message import Usage
from swecli.values import dataclass

# litellm's own variable for the address of its table, and its own default
ADDRESS_VARIABLE = "LITELLM_MODEL_COST_MAP_URL"
_ADDRESS = (
    "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"
)
_TIMEOUT = 30.0
_MAX_BYTES = 32 << 20  # the table of today has 2 MB
_LEAST_SHARE = 0.5  # of the known rows: a table with fewer is taken for a broken one
_CHAT = ("chat", "responses")
_SIZE_COLUMNS = ("max_input_tokens", "max_output_tokens", "max_tokens")
_PRICE_COLUMN = re.compile(
    r"(input_cost_per_token|output_cost_per_token|output_cost_per_reasoning_token"
    r"|cache_read_input_token_cost|cache_creation_input_token_cost)(_above_\d+k_tokens)?"
)
_COLUMNS = {
    *_SIZE_COLUMNS,
    "litellm_provider",
    "mode",
    "deprecation_date",
    "supported_endpoints",
    "supports_function_calling",
    "supports_system_messages",
    "supports_vision",
    "supports_response_schema",
    "supports_reasoning",
    "supports_adaptive_thinking",
    *(f"supports_{level}_reasoning_effort" for level in LEVELS),
    "reasoning_effort_levels",
    "thinking_on_by_default",
    "thinking_always_on",
}


@dataclass(frozen=True, slots=True)
class TableUpdate:
    """What a fetched table has: its `address`, the number of `rows`, and the names of chat models that were `added`,
    were `removed`, or have other prices or sizes (`changed`)."""

    address: str
    rows: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]


def update_table(environ: Mapping[str, str]) -> TableUpdate:
    """Fetch the table and store it for this user. Raises Unavailable with one line if it cannot be fetched or is not a
    table, BadInput if it cannot be stored."""
    address = environ.get(ADDRESS_VARIABLE, "").strip() or _ADDRESS
    fetched = fetch_object(address, seconds=_TIMEOUT, max_bytes=_MAX_BYTES)
    rows = read_rows(fetched)
    previous = model_table()
    if len(rows) <= _LEAST_SHARE * len(previous):
        raise Unavailable(
            f"{address} sent {len(rows):,} models, and {len(previous):,} are known: not taken.",
            "Check the address.",
        )
    path = fetched_table_path()
    try:
        write_file(path, table_text(rows, source=address))
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from error
    return TableUpdate(
        address=address,
        rows=len(rows),
        added=tuple(name for name in rows if name not in previous),
        removed=tuple(name for name in previous if name not in rows),
        changed=tuple(
            name
            for name in rows
            if name in previous and _figures(rows[name]) != _figures(previous[name])
        ),
    )


def read_rows(litellm_table: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what the program reads of litellm's table: the rows of chat models by name, sorted, with the columns that
    mean something here. Prices and sizes that are none are left out: a negative price would lower what is counted.
    Another name of a model (`alias_of`) has that model's row."""
    rows = {}
    for name, row in sorted(litellm_table.items()):
        if isinstance(row, dict) and "alias_of" in row:
            row = litellm_table.get(str(row["alias_of"]))
        if is_row(row) and row.get("mode") in _CHAT:
            columns = {**row, **dict(_prices_by_size(row))}
            rows[name] = {key: value for key, value in columns.items() if _is_column(key, value)}
    return rows


def table_text(rows: Mapping[str, Row], *, source: str, providers: Collection[str] = ()) -> str:
    """Return the text of a table's file, one row to a line, so that a row is found without parsing the others.
    `source` says whose figures these are, `providers` are all names of providers that litellm knows."""
    properties = {"version": 2, "source": source, "providers": sorted(providers)}
    first_lines = _to_lines(properties)
    text = f'{{{first_lines},\n"models": {{\n{_to_lines(rows)}\n}}}}'
    assert text.encode().startswith(TABLE_HEAD)
    return text


def _to_lines(fields: Mapping[str, Any]) -> str:
    """Return the inside of a JSON object, one field to a line."""
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items())


def _is_column(key: str, value: Any) -> bool:
    """Return whether a column of litellm's table is one of ours, and its value one that can be true."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if _PRICE_COLUMN.fullmatch(key):
        return is_number and math.isfinite(value) and value >= 0
    if key in _SIZE_COLUMNS:
        return is_number and math.isfinite(value) and value > 0
    return key in _COLUMNS


def _prices_by_size(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield the prices that a row states for ranges of prompt sizes (`tiered_pricing`, of Alibaba's models), named as
    other rows do: `input_cost_per_token` and, for example, `input_cost_per_token_above_32k_tokens`."""
    tiers = row.get("tiered_pricing")
    for tier in tiers if isinstance(tiers, list) else ():
        match tier:
            case {"range": [int() | float() as start, *_]}:
                suffix = f"_above_{int(start) // 1000}k_tokens" if start else ""
                yield from ((key + suffix, value) for key, value in tier.items())


def _figures(row: Row) -> tuple[Any, ...]:
    """Return what a person looks at: sizes, and the price of a token of each kind."""
    tokens = (Usage(input=1), Usage(cache_read=1), Usage(cache_write=1), Usage(output=1))
    return (*(row.get(size) for size in _SIZE_COLUMNS), *(cost_of(token, row) for token in tokens))
