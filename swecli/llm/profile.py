"""The capability record of a model at an address: what drives its requests, each field with the layer it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from swecli.config.model_entry import ModelEntry
from swecli.llm.endpoints import Endpoint
from swecli.llm.price_table import Row, cost_of, limit
from swecli.models.message import Usage

Thinking = Literal["none", "budget", "adaptive", "always", "effort"]
# never · in the field they came in · also empty, on every message with calls · signed · signed and bound to the prefix
ThinkBack = Literal["never", "as it came", "with calls", "signed", "bound"]
_LEAST_CAP = 8_192
_FLAGS = {
    "tools": "supports_function_calling",
    "system_role": "supports_system_messages",
    "images": "supports_vision",
}
_SIZES = {
    "window": ("max_input_tokens", "max_tokens"),
    "max_output": ("max_output_tokens", "max_tokens"),
}
_PRICES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a model; sizes in tokens, None where unknown.

    `limit_name` is what the body calls the answer's length. `efforts` are the words that its thinking takes. `off` are
    fields of the body that it does not take. `price` holds the keys of litellm's table, in US dollars a token.
    `encoding` names the tiktoken table that counts best for it. `offline` is set for models that use no network,
    `estimates` where its usage is an estimate. `origins` maps a field to its layer.
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
    off: frozenset[str] = frozenset()
    price: Row = field(default_factory=dict)
    encoding: str = "o200k_base"
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

    def effort(self, wish: str) -> str:
        """The word for a wish among those that the model takes."""
        if wish.isdecimal():
            wish = "low" if int(wish) <= 2_048 else "medium" if int(wish) <= 8_192 else "high"
        if wish == "off":
            return "none" if "none" in self.efforts else "low"
        if wish == "max":
            return self.efforts[-1] if self.efforts else "high"
        return wish

    def cost(self, usage: Usage) -> float | None:
        """US dollars for the tokens of one request; None where no price is known."""
        return cost_of(usage, self.price)

    def layered(self, values: Mapping[str, Any], layer: str) -> Profile:
        """The record with the values of a higher layer; what is no field of it is left out."""
        known = {name: value for name, value in values.items() if name in self.__slots__ and value is not None}
        if "off" in known:
            known["off"] = self.off | known["off"]
        return replace(self, **known, origins={**self.origins, **dict.fromkeys(known, layer)})


def sizes_in(row: Row | None) -> dict[str, int]:
    """Window and longest answer in tokens, as far as a row of litellm's table names them."""
    return {name: size for name, keys in _SIZES.items() if (size := limit(row, *keys))}


def from_table(row: Row | None, at: Endpoint) -> Profile:
    """The record as litellm's table has it; what it does not name is the default of the provider."""
    row, anthropic, openai = row or {}, at.api == "anthropic", at.provider == "openai"
    known: dict[str, Any] = {name: row[key] for name, key in _FLAGS.items() if isinstance(row.get(key), bool)}
    known |= sizes_in(row)
    if at.local and not known.get("tools", True):  # the server's version of a model may well take them: it is asked
        del known["tools"]
    thinks, always = bool(row.get("supports_reasoning")), bool(row.get("thinking_always_on"))
    newest: Thinking = "always" if always else "adaptive" if row.get("supports_adaptive_thinking") else "budget"
    more = tuple(word for word in ("xhigh", "max") if row.get(f"supports_{word}_reasoning_effort"))
    kin = at.provider in ("deepseek", "moonshot") or any(word in at.model.lower() for word in ("deepseek", "kimi"))
    back: ThinkBack = "with calls" if kin and (thinks or not row) else "as it came"
    if anthropic:
        back = "bound" if always else "signed"
    elif openai and at.base is None:
        back = "never"
    old = at.model in ("gpt-4", "gpt-4-32k") or at.model.startswith(("gpt-3.5", "gpt-4-"))  # the smaller token table
    return Profile(
        **known,
        limit_name="max_completion_tokens" if openai and (at.base is None or thinks) else "max_tokens",
        thinking="none" if not thinks else newest if anthropic else "effort",
        efforts=("low", "medium", "high", *more),
        think_back=back,
        cache="marks" if anthropic else "prefix",
        price={"input_cost_per_token": 0.0, "output_cost_per_token": 0.0} if at.local else row,
        encoding="cl100k_base" if old else "o200k_base",
        origins=dict.fromkeys(known, "table"),
    )


def from_entry(entry: ModelEntry) -> dict[str, Any]:
    """What the user's table says of the record."""
    price = {_PRICES[name]: dollars / 1e6 for name, dollars in (entry.price or {}).items()}
    same = {name: getattr(entry, name) for name in ("max_output", "tools", "system_role", "images", "cache")}
    return {"window": entry.context_window, "price": price or None, **same}
