"""OpenRouter's own list of its models, as rows like those of the price table; fetched once a day."""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from swecli.config.paths import Paths
from swecli.config.private_files import write_file
from swecli.llm.price_table import Row, token_count
from swecli.llm.public_json import fetch_object
from swecli.models.errors import Unavailable

_log = logging.getLogger(__name__)
NAME = "openrouter"
_FRESH_SECONDS = 86_400.0
_RETRY_SECONDS = 3_600.0  # after a failure, so that not every start waits for one
_TIMEOUT = 2.0  # before the first prompt, once a day
_MAX_BYTES = 16 << 20  # the list has some 300 models of 3 KB
_VERSION = 1
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
    rows = _load_rows(path, address)
    if ask and (rows is None or _age(path) > _FRESH_SECONDS):
        try:
            rows = update_list(address, environ)
        except Unavailable as error:
            _log.warning("%s's list of models is not read: %s", NAME, error)
            _postpone(path, address, rows or {})
    rows = rows or {}
    plain_name, _, _variant = model.partition(":")  # name:nitro and name:online are the same model
    row = rows.get(model) or rows.get(plain_name)
    return row if isinstance(row, dict) else None


def stored_rows(address: str, environ: Mapping[str, str]) -> dict[str, Row]:
    """Return the rows by model of the list of the service at `address`, as it was last fetched; {} if it never was."""
    rows = _load_rows(_path(environ), address) or {}
    return {model: row for model, row in rows.items() if isinstance(row, dict)}


def update_list(address: str, environ: Mapping[str, str]) -> dict[str, Row]:
    """Fetch and store the list; return its rows by model. Raises Unavailable."""
    url = f"{address.rstrip('/')}/models"
    listed = fetch_object(url, seconds=_TIMEOUT, max_bytes=_MAX_BYTES)
    rows = read_rows(listed)
    if not rows:
        raise Unavailable(f"{url} sent a list of another shape.", "Check the address.")
    _save_rows(_path(environ), address, rows)
    return rows


def _save_rows(path: Path, address: str, rows: Mapping[str, Row]) -> None:
    document = {"version": _VERSION, "address": address, "models": rows}
    with suppress(OSError):
        write_file(path, json.dumps(document, indent=1))


def _postpone(path: Path, address: str, rows: Mapping[str, Row]) -> None:
    """Keep the rows, with an age at which the list is asked for again after `_RETRY_SECONDS`."""
    _save_rows(path, address, rows)
    pretended_time = time.time() - _FRESH_SECONDS + _RETRY_SECONDS
    with suppress(OSError):
        os.utime(path, (pretended_time, pretended_time))


def read_rows(listed: Mapping[str, Any]) -> dict[str, Row]:
    """Return the list's rows in the terms of the price table. What is not of the right kind is left out."""
    models = listed.get("data")
    if not isinstance(models, list):
        return {}
    named = [
        model for model in models if isinstance(model, dict) and isinstance(model.get("id"), str)
    ]
    return {model["id"]: _row(model) for model in named}


def _row(model: Mapping[str, Any]) -> Row:
    row: dict[str, Any] = {"litellm_provider": NAME, "mode": "chat"}
    top_provider = model.get("top_provider")
    window = token_count(top_provider, "context_length") or token_count(model, "context_length")
    output = token_count(top_provider, "max_completion_tokens")
    if window:
        row["max_input_tokens"] = window
    if output:
        row["max_output_tokens"] = output
    prices = model.get("pricing")
    for name, key in _PRICES.items():
        price = _price(prices.get(name)) if isinstance(prices, dict) else None
        if price is not None:
            row[key] = price
    parameters = model.get("supported_parameters")
    if isinstance(parameters, list):
        row |= {key: name in parameters for name, key in _PARAMETERS.items()}
    kinds = model.get("architecture")
    inputs = kinds.get("input_modalities") if isinstance(kinds, dict) else None
    if isinstance(inputs, list):
        row["supports_vision"] = "image" in inputs
    return row


def _price(value: Any) -> float | None:
    """Parse a price in US dollars per token, a decimal in a string; None if it is none, or varies (-1)."""
    try:
        price = float(value)
    except (TypeError, ValueError):
        return None
    return price if math.isfinite(price) and price >= 0 else None


def _path(environ: Mapping[str, str]) -> Path:
    return Paths.find(environ).state / f"{NAME}.json"


def _load_rows(path: Path, address: str) -> dict[str, Row] | None:
    """Return the stored rows, None if there are none of this address that can be read."""
    try:
        document = json.loads(path.read_bytes())
        is_ours = document["version"] == _VERSION and document["address"] == address
        return dict(document["models"]) if is_ours else None
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return None


def _age(path: Path) -> float:
    with suppress(OSError):
        return time.time() - path.stat().st_mtime
    return math.inf
