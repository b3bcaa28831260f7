"""OpenRouter's own list of its models, as rows like those of the price table; fetched once a day."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from swecli.config.paths import Paths
from swecli.config.private_files import write_file
from swecli.llm.json_fields import objects_in, typed_field
from swecli.llm.price_table import Row, read_table, row_named, rows_in
from swecli.llm.public_json import fetch_object
from swecli.llm.table_update import own_columns, table_text
from swecli.models.errors import Unavailable
from swecli.models.json_value import JsonMapping, JsonObject

_log = logging.getLogger(__name__)
NAME = "openrouter"
_FRESH_SECONDS = 86_400.0
_RETRY_SECONDS = 3_600.0  # after a failure, so that not every start waits for one
_TIMEOUT = 2.0  # before the first prompt, once a day
_MAX_BYTES = 16 << 20  # the list has some 300 models of 3 KB
_PRICES = {
    "prompt": "input_cost_per_token",
    "completion": "output_cost_per_token",
    "internal_reasoning": "output_cost_per_reasoning_token",
    "input_cache_read": "cache_read_input_token_cost",
    "input_cache_write": "cache_creation_input_token_cost",
}
_PARAMETERS = {
    "tools": "supports_function_calling",
    "reasoning": "supports_reasoning",
    "structured_outputs": "supports_response_schema",
}


def find_listed(model: str, address: str, environ: Mapping[str, str], *, ask: bool) -> Row | None:
    """Return the row of a model in the list of the service at `address`, None if it is unknown. With `ask` a list that
    is missing or a day old is fetched; without an answer in two seconds the old one serves."""
    path = _path(environ)
    table = _stored_table(path, address)
    if ask and (not table or time.time() - path.stat().st_mtime > _FRESH_SECONDS):
        try:
            update_list(address, environ)
        except Unavailable as error:
            _log.warning("%s's list of models is not read: %s", NAME, error)
            _postpone(path, address, rows_in(table))
        table = _stored_table(path, address)
    plain_name, _, _variant = model.partition(":")  # name:nitro and name:online are the same model
    return row_named(table, model) or row_named(table, plain_name)


def stored_rows(address: str, environ: Mapping[str, str]) -> dict[str, JsonObject]:
    """Return the rows by model of the list of the service at `address`, as it was last fetched; {} if it never was."""
    return rows_in(_stored_table(_path(environ), address))


def update_list(address: str, environ: Mapping[str, str]) -> int:
    """Fetch and store the list; return how many models it has. Raises Unavailable."""
    url = f"{address.rstrip('/')}/models"
    rows = read_rows(fetch_object(url, seconds=_TIMEOUT, max_bytes=_MAX_BYTES))
    if not rows:
        raise Unavailable(f"{url} sent a list of another shape.", "Check the address.")
    _store(_path(environ), address, rows)
    return len(rows)


def _path(environ: Mapping[str, str]) -> Path:
    return Paths.find(environ).state / f"{NAME}.json"


def _store(path: Path, address: str, rows: Mapping[str, Row]) -> None:
    with suppress(OSError):
        write_file(path, table_text(rows, source=address))


def _stored_table(path: Path, address: str) -> bytes:
    """Return the stored list, b"" if there is none of this address that can be read."""
    table = read_table(path)
    source = json.dumps(address).encode()
    return table if source in table.partition(b'"models"')[0] else b""


def _postpone(path: Path, address: str, rows: Mapping[str, Row]) -> None:
    """Keep the rows, with an age at which the list is asked for again after `_RETRY_SECONDS`."""
    _store(path, address, rows)
    pretended_time = time.time() - _FRESH_SECONDS + _RETRY_SECONDS
    with suppress(OSError):
        os.utime(path, (pretended_time, pretended_time))


def read_rows(listed: JsonMapping) -> dict[str, Row]:
    """Return the list's rows in the terms of the price table. What is not of the right kind is left out."""
    models = objects_in(listed, "data")
    return {model["id"]: _row(model) for model in models if isinstance(model.get("id"), str)}


def _row(model: JsonMapping) -> Row:
    limits = {**model, **typed_field(model, "top_provider", dict)}
    prices = typed_field(model, "pricing", dict)
    row: JsonObject = {
        "litellm_provider": NAME,
        "mode": "chat",
        "max_input_tokens": limits.get("context_length") or model.get("context_length"),
        "max_output_tokens": limits.get("max_completion_tokens"),
        **{column: _price(prices.get(name)) for name, column in _PRICES.items()},
    }
    parameters = typed_field(model, "supported_parameters", list)
    if parameters:
        row |= {column: name in parameters for name, column in _PARAMETERS.items()}
    inputs = typed_field(typed_field(model, "architecture", dict), "input_modalities", list)
    if inputs:
        row["supports_vision"] = "image" in inputs
    return own_columns(row)


def _price(value: Any) -> float | None:
    """Parse a price in US dollars per token, a decimal in a string; None if it is none. It is -1 if it varies."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
