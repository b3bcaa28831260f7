"""litellm's installed tables, read as files without importing it: prices and limits of models, names of providers."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Collection, Mapping, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from swecli.models.message import Usage

Row = Mapping[str, Any]
_PRICES = "model_prices_and_context_window_backup.json"
_PROVIDERS = "provider_endpoints_support_backup.json"
_MAX_ROW_BYTES = 100_000  # bytes
_ABOVE = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")
# for names that the two tables spell differently
_PROVIDER_PREFIXES = {"vertex_ai": ("vertex_ai-",), "bedrock": ("bedrock_",), "cohere": ("cohere_",)}
# each of these is a table litellm would otherwise fetch over the network
_LOCAL_TABLES = (
    "LITELLM_LOCAL_MODEL_COST_MAP",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS",
    "LITELLM_LOCAL_BLOG_POSTS",
    "LITELLM_LOCAL_POLICY_TEMPLATES",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS",
)


def prepare_environment(environ: MutableMapping[str, str]) -> None:
    """Set what keeps litellm and tiktoken off the network; values the user gave for the token tables are kept."""
    for name in _LOCAL_TABLES:
        environ[name] = "True"
    environ["LITELLM_MODE"] = "PRODUCTION"
    if (tables := tokenizer_folder()) is not None:
        environ.setdefault("TIKTOKEN_CACHE_DIR", str(tables))


def tokenizer_folder() -> Path | None:
    """The token tables litellm brings along, in tiktoken's cache layout; None when they are not there."""
    tables = _litellm_folder() / "litellm_core_utils" / "tokenizers"
    return tables if tables.is_dir() else None


def model_table() -> dict[str, dict[str, Any]]:
    """Prices and limits by model name, as litellm ships them; empty when they cannot be read (50 ms)."""
    table: dict[str, dict[str, Any]] = json.loads(_read_table(_PRICES) or b"{}")
    return table


def provider_names() -> set[str]:
    """Every provider litellm can talk to; empty when that cannot be read."""
    listed = json.loads(_read_table(_PROVIDERS) or b"{}").get("providers", ())
    return {*listed} | {str(row["litellm_provider"]) for row in model_table().values() if "litellm_provider" in row}


def find_row(provider: str, model: str) -> Row | None:
    """The row of one provider's model, found by searching the table's bytes (2 ms); None where it is not there."""
    table = _read_table(_PRICES)
    if row := _row_named(table, f"{provider}/{model}"):
        return row
    row = _row_named(table, model)
    owner = str(row.get("litellm_provider", "")) if row else ""
    return row if owner == provider or owner.startswith(_PROVIDER_PREFIXES.get(provider, ("\0",))) else None


def provider_of(model: str) -> str | None:
    """The provider of a model named without one (`gpt-4.1`), where the table knows it."""
    row = _row_named(_read_table(_PRICES), model)
    owner = row.get("litellm_provider") if row else None
    return str(owner) if owner else None


def chat_models(models: Mapping[str, Row], provider: str) -> dict[str, Row]:
    """The rows of one provider's chat models by `provider/name`, sorted."""
    rows = {
        name if name.startswith(f"{provider}/") else f"{provider}/{name}": row
        for name, row in models.items()
        if row.get("litellm_provider") == provider and row.get("mode") in ("chat", "responses")
    }
    return dict(sorted(rows.items()))


def did_you_mean(word: str, known: Collection[str]) -> str:
    """The question whether something similar was meant; "" where nothing is, or the word itself is known."""
    # late: only for what was mistyped
    from difflib import get_close_matches  # noqa: PLC0415

    near = [] if word in known else get_close_matches(word, dict.fromkeys(known), n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(near)}?" if near else ""


def cost_of(usage: Usage, row: Row | None) -> float | None:
    """US dollars for the tokens of one request; None where the table has no price. Long prompts take the dearer prices
    (`…_above_200k_tokens`) for the whole request; without prices of their own the cache costs what input does, and
    reasoning what output does."""
    if not row:
        return None
    sizes = [int(found[1]) for key in row if (found := _ABOVE.fullmatch(key))]
    reached = [size for size in sizes if usage.prompt > size * 1000]
    suffix = f"_above_{max(reached)}k_tokens" if reached else ""
    cost = 0.0
    for count, *keys in (
        (usage.input, "input_cost_per_token"),
        (usage.cache_read, "cache_read_input_token_cost", "input_cost_per_token"),
        (usage.cache_write, "cache_creation_input_token_cost", "input_cost_per_token"),
        (usage.output, "output_cost_per_token"),
        (usage.reasoning, "output_cost_per_reasoning_token", "output_cost_per_token"),
    ):
        prices = [row.get(name) for key in keys for name in (key + suffix, key)]
        price = next((price for price in prices if isinstance(price, int | float)), None)
        if price is None:
            return None
        cost += count * price
    return cost


def limit(row: Row | None, *keys: str) -> int | None:
    """The first of the keys that holds a number of tokens; None for none."""
    for key in keys:
        value = (row or {}).get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e12:
            return int(value)
    return None


def _row_named(table: bytes, name: str) -> Row | None:
    key = json.dumps(name).encode()
    start = table.find(b"\n    " + key + b": {")
    text = table[start + len(key) + 7 :][:_MAX_ROW_BYTES].decode("utf-8", "ignore")
    return json.JSONDecoder().raw_decode(text)[0] if start >= 0 else None


def _litellm_folder() -> Path:
    """Where litellm is installed, found without importing it; where the table is not, it is unknown."""
    spec = importlib.util.find_spec("litellm")
    return Path(spec.origin).parent if spec and spec.origin else Path()


def _read_table(name: str) -> bytes:
    """A table's bytes; none where it cannot be read: prices and limits are unknown then, and shown as unknown."""
    with suppress(OSError, UnicodeDecodeError):
        table = (_litellm_folder() / name).read_bytes()
        if table.isascii() or table.decode():  # to decode three megabytes would hold up the first request
            return table
    return b""
