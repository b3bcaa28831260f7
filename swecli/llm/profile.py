"""The capability record of a model at an address, each field with its layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from datetime import date
from typing import Any, Literal

from swecli.config.model_entry import ModelEntry
from swecli.llm.endpoints import Endpoint, Server
from swecli.llm.price_table import Row, cost_of, deprecation_date, sizes_of
from swecli.llm.services import Dialect, maker_of
from swecli.llm.thinking import levels_in
from swecli.values import dataclass

Thinking = Literal["none", "budget", "adaptive", "always", "effort"]
Wire = Literal["chat", "responses"]  # of OpenAI's two
# how reasoning is sent back: never · in its own field · signed · bound to the prefix
ThinkBack = Literal["never", "as it came", "signed", "bound"]
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
    """A model's capabilities; sizes in tokens, None if unknown."""

    window: int | None = None
    max_output: int | None = None
    tools: bool = True
    system_role: bool = True
    limit_name: str = "max_tokens"  # the request field of the answer's length
    thinking: Thinking = "none"
    thinks_unasked: bool = False  # it thinks unless it is told not to
    levels: tuple[str, ...] = ()  # its thinking levels, from the least to the most
    states_levels: bool = False  # the table names each of them
    dialect: Dialect = "effort"  # how one is sent in chat completions
    filler: str = ""  # the thoughts of its answers that have none, "" if they may be missing
    think_back: ThinkBack = "as it came"
    wire: Wire = "chat"
    images: bool = False
    schemas: bool = False  # whether the service keeps an answer to a JSON schema
    cache: Literal["none", "prefix", "marks"] = "prefix"
    off: frozenset[str] = frozenset()  # request fields that it refuses, which are left out
    price: Row = field(default_factory=dict)  # with the keys of the table, US dollars per token
    encoding: str = "o200k_base"  # its closest tiktoken encoding
    offline: bool = False  # it uses no network
    estimates: bool = False  # its usage is estimated
    reports_cost: bool = False  # the service sends the cost of each request
    server: Server = "service"
    may_write_calls: bool = False  # its server may leave the model's calls in the text
    deprecation_date: date | None = None  # the last day on which the model is served, if it has one
    priced_like: str = ""  # the model whose price is taken for this one's, "" if none is
    origins: Mapping[str, str] = field(default_factory=dict)  # the layer of each field

    @classmethod
    def build(
        cls,
        endpoint: Endpoint,
        row: Row | None,
        probed: Mapping[str, Any],
        learned: Mapping[str, Any] | None = None,
        entry: ModelEntry | None = None,
        layer: str = "table",
        like: str = "",
    ) -> Profile:
        """Build a model's record from its layers: the table, a probe, what refusals taught, configuration. `layer` says
        where the row is from. `like` names the model whose row it is, if that is another one, "" if not."""
        row = row or {}
        stated = _stated_fields(row, endpoint)
        if like:
            layer = f"guessed: like {like}"
            has_own_price = entry is not None and entry.price
            stated["priced_like"] = "" if has_own_price else like
        origins = {name: layer for name in stated if name != "priced_like"}
        if _has_price(row):
            origins["price"] = layer
        profile = cls(**stated, **_derived_fields(row, endpoint), origins=origins)
        profile = profile.layered(probed, "probe")
        if entry and entry.api:
            wire = "responses" if entry.api == "responses" else "chat"
            profile = profile.layered({"wire": wire}, "config")
        profile = profile.layered(learned or {}, "learned")
        if entry:
            profile = profile.layered(_from_entry(entry), "config")
        return profile

    def reserve(self, max_tokens: int | None = None) -> int:
        """Return the tokens reserved for an answer: the user's setting, else a cap, at most a quarter of the window."""
        if max_tokens:
            return max_tokens
        window = self.window or 0
        if window >= 200_000:
            cap = 32_000
        elif window >= 64_000:
            cap = 16_000
        else:
            cap = _SMALL_WINDOW_CAP
        if window:
            cap = min(cap, window // 4)
        if self.max_output:
            cap = min(cap, self.max_output)
        return max(1, cap)

    @property
    def may_think(self) -> bool:
        """Whether a level may be asked for: of a model that thinks, that no table has, or that is at an address of the
        user's, where it may be another one of this name."""
        return self.thinking != "none" or "tools" not in self.origins or self.server != "service"

    @property
    def reads_written_calls(self) -> bool:
        """Whether an answer that consists of a tool call is one."""
        return self.may_write_calls and self.wire == "chat"

    def is_priced(self) -> bool:
        """Return whether the cost of every request will be known."""
        # late: a model is chosen before there is a message
        from swecli.models.message import Usage

        any_request = Usage(1, 1, 1, 1, 1)
        return self.offline or self.reports_cost or cost_of(any_request, self.price) is not None

    def dollars_per_million(
        self, name: Literal["input", "output", "cache_read", "cache_write"]
    ) -> float | None:
        """Return the price of a million tokens of this kind in US dollars, None if it is unknown."""
        price = self.price.get(_PRICES[name])
        return round(price * 1e6, 6) if isinstance(price, int | float) else None

    def layered(self, values: Mapping[str, Any], layer: str) -> Profile:
        """Return a copy with the values of a higher layer; unknown fields and None are skipped."""
        fields = {
            name: value
            for name, value in values.items()
            if name in self.__slots__ and value is not None
        }
        if "off" in fields:
            fields["off"] = self.off | fields["off"]
        return replace(self, **fields, origins={**self.origins, **dict.fromkeys(fields, layer)})


def _stated_fields(row: Row, endpoint: Endpoint) -> dict[str, Any]:
    """Return the record's fields that a row of the table states itself."""
    fields: dict[str, Any] = {}
    for name, column in _FLAGS.items():
        if isinstance(row.get(column), bool):
            fields[name] = row[column]
    if endpoint.local and not fields.get("tools", True):
        del fields["tools"]  # the server's build of the model may have them: ask it
    window, max_output = sizes_of(row)
    last_day = deprecation_date(row)
    if window:
        fields["window"] = window
    if max_output:
        fields["max_output"] = max_output
    if last_day:
        fields["deprecation_date"] = last_day
    return fields


def _derived_fields(row: Row, endpoint: Endpoint) -> dict[str, Any]:
    """Return the record's fields that follow from provider, name and row, which may be empty."""
    thinking = _thinking_of(row, endpoint)
    is_openai_itself = endpoint.provider == "openai" and endpoint.base_url is None
    is_reasoning = endpoint.provider == "openai" and thinking != "none"
    service = endpoint.service
    is_responses = endpoint.api == "responses" or _uses_responses(row, endpoint)
    has_marks = endpoint.is_openrouter and "anthropic/" in endpoint.model
    free = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
    model = endpoint.model
    is_old = model in ("gpt-4", "gpt-4-32k") or model.startswith(("gpt-3.5", "gpt-4-"))
    return {
        "limit_name": "max_completion_tokens" if is_openai_itself or is_reasoning else "max_tokens",
        "thinking": thinking,
        "thinks_unasked": row.get("thinking_on_by_default") is True,
        "levels": levels_in(row, service.levels),
        "states_levels": isinstance(row.get("reasoning_effort_levels"), list),
        "dialect": service.dialect,
        "think_back": _think_back_of(row, endpoint),
        "filler": _filler_of(row, endpoint),
        "wire": "responses" if is_responses else "chat",
        "cache": "marks" if endpoint.api == "anthropic" or has_marks else "prefix",
        "price": free if endpoint.local else row,
        "encoding": "cl100k_base" if is_old else "o200k_base",
        "reports_cost": endpoint.is_openrouter,
        "server": endpoint.server,
        "may_write_calls": endpoint.api == "openai" and endpoint.server != "service",
    }


def _thinking_of(row: Row, endpoint: Endpoint) -> Thinking:
    if not row.get("supports_reasoning"):
        return "none"
    if endpoint.api != "anthropic":
        takes_budget = any(part in endpoint.model for part in endpoint.service.budget_families)
        return "budget" if takes_budget else "effort"
    if row.get("thinking_always_on"):
        return "always"
    return "adaptive" if row.get("supports_adaptive_thinking") else "budget"


def _think_back_of(row: Row, endpoint: Endpoint) -> ThinkBack:
    if row.get("thinking_always_on") and endpoint.api in ("anthropic", "litellm"):
        return "bound"
    if endpoint.api == "anthropic":
        return "signed"
    return "as it came"


def _filler_of(row: Row, endpoint: Endpoint) -> str:
    """Return what stands for the thoughts of answers of other models, and of those before it thought."""
    service = endpoint.service
    maker = service if service.filler else maker_of(endpoint.model)
    may_think = bool(row.get("supports_reasoning")) or not row
    return maker.filler if maker and may_think else ""


def _has_price(row: Row) -> bool:
    return any(key in row for key in _PRICES.values())


def _uses_responses(row: Row, endpoint: Endpoint) -> bool:
    """Return whether a model of the table is asked over the Responses API: the current ones of OpenAI refuse tools over
    chat completions."""
    if endpoint.provider not in _NATIVE_RESPONSES:
        return False
    if endpoint.provider == "azure" and not endpoint.has_key:
        return False
    if row.get("mode") == "responses":
        return True
    is_offered = _RESPONSES in (row.get("supported_endpoints") or ())
    return endpoint.provider != "xai" and bool(row.get("supports_reasoning")) and is_offered


def _from_entry(entry: ModelEntry) -> dict[str, Any]:
    """Return the record's fields that the user's `[models]` entry sets."""
    price = {_PRICES[name]: dollars / 1e6 for name, dollars in (entry.price or {}).items()}
    return {
        "window": entry.context_window,
        "price": price or None,
        "max_output": entry.max_output,
        "tools": entry.tools,
        "system_role": entry.system_role,
        "images": entry.images,
        "cache": entry.cache,
    }
