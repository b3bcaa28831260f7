"""Read model prices and limits, from the table that is shipped or one that was fetched; find litellm's token tables
without importing it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Collection, Mapping, MutableMapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from swecli.config.paths import Paths
from swecli.similar_names import similar_names

if TYPE_CHECKING:  # a model is chosen before there is a message
    from swecli.models.message import Usage

Row = Mapping[str, Any]
# made of litellm's table by scripts/release/models; both kinds of files have one row to a line
SHIPPED_TABLE = Path(__file__).with_name("models.json")
TABLE_HEAD = b'{"version": 2,'  # a file that begins otherwise is of another version
_LAST_DAY = "deprecation_date"
_PRICE_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
# at the end of a name: -20260801, -2026-10-01, @20260801, -2026-10
_DATE = re.compile(r"[-@](20\d{6}|20\d\d-\d\d(-\d\d)?)$")
_REVISION = re.compile(r"-v\d+:\d+$")  # of Amazon's names, behind the date
_VERSION = re.compile(r"v?\d{1,2}(\.\d{1,2})*")
_NUMBER = re.compile(r"\d+")
# makes litellm use its local copies instead of fetching these tables
_OFFLINE_TABLES = (
    "MODEL_COST_MAP",
    "ANTHROPIC_BETA_HEADERS",
    "BLOG_POSTS",
    "POLICY_TEMPLATES",
    "AUTOROUTER_PRESETS",
)


def prepare_environment(environ: MutableMapping[str, str]) -> None:
    """Set the variables that keep litellm and tiktoken offline; a TIKTOKEN_CACHE_DIR of the user is kept."""
    for name in _OFFLINE_TABLES:
        environ[f"LITELLM_LOCAL_{name}"] = "True"
    environ["LITELLM_MODE"] = "PRODUCTION"
    if (folder := tokenizer_folder()) is not None:
        environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))


def tokenizer_folder() -> Path | None:
    """Return litellm's folder of token tables, in tiktoken's cache layout, or None."""
    folder = _litellm_folder() / "litellm_core_utils" / "tokenizers"
    return folder if folder.is_dir() else None


def model_table() -> dict[str, dict[str, Any]]:
    """Return prices and limits by model name; empty if the file cannot be read. Takes 20 ms."""
    return _parsed_rows(_fetched_table()) or shipped_table()


def shipped_table() -> dict[str, dict[str, Any]]:
    """Return the rows that were installed with this program; empty if the file cannot be read."""
    return _parsed_rows(_shipped_table())


def fetched_table_path() -> Path:
    """Return the path of the table that `swecli models update` fetches."""
    # reads the environment: the table is this user's
    return Paths.find(os.environ).state / "model_table.json"


def provider_names() -> set[str]:
    """Return all provider names litellm knows; empty if the shipped table cannot be read."""
    listed = _parsed(_shipped_table()).get("providers", [])
    return {*listed, *(row["litellm_provider"] for row in model_table().values())}


def find_row(provider: str, model: str) -> Row | None:
    """Return one model's row, or None, without parsing those of others. `provider` is "" for a model that is named
    without one (`gpt-4.1`)."""
    row = _find_in(_fetched_table(), provider, model)
    if row is not None:
        return row
    return _find_in(_shipped_table(), provider, model)


def _find_in(table: bytes, provider: str, model: str) -> Row | None:
    row = _row_named(table, f"{provider}/{model}")
    if row is not None:
        return row
    row = _row_named(table, model)
    owner = str(row["litellm_provider"]) if row else ""
    # also vertex_ai-language-models, bedrock_converse, cohere_chat
    return row if owner.startswith(provider) else None


def guess_row(provider: str, model: str) -> tuple[str, Row] | None:
    """Return the name and row of a model that one newer than the table probably resembles: the same name without its
    date, else the newest of its family that is not newer than itself. A family has the same words and other version
    numbers. None if there is none: nothing is said of a model older than all that are known."""
    undated = _without_date(_REVISION.sub("", model))
    if undated != model and (row := find_row(provider, undated)):
        return undated, _without_last_day(row)
    family, version = _family_and_version(undated)
    if not version:
        return None
    rows = {
        name.removeprefix(f"{provider}/"): row
        for name, row in chat_models(model_table(), provider).items()
    }
    older: dict[str, tuple[float, ...]] = {}  # versions by name
    for name in rows:
        other_family, other_version = _family_and_version(_without_date(name))
        if other_family == family and other_version and other_version <= version:
            older[name] = other_version
    if not older:
        return None
    newest = max(older, key=lambda name: (older[name], -len(name)))
    return newest, _without_last_day(rows[newest])


def _without_last_day(row: Row) -> Row:
    """Return a row without the day on which its model ends: a model that resembles it has another one."""
    return {key: value for key, value in row.items() if key != _LAST_DAY}


def _without_date(name: str) -> str:
    """Return a name without the date at its end, if that is one."""
    match = _DATE.search(name)
    digits = match[1].replace("-", "") if match else ""
    day = digits if len(digits) == 8 else f"{digits}01"
    try:
        date.fromisoformat(day)
    except ValueError:
        return name
    return _DATE.sub("", name)


def _family_and_version(name: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the words and the version of a name: ("claude", "opus"), (4.0, 0.6) of both claude-opus-4-6 and
    claude-opus-4.6. What follows the first number is decimals: xAI's grok-4.20 (of February 2026) is older than its
    grok-4.3 (of May)."""
    words = re.split(r"[-_@:/ ]", name.lower())
    version_words = [word for word in words if _VERSION.fullmatch(word)]
    family = tuple(word for word in words if word not in version_words)
    if not version_words:
        return family, ()
    major, *minor = _NUMBER.findall(" ".join(version_words))
    return family, (float(major), *(float(f"0.{digits}") for digits in minor))


def row_of(name: str) -> Row | None:
    """Return the row of the model `provider/name` (or `name`), or None."""
    provider, slash, model = name.partition("/")
    return find_row(provider, model) if slash else find_row("", name)


def sizes_of(row: Row | None) -> tuple[int | None, int | None]:
    """Return a model's window and its largest output in tokens, None if unknown."""
    window = token_count(row, "max_input_tokens", "max_tokens")
    output = token_count(row, "max_output_tokens", "max_tokens")
    return window or None, output or None


def deprecation_date(row: Row | None) -> date | None:
    """Return the day after which a model is no longer served; None if the row names none, or no date."""
    day = (row or {}).get(_LAST_DAY)
    if not isinstance(day, str):
        return None
    try:
        return date.fromisoformat(day)
    except ValueError:
        return None


def chat_models(models: Mapping[str, Row], provider: str) -> dict[str, Row]:
    """Return the rows of a provider's chat models by `provider/name`, sorted."""
    rows = {
        name if name.startswith(f"{provider}/") else f"{provider}/{name}": row
        for name, row in models.items()
        if row.get("litellm_provider") == provider and row.get("mode") in ("chat", "responses")
    }
    return dict(sorted(rows.items()))


def did_you_mean(word: str, names: Collection[str]) -> str:
    """Return "Did you mean ...?" with the similar ones of these names; "" if there are none, or the word is one."""
    similar = [] if word in names else similar_names(word, dict.fromkeys(names), 3)
    return f"Did you mean {' or '.join(similar)}?" if similar else ""


def cost_of(usage: Usage, row: Row | None) -> float | None:
    """Return the cost of one request in US dollars, None if a price is unknown. Long prompts use the higher rates
    (`…_above_200k_tokens`) for the whole request; cache and reasoning without rates of their own use those of input
    and output."""
    prices = token_prices(usage, row)
    cost = 0.0
    for name, price in prices.items():
        count = getattr(usage, name)
        if price is None:
            return None
        cost += count * price
    return cost if prices else None


def token_prices(usage: Usage, row: Row | None) -> dict[str, float | None]:
    """Return the price of one token of each category of a request's usage, by the name of the category, None if it is
    not known; {} without a row. They depend on the length of the prompt."""
    if not row:
        return {}
    thresholds = [int(match[1]) for key in row if (match := _PRICE_ABOVE.fullmatch(key))]
    exceeded = [size for size in thresholds if usage.prompt > size * 1000]
    suffix = f"_above_{max(exceeded)}k_tokens" if exceeded else ""
    by_category: dict[str, float | None] = {}
    for category, *columns in (
        ("input", "input_cost_per_token"),
        ("cache_read", "cache_read_input_token_cost", "input_cost_per_token"),
        ("cache_write", "cache_creation_input_token_cost", "input_cost_per_token"),
        ("output", "output_cost_per_token"),
        ("reasoning", "output_cost_per_reasoning_token", "output_cost_per_token"),
    ):
        prices = [row.get(name) for column in columns for name in (column + suffix, column)]
        by_category[category] = next(
            (price for price in prices if isinstance(price, int | float)), None
        )
    return by_category


def token_count(row: Any, *keys: str) -> int:
    """Return the first of these keys of a JSON object that has a valid number of tokens, 0 if none has."""
    for key in keys:
        value = row.get(key) if isinstance(row, Mapping) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12:
            return int(value)
    return 0


def _row_named(table: bytes, name: str) -> Row | None:
    """Return the row of a name: it is all of a line."""
    key = b"\n" + json.dumps(name).encode() + b": "
    start = table.find(key)
    if start < 0:
        return None
    line = table[start + len(key) : table.find(b"\n", start + 1)]
    with suppress(ValueError, RecursionError):  # a damaged line: the row is unknown
        row = json.loads(line.removesuffix(b","))
        return row if is_row(row) else None
    return None


def is_row(row: Any) -> TypeGuard[dict[str, Any]]:
    """Return whether a value of a table is a model's row: it names the provider."""
    return isinstance(row, dict) and isinstance(row.get("litellm_provider"), str)


def _parsed_rows(table: bytes) -> dict[str, dict[str, Any]]:
    rows = _parsed(table).get("models")
    items = rows.items() if isinstance(rows, dict) else ()
    return {name: row for name, row in items if is_row(row)}


def _parsed(table: bytes) -> dict[str, Any]:
    """Return what a table's file has, {} if it is damaged."""
    with suppress(ValueError, RecursionError):
        document = json.loads(table)
        if isinstance(document, dict):
            return document
    return {}


def _fetched_table() -> bytes:
    """Return the bytes of the fetched table; b"" if there is none, or it is older than the one installed, cut off, or
    of another version."""
    path = fetched_table_path()
    with suppress(OSError):
        if path.stat().st_mtime > SHIPPED_TABLE.stat().st_mtime:
            table = path.read_bytes()
            is_whole = table.startswith(TABLE_HEAD) and table.endswith(b"}")
            return table if is_whole else b""
    return b""


def _shipped_table() -> bytes:
    """Return the shipped table's bytes, b"" if it cannot be read: prices and limits are then shown as unknown."""
    with suppress(OSError):
        return SHIPPED_TABLE.read_bytes()
    return b""


def _litellm_folder() -> Path:
    """Return litellm's install folder without importing it; an empty path if it is not installed."""
    spec = importlib.util.find_spec("litellm")
    return Path(spec.origin).parent if spec and spec.origin else Path()
