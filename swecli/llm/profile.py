"""The capability record of a model at an address, each field with its layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal

from swecli.config.model_entry import ModelEntry
from swecli.llm.endpoints import Endpoint, Server
from swecli.llm.learned_facts import LearnedFacts
from swecli.llm.price_table import Row, cost_of, deprecation_date, sizes_of
from swecli.models.message import Usage

Thinking = Literal["none", "budget", "adaptive", "always", "effort"]
Wire = Literal["chat", "responses"]  # of OpenAI's two
# how reasoning is sent back: never · in its own field · on every message, also empty · signed · bound to the prefix
ThinkBack = Literal["never", "as it came", "with calls", "signed", "bound"]
_RESPONSES = "/v1/responses"
_NATIVE_RESPONSES = ("openai", "azure", "xai")
_SMALL_WINDOW_CAP = 8_192
_FLAGS = {
    "tools": "supports_function_calling",
    "system_role": "supports_system_messages",
    "images": "supports_vision",
    "schemas": "supports_response_schema",
}
_PRICES = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """A model's capabilities; sizes in tokens, None if unknown. `limit_name` is the field of the answer's length,
    `efforts` are its thinking levels. `off` are request fields that it refuses. `price` has the keys of
    the table, in US dollars per token. `encoding` names its closest tiktoken encoding. `offline` models use no
    network; with `estimates` its usage is estimated. With `schemas` the service keeps an answer to a JSON schema, with
    `reports_cost` it sends the cost of each request. `server` says whose server answers; one that is not a service's
    own `may_write_calls`: leave those of its model in the text. `origins` maps each field to its layer."""

    window: int | None = None
    max_output: int | None = None
    tools: bool = True
    system_role: bool = True
    limit_name: str = "max_tokens"
    thinking: Thinking = "none"
    efforts: tuple[str, ...] = ()
    think_back: ThinkBack = "as it came"
    wire: Wire = "chat"
    images: bool = False
    schemas: bool = False
    cache: Literal["none", "prefix", "marks"] = "prefix"
    off: frozenset[str] = frozenset()
    price: Row = field(default_factory=dict)
    encoding: str = "o200k_base"
    offline: bool = False
    estimates: bool = False
    reports_cost: bool = False
    server: Server = "service"
    may_write_calls: bool = False
    deprecation_date: date | None = None  # the last day on which the model is served, if it has one
    priced_like: str = ""  # the model whose price is taken for this one's, "" if none is
    origins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        at: Endpoint,
        row: Row | None,
        probed: Mapping[str, Any],
        facts: LearnedFacts | None = None,
        entry: ModelEntry | None = None,
        layer: str = "table",
        like: str = "",
    ) -> Profile:
        """Build a model's record from its layers: the table, a probe, learned facts and configuration. `layer` says
        where the row is from. `like` names the model whose row it is, if that is another one, "" if not."""
        known = _from_table(row, at)
        if like:
            layer = f"guessed: like {like}"
            known["priced_like"] = "" if entry and entry.price else like
        origins = dict.fromkeys(known.pop("found"), layer)
        profile = cls(**known, origins=origins).layered(probed, "probe")
        if entry and entry.api:
            profile = profile.layered(
                {"wire": "responses" if entry.api == "responses" else "chat"}, "config"
            )
        profile = profile.layered(facts.of(at.origin) if facts else {}, "learned")
        return profile.layered(_from_entry(entry) if entry else {}, "config")

    def reserve(self, max_tokens: int | None = None) -> int:
        """Return the tokens reserved for an answer: the user's setting, else a cap, at most a quarter of the window."""
        if max_tokens:
            return max_tokens
        window = self.window or 0
        cap = 32_000 if window >= 200_000 else 16_000 if window >= 64_000 else _SMALL_WINDOW_CAP
        return max(1, min(self.max_output or cap, cap, window // 4 if window else cap))

    @property
    def reads_written_calls(self) -> bool:
        """Return whether an answer that consists of a tool call is one."""
        return self.may_write_calls and self.wire == "chat"

    def is_priced(self) -> bool:
        """Return whether the cost of every request will be known."""
        any_request = Usage(1, 1, 1, 1, 1)
        return self.offline or self.reports_cost or cost_of(any_request, self.price) is not None

    def dollars_per_million(
        self, name: Literal["input", "output", "cache_read", "cache_write"]
    ) -> float | None:
        """Return the price of a million tokens of this kind in US dollars, None if it is unknown."""
        price = self.price.get(_PRICES[name])
        return round(price * 1e6, 6) if isinstance(price, int | float) else None

    def effort(self, wish: str) -> str:
        """Map a requested thinking level or token budget to one that the model accepts."""
        if wish.isdecimal():
            wish = "low" if int(wish) <= 2_048 else "medium" if int(wish) <= 8_192 else "high"
        if wish == "off":
            return "none" if "none" in self.efforts else "low"
        if wish == "max":
            return self.efforts[-1] if self.efforts else "high"
        return wish

    def layered(self, values: Mapping[str, Any], layer: str) -> Profile:
        """Return a copy with the values of a higher layer; unknown fields and None are skipped."""
        known = {
            name: value
            for name, value in values.items()
            if name in self.__slots__ and value is not None
        }
        if "off" in known:
            known["off"] = self.off | known["off"]
        return replace(self, **known, origins={**self.origins, **dict.fromkeys(known, layer)})


def _from_table(row: Row | None, at: Endpoint) -> dict[str, Any]:
    """Return the record's fields from a row of the table, with the provider's defaults for missing ones."""
    row = row or {}
    anthropic = at.api == "anthropic"
    openai = at.provider == "openai"
    known: dict[str, Any] = {
        name: row[key] for name, key in _FLAGS.items() if isinstance(row.get(key), bool)
    }
    window, max_output = sizes_of(row)
    known |= {"window": window} if window else {}
    known |= {"max_output": max_output} if max_output else {}
    if day := deprecation_date(row):
        known["deprecation_date"] = day
    if at.local and not known.get("tools", True):  # the server's build of the model may: ask it
        del known["tools"]
    thinks = bool(row.get("supports_reasoning"))
    always = bool(row.get("thinking_always_on"))
    newest: Thinking = (
        "always" if always else "adaptive" if row.get("supports_adaptive_thinking") else "budget"
    )
    more = tuple(word for word in ("xhigh", "max") if row.get(f"supports_{word}_reasoning_effort"))
    kin = at.provider in ("deepseek", "moonshot") or any(
        word in at.model.lower() for word in ("deepseek", "kimi")
    )
    back: ThinkBack = "with calls" if kin and (thinks or not row) else "as it came"
    if anthropic:
        back = "signed"
    if always and at.api in ("anthropic", "litellm"):
        back = "bound"
    old = at.model in ("gpt-4", "gpt-4-32k") or at.model.startswith(("gpt-3.5", "gpt-4-"))
    return dict(
        **known,
        limit_name="max_completion_tokens"
        if openai and (at.base is None or thinks)
        else "max_tokens",
        thinking="none" if not thinks else newest if anthropic else "effort",
        efforts=("low", "medium", "high", *more),
        think_back=back,
        wire="responses" if at.api == "responses" or _uses_responses(row, at) else "chat",
        cache="marks" if anthropic or (at.is_openrouter and "anthropic/" in at.model) else "prefix",
        price={"input_cost_per_token": 0.0, "output_cost_per_token": 0.0} if at.local else row,
        encoding="cl100k_base" if old else "o200k_base",
        reports_cost=at.is_openrouter,
        server=at.server,
        may_write_calls=at.api == "openai" and at.server != "service",
        found=[*known, *(["price"] if _has_price(row) else ())],
    )


def _has_price(row: Row) -> bool:
    return any(key in row for key in _PRICES.values())


def _uses_responses(row: Row, at: Endpoint) -> bool:
    """Return whether a model of the table is asked over the Responses API: the current ones of OpenAI refuse tools over
    chat completions."""
    if at.provider not in _NATIVE_RESPONSES or (at.provider == "azure" and not at.has_key):
        return False
    offered = row.get("supported_endpoints") or ()
    return row.get("mode") == "responses" or (
        at.provider != "xai" and bool(row.get("supports_reasoning")) and _RESPONSES in offered
    )


def _from_entry(entry: ModelEntry) -> dict[str, Any]:
    """Return the record's fields that the user's `[models]` entry sets."""
    price = {_PRICES[name]: dollars / 1e6 for name, dollars in (entry.price or {}).items()}
    same = {
        name: getattr(entry, name)
        for name in ("max_output", "tools", "system_role", "images", "cache")
    }
    return {"window": entry.context_window, "price": price or None, **same}
