"""litellm's installed tables of models and providers, read from disk without importing litellm."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from swecli.llm.environment import litellm_folder

_PRICES = "model_prices_and_context_window_backup.json"
_PROVIDERS = "provider_endpoints_support_backup.json"
# for names that the two tables spell differently
_SAME = {"vertex_ai": ("vertex_ai-",), "bedrock": ("bedrock_",), "cohere": ("cohere_",)}


def model_table() -> dict[str, dict[str, Any]]:
    """Prices and limits by model name, as litellm ships them; empty when they cannot be read (20 ms)."""
    table = _read(_PRICES)
    return {name: row for name, row in table.items() if isinstance(row, dict)}


def provider_names(models: dict[str, dict[str, Any]]) -> set[str]:
    """Every provider litellm can talk to; empty when that cannot be read."""
    listed = _read(_PROVIDERS).get("providers", {})
    return set(listed) | {str(row["litellm_provider"]) for row in models.values() if "litellm_provider" in row}


def model_row(models: dict[str, dict[str, Any]], provider: str, model: str) -> dict[str, Any] | None:
    """The row of one model; None where the table does not know it. Rows of other providers do not count."""
    row = models.get(f"{provider}/{model}")
    if row is not None:
        return row
    row = models.get(model)
    if row is None:
        return None
    owner = str(row.get("litellm_provider", ""))
    return row if owner == provider or owner.startswith(_SAME.get(provider, ("\0",))) else None


def provider_of(models: dict[str, dict[str, Any]], model: str) -> str | None:
    """The provider of a model named without one (`gpt-4.1`), where the table says it."""
    row = models.get(model)
    owner = row.get("litellm_provider") if row else None
    return str(owner) if owner else None


def chat_models(models: dict[str, dict[str, Any]], provider: str) -> list[str]:
    """The chat models of one provider as `provider/name`, sorted."""
    names = {
        name if name.startswith(f"{provider}/") else f"{provider}/{name}"
        for name, row in models.items()
        if row.get("litellm_provider") == provider and row.get("mode") in ("chat", "responses")
    }
    return sorted(names)


def _read(name: str) -> dict[str, Any]:
    folder = litellm_folder() or Path()
    try:
        value = json.loads((folder / name).read_bytes())
    except (OSError, ValueError):
        # without the tables prices and limits are unknown, which is shown as unknown
        return {}
    return value if isinstance(value, dict) else {}
