"""The capability record of a model at an address: what drives its requests, each field with the layer it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from swecli.config.model_entry import ModelEntry
from swecli.llm.endpoints import Endpoint
from swecli.llm.price_table import Row, limit

Thinking = Literal["none", "switch", "budget", "adaptive", "always", "effort"]
# never · in the field they came in · also empty, on every message with calls · signed · signed and bound to the prefix
ThinkBack = Literal["never", "as it came", "with calls", "signed", "bound"]
_LEAST_CAP = 8_192


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a model; sizes in tokens, None where unknown.

    `limit_name` is what the body calls the answer's length. `efforts` are the words that its thinking takes. `off` are
    fields of the body that it does not take. `price` holds the keys of litellm's table, in US dollars a token.
    `encoding` names the tiktoken table that counts best for it, `scale` is its count divided by ours. `offline` is set
    for models that use no network, `estimates` where its usage is an estimate. `origins` maps a field to its layer.
    """

    window: int | None = None
    max_output: int | None = None
    tools: bool = True
    system_role: bool = True
    limit_name: str = "max_tokens"
    thinking: Thinking = "none"
    efforts: tuple[str, ...] = ()
    think_back: ThinkBack = "as it came"
    images: bool = False
    cache: Literal["none", "prefix", "marks"] = "prefix"
    cache_minimum: int = 1_024
    off: frozenset[str] = frozenset()
    price: Row = field(default_factory=dict)
    encoding: str = "o200k_base"
    scale: float = 1.0
    offline: bool = False
    estimates: bool = False
    origins: Mapping[str, str] = field(default_factory=dict)

    def reserve(self, max_tokens: int | None = None) -> int:
        """Tokens kept for an answer, and asked for: what the user set, else at most a quarter of the window."""
        if max_tokens:
            return max_tokens
        window = self.window or 0
        cap = 32_000 if window >= 200_000 else 16_000 if window >= 64_000 else _LEAST_CAP
        return max(1, min(self.max_output or cap, cap, window // 4 if window else cap))

    def layered(self, values: Mapping[str, Any], layer: str) -> Profile:
        """The record with the values of a higher layer; what is no field of it is left out."""
        known = {name: value for name, value in values.items() if name in self.__slots__ and value is not None}
        if "off" in known:
            known["off"] = self.off | known["off"]
        return replace(self, **known, origins={**self.origins, **dict.fromkeys(known, layer)})


def from_table(row: Row | None, at: Endpoint) -> Profile:
    """The record as litellm's table has it; what it does not name is the default of the provider."""
    anthropic, openai, local = at.api == "anthropic", at.provider == "openai", at.local
    known: dict[str, Any] = {
        "window": limit(row, "max_input_tokens", "max_tokens"),
        "max_output": limit(row, "max_output_tokens", "max_tokens"),
        "tools": _flag(row, "supports_function_calling"),
        "system_role": _flag(row, "supports_system_messages"),
        "images": _flag(row, "supports_vision"),
        "cache_minimum": limit(row, "prompt_cache_min_tokens"),
    }
    known = {name: value for name, value in known.items() if value is not None}
    origins = dict.fromkeys(known, "table")
    if known.get("tools") is False and local:  # the server's version of a model may well take them: it is asked
        del known["tools"], origins["tools"]
    return Profile(
        **known,
        limit_name="max_completion_tokens" if openai and (at.base is None or _thinks(row)) else "max_tokens",
        thinking=_thinking(row, anthropic=anthropic),
        efforts=_efforts(row),
        think_back=_think_back(row, at),
        cache="marks" if anthropic else "prefix",
        price={"input_cost_per_token": 0.0, "output_cost_per_token": 0.0} if local else row or {},
        encoding="cl100k_base" if _is_old(at.model) else "o200k_base",
        origins=origins,
    )


def from_entry(entry: ModelEntry) -> dict[str, Any]:
    """What the user's table says of the record."""
    keys = {
        "input": "input_cost_per_token",
        "output": "output_cost_per_token",
        "cache_read": "cache_read_input_token_cost",
        "cache_write": "cache_creation_input_token_cost",
    }
    price = {keys[name]: dollars / 1e6 for name, dollars in (entry.price or {}).items()}
    same = {name: getattr(entry, name) for name in ("max_output", "tools", "system_role", "images", "cache")}
    return {"window": entry.context_window, "price": price or None, **same}


def _flag(row: Row | None, key: str) -> bool | None:
    value = (row or {}).get(key)
    return value if isinstance(value, bool) else None


def _thinks(row: Row | None) -> bool:
    return bool((row or {}).get("supports_reasoning"))


def _thinking(row: Row | None, *, anthropic: bool) -> Thinking:
    row = row or {}
    if not _thinks(row):
        return "none"
    if not anthropic:
        return "effort"
    if row.get("thinking_always_on"):
        return "always"
    return "adaptive" if row.get("supports_adaptive_thinking") else "budget"


def _efforts(row: Row | None) -> tuple[str, ...]:
    words = ["low", "medium", "high"]
    words += [word for word in ("xhigh", "max") if (row or {}).get(f"supports_{word}_reasoning_effort")]
    return tuple(words)


def _think_back(row: Row | None, at: Endpoint) -> ThinkBack:
    if at.api == "anthropic":
        return "bound" if (row or {}).get("thinking_always_on") else "signed"
    if at.provider == "openai" and at.base is None:
        return "never"
    kin = at.provider in ("deepseek", "moonshot") or any(word in at.model.lower() for word in ("deepseek", "kimi"))
    return "with calls" if kin and (row is None or _thinks(row)) else "as it came"


def _is_old(model: str) -> bool:
    """Whether the model is of the generation that counted with the smaller table."""
    return model in ("gpt-4", "gpt-4-32k") or model.startswith(("gpt-3.5", "gpt-4-"))
