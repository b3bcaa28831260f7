"""Describe, test and list models, and what is known of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from swecli.config.model_entry import ModelEntry
from swecli.config.settings import Start
from swecli.llm.base import ChatModel
from swecli.llm.choosing import choose_model, live_models
from swecli.llm.endpoints import resolve
from swecli.llm.openrouter_list import NAME as OPENROUTER
from swecli.llm.openrouter_list import stored_rows, update_list
from swecli.llm.price_table import Row, chat_models, model_table
from swecli.llm.registry import list_services, make_model
from swecli.llm.reply import ReplyBuilder
from swecli.llm.retries import Retry, stream_with_retry
from swecli.llm.services import HOSTED, LOCAL, SERVICES, Service
from swecli.llm.table_update import update_table
from swecli.models.action import ActionResult
from swecli.models.api_message import ApiMessage
from swecli.models.errors import AuthFailed, BadInput, ConfigError
from swecli.models.message import ModelReply, ModelRequest, ToolSpec
from swecli.models.money import format_dollars

_MAX_NAMES = 10  # in a line
_TEST_TOKENS = 2_000  # of the answer: some models reason before they call


def describe_model(start: Start, name: str) -> ActionResult:
    """Describe a model: each field of its profile, and where the value comes from. Raises ModelNotFound."""
    settings = start.settings
    model = _make_described(start, name)
    profile = model.profile
    fields = (
        "window",
        "max_output",
        "tools",
        "system_role",
        "limit_name",
        "thinking",
        "levels",
        "think_back",
        "images",
        "cache",
    )
    values: dict[str, Any] = {"wire": _wire_of(model)}
    values |= {field: getattr(profile, field) for field in fields}
    values["levels"] = list(profile.levels) if profile.thinking != "none" else []
    values |= {"off": sorted(profile.off), "reserve": profile.reserve(settings.max_tokens)}
    origins = {"reserve": "computed", **profile.origins}
    for kind in ("input", "output", "cache_read", "cache_write"):
        values[f"price_{kind}"] = profile.dollars_per_million(kind)
        origins[f"price_{kind}"] = origins.get("price", "default")
    if profile.deprecation_date is not None:
        values["deprecation_date"] = profile.deprecation_date.isoformat()
    rows = [(field, value, origins.get(field, "default")) for field, value in values.items()]
    described = {field: {"value": value, "from": layer} for field, value, layer in rows}
    cells = tuple((field, _format_value(value), layer) for field, value, layer in rows)
    return ActionResult(described, head=("field", "value", "from"), rows=cells)


def _wire_of(model: ChatModel) -> str:
    """Return the protocol over which a model is asked."""
    endpoint = getattr(model, "endpoint", None)
    if endpoint is None:
        return "its own"
    wires = {"anthropic": "Anthropic's messages", "gemini": "Gemini", "litellm": "litellm"}
    openai = {"chat": "OpenAI's chat completions", "responses": "OpenAI's Responses"}
    return wires.get(endpoint.api) or openai[model.profile.wire]


def _make_described(start: Start, name: str) -> ChatModel:
    """Make a model that is only described: without its key, nothing is asked of its service."""
    try:
        return make_model(name, start.settings, start.environ)
    except AuthFailed:
        return make_model(name, start.settings, start.environ, keyless=True)


def _format_value(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return str(value)


async def try_model(start: Start, name: str, prefix: str) -> ActionResult:
    """Send a model one small request with a tool; `prefix` begins commands where this one was typed. Raises
    ModelNotFound, AuthFailed, ProviderError."""
    model = make_model(name, start.settings, start.environ)
    notices: list[str] = []
    reply, seconds = await _ask_once(model, notices)
    prompt_tokens = reply.usage.prompt if reply.usage else None
    answer = f"answered in text: {reply.text.strip()[:80]!r}"
    if reply.calls:
        answer = f"called the tool {reply.calls[0].name}"
    learned = {
        field: _format_value(getattr(model.profile, field))
        for field, layer in model.profile.origins.items()
        if layer == "learned"
    }
    lines = [
        *notices,
        f"{model.name} {answer}",
        f"{seconds:.1f} s · {_format_value(prompt_tokens)} tokens in · cost {format_dollars(reply.cost)}",
    ]
    lines += [f"learned: {field} = {value}" for field, value in learned.items()]
    lines.append(f"{prefix}models show {model.name} lists what is known about it.")
    facts = {
        "model": model.name,
        "answer": answer,
        "seconds": round(seconds, 1),
        "prompt_tokens": prompt_tokens,
        "cost_usd": reply.cost,
    }
    return ActionResult(facts | {"notices": notices, "learned": learned}, tuple(lines))


async def _ask_once(model: ChatModel, notices: list[str]) -> tuple[ModelReply, float]:
    """Send a small request with one tool. Return the reply and its duration in seconds."""
    ping = ToolSpec("ping", "Answers pong.", {"type": "object", "properties": {}})
    messages: list[ApiMessage] = [
        {"role": "system", "content": "This is a test request."},
        {"role": "user", "content": "Call ping once."},
    ]
    request = ModelRequest(model.name, messages, [ping], min(_TEST_TOKENS, model.profile.reserve()))
    builder = ReplyBuilder()
    began = time.monotonic()
    async for item in stream_with_retry(model, request):
        if isinstance(item, Retry):
            builder.reset()
            notices.append(item.reason or "asked again")
        else:
            builder.add(item)
    return builder.build(), time.monotonic() - began


def update_models(environ: Mapping[str, str]) -> ActionResult:
    """Fetch the table of prices and limits, and OpenRouter's list if its models are used. Raises ProviderError."""
    update = update_table(environ)
    lines = [
        f"Fetched {update.rows:,} models from {update.address}: {len(update.added)} new, {len(update.removed)} gone, "
        f"{len(update.changed)} with another price or size.",
        *_name_models("new", update.added),
        *_name_models("gone", update.removed),
        *_name_models("other", update.changed),
    ]
    value: dict[str, Any] = {
        "address": update.address,
        "rows": update.rows,
        "new": list(update.added),
        "gone": list(update.removed),
        "other": list(update.changed),
    }
    if any(_is_set(key, environ) for key in SERVICES[OPENROUTER].key_variables):
        address = resolve(f"{OPENROUTER}/any", environ).address
        count = len(update_list(address, environ))
        lines.append(f"Fetched {count:,} models from {address}.")
        value["openrouter"] = count
    return ActionResult(value, tuple(lines))


def _name_models(word: str, names: tuple[str, ...]) -> list[str]:
    """Return a line with the first of these names, none if there are none."""
    if not names:
        return []
    more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return [f"{word}: {', '.join(names[:_MAX_NAMES])}{more}"]


def list_usable(start: Start, prefix: str) -> ActionResult:
    """List the models that can be used here, and what each needs; local servers are asked for theirs. `prefix` begins
    commands where this one was typed."""
    settings = start.settings
    environ = start.environ
    choice = choose_model(settings, environ, or_demo=True)
    rows = [_entry_row(entry, environ) for entry in settings.models]
    for name, service in list_services():
        if isinstance(service, Service):
            rows.append(_service_row(service, environ))
        else:
            rows.append((name, "", service.message, ""))
    for name, port in live_models(environ):  # models of local servers
        profile = make_model(name, settings, environ).profile
        tools = "tools" if profile.tools else "no tools"
        state = f"{_format_value(profile.window)} tokens, {tools}"
        rows.append((name, "", state, f"port {port}"))
    plain = [dict(zip(("model", "key", "state", "address"), row, strict=True)) for row in rows]
    lines = (
        "",
        f"In this folder swecli would use {choice.name}: {choice.reason}.",
        f"Any other litellm model works with -m; `{prefix}models WORD` lists those that are known.",
    )
    value = {"chosen": choice.name, "why": choice.reason, "models": plain}
    return ActionResult(value, lines, ("model", "key", "state", "address from"), tuple(rows))


def _entry_row(entry: ModelEntry, environ: Mapping[str, str]) -> tuple[str, str, str, str]:
    key = "key_command" if entry.key_command else ""
    state = "ready"
    if entry.key_env:
        key = entry.key_env
        state = "ready" if _is_set(key, environ) else "key not set"
    return entry.name, key, state, entry.base_url or entry.model or ""


def _service_row(service: Service, environ: Mapping[str, str]) -> tuple[str, str, str, str]:
    key = ""
    state = "needs no key" if service.local else "ready"
    if service.key_variables and not service.local:
        variables = service.key_variables
        key = next((name for name in variables if _is_set(name, environ)), variables[0])
        state = "ready" if _is_set(key, environ) else "key not set"
    name = service.name if service.default_model == service.name else f"{service.name}/…"
    return name, key, state, next(iter(service.base_variables[-2:]), "")


def _is_set(variable: str, environ: Mapping[str, str]) -> bool:
    """Return whether an environment variable has a value."""
    return bool(environ.get(variable, "").strip())


def known_models() -> dict[str, Any]:
    """Return the rows of all chat models in the table, by `provider/name`."""
    table = model_table()
    models: dict[str, Any] = {}
    for service in (*LOCAL, *HOSTED):
        models |= chat_models(table, service.name)
    return models


def search_known(environ: Mapping[str, str], word: str) -> ActionResult:
    """List the known models with a word in their name. Raises BadInput if there is none."""
    models = [
        _describe_known(name, row)
        for name, row in (*known_models().items(), *_listed_by_openrouter(environ))
        if word.lower() in name.lower()
    ]
    if not models:
        raise BadInput(
            f"No known model has {word!r} in its name.", "It may still work: try it with -m."
        )
    rows = tuple(
        tuple("" if value is None else str(value) for value in model.values()) for model in models
    )
    return ActionResult(models, head=("model", "window", "$ per million in", "out"), rows=rows)


def _describe_known(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "model": name,
        "window": row.get("max_input_tokens"),
        "input_usd_per_million": _per_million(row.get("input_cost_per_token")),
        "output_usd_per_million": _per_million(row.get("output_cost_per_token")),
    }


def _listed_by_openrouter(environ: Mapping[str, str]) -> list[tuple[str, Row]]:
    """Return the names and rows of OpenRouter's own list, as far as it was fetched before."""
    try:
        address = resolve(f"{OPENROUTER}/any", environ, keyless=True).address
    except (AuthFailed, ConfigError):  # a bad variable is reported when the service is used
        return []
    rows = stored_rows(address, environ)
    return [(f"{OPENROUTER}/{model}", row) for model, row in sorted(rows.items())]


def _per_million(cost: Any) -> float | None:
    """Return the dollars of a million tokens, None if those of one are unknown."""
    return round(cost * 1e6, 4) if isinstance(cost, (int, float)) else None
