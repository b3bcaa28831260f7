"""`swecli models`: list, show and test models."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Mapping
from typing import Any

from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import configuration_of
from swecli.config.model_entry import ModelEntry
from swecli.config.settings import Settings
from swecli.llm.base import ChatModel
from swecli.llm.endpoints import HOSTED, LOCAL, SERVICES, Service, resolve
from swecli.llm.learned_facts import LearnedFacts
from swecli.llm.openrouter_list import NAME as OPENROUTER
from swecli.llm.openrouter_list import stored_rows, update_list
from swecli.llm.price_table import Row, chat_models, model_table
from swecli.llm.registry import choose_model, list_services, live_models, make_model
from swecli.llm.reply import ReplyBuilder, Retry, stream_with_retry
from swecli.llm.table_update import update_table
from swecli.models.action import ActionResult
from swecli.models.api_message import ApiMessage
from swecli.models.errors import AuthFailed, BadInput, ConfigError
from swecli.models.message import ModelReply, ModelRequest, ToolSpec

_MAX_NAMES = 10  # in a line
_TEST_TOKENS = 2_000  # of the answer: some models reason before they call


@subcommand
def _models(parser: Parser) -> None:
    """List the models that can be used here, and what each needs."""
    add = parser.add_argument
    add(
        "word",
        nargs="?",
        help="list the known models with this in their name; or show, test, forget, update",
    )
    add(
        "name",
        nargs="?",
        help="show what is known about this model, ask it once, or forget what was learned; update takes none: it "
        "fetches the table of prices and limits",
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> ActionResult:
    with_name = {"show": _show, "test": _test, "forget": _forget}
    if bool(args.name) != (args.word in with_name):
        raise BadInput("Only show, test and forget take a model's name.", "See `swecli models`.")
    if args.word == "update":
        return _update()
    if args.name:
        return with_name[args.word](args)
    return _search_known(args) if args.word else _list_usable(args)


def _show(args: argparse.Namespace) -> ActionResult:
    settings = configuration_of(args).settings
    profile = _make_described(args.name, settings).profile
    fields = (
        "window",
        "max_output",
        "tools",
        "system_role",
        "limit_name",
        "thinking",
        "think_back",
        "images",
        "cache",
    )
    values: dict[str, Any] = {field: getattr(profile, field) for field in fields}
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


def _make_described(name: str, settings: Settings) -> ChatModel:
    """Make a model that is only described: without its key, nothing is asked of its service."""
    try:
        return make_model(name, settings, os.environ)
    except AuthFailed:
        return make_model(name, settings, os.environ, keyless=True)


def _format_value(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value)
    return str(value)


def _test(args: argparse.Namespace) -> ActionResult:
    model = make_model(args.name, configuration_of(args).settings, os.environ)
    notices: list[str] = []
    reply, seconds = asyncio.run(_ask_once(model, notices))
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
        f"{seconds:.1f} s · {_format_value(prompt_tokens)} tokens in · dollars: {_format_value(reply.cost)}",
    ]
    lines += [f"learned: {field} = {value}" for field, value in learned.items()]
    lines.append(f"swecli models show {model.name} lists what is known about it.")
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


def _forget(args: argparse.Namespace) -> ActionResult:
    facts = LearnedFacts.find(os.environ)
    entry = configuration_of(args).settings.entry(args.name)
    name = entry.model or entry.name if entry else args.name
    without_provider = name.partition("/")[2]
    if not facts.forget(name) and not (without_provider and facts.forget(without_provider)):
        raise BadInput(
            f"Nothing was learned about {args.name!r}.",
            "swecli models show NAME lists what is known.",
        )
    return ActionResult({"forgotten": args.name}, (f"Forgot what was learned about {args.name}.",))


def _update() -> ActionResult:
    """Fetch the table of prices and limits, and OpenRouter's list if its models are used."""
    update = update_table(os.environ)
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
    if any(_is_set(key) for key in SERVICES[OPENROUTER].key_variables):
        address = resolve(f"{OPENROUTER}/any", os.environ).address
        count = len(update_list(address, os.environ))
        lines.append(f"Fetched {count:,} models from {address}.")
        value["openrouter"] = count
    return ActionResult(value, tuple(lines))


def _name_models(word: str, names: tuple[str, ...]) -> list[str]:
    """Return a line with the first of these names, none if there are none."""
    if not names:
        return []
    more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return [f"{word}: {', '.join(names[:_MAX_NAMES])}{more}"]


def _list_usable(args: argparse.Namespace) -> ActionResult:
    settings = configuration_of(args).settings
    choice = choose_model(settings, os.environ, or_demo=True)
    rows: list[tuple[str, str, str, str]] = [_entry_row(entry) for entry in settings.models]
    for name, service in list_services():
        if isinstance(service, Service):
            rows.append(_service_row(service))
        else:
            rows.append((name, "", service.message, ""))
    for name, port in live_models(os.environ):  # models of local servers
        profile = make_model(name, settings, os.environ).profile
        tools = "tools" if profile.tools else "no tools"
        state = f"{_format_value(profile.window)} tokens, {tools}"
        rows.append((name, "", state, f"port {port}"))
    plain = [dict(zip(("model", "key", "state", "address"), row, strict=True)) for row in rows]
    lines = (
        "",
        f"In this folder swecli would use {choice.name}: {choice.why}.",
        "Any other litellm model works with -m; `swecli models WORD` lists those that are known.",
    )
    value = {"chosen": choice.name, "why": choice.why, "models": plain}
    return ActionResult(value, lines, ("model", "key", "state", "address from"), tuple(rows))


def _entry_row(entry: ModelEntry) -> tuple[str, str, str, str]:
    key = "key_command" if entry.key_command else ""
    state = "ready"
    if entry.key_env:
        key = entry.key_env
        state = "ready" if _is_set(key) else "key not set"
    return entry.name, key, state, entry.base_url or entry.model or ""


def _service_row(service: Service) -> tuple[str, str, str, str]:
    key = ""
    state = "needs no key" if service.local else "ready"
    if service.key_variables and not service.local:
        key = next(filter(_is_set, service.key_variables), service.key_variables[0])
        state = "ready" if _is_set(key) else "key not set"
    name = service.name if service.default_model == service.name else f"{service.name}/…"
    return name, key, state, next(iter(service.base_variables[-2:]), "")


def _is_set(variable: str) -> bool:
    """Return whether an environment variable has a value."""
    return bool(os.environ.get(variable, "").strip())


def known_models() -> dict[str, Any]:
    """Return the rows of all chat models in the table, by `provider/name`."""
    table = model_table()
    models: dict[str, Any] = {}
    for service in (*LOCAL, *HOSTED):
        models |= chat_models(table, service.name)
    return models


def _search_known(args: argparse.Namespace) -> ActionResult:
    word = args.word.lower()
    models = [
        _describe_known(name, row)
        for name, row in (*known_models().items(), *_listed_by_openrouter())
        if word in name.lower()
    ]
    if not models:
        raise BadInput(
            f"No known model has {args.word!r} in its name.", "It may still work: try it with -m."
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


def _listed_by_openrouter() -> list[tuple[str, Row]]:
    """Return the names and rows of OpenRouter's own list, as far as it was fetched before."""
    try:
        address = resolve(f"{OPENROUTER}/any", os.environ, keyless=True).address
    except (AuthFailed, ConfigError):  # a bad variable is reported when the service is used
        return []
    rows = stored_rows(address, os.environ)
    return [(f"{OPENROUTER}/{model}", row) for model, row in sorted(rows.items())]


def _per_million(cost: Any) -> float | None:
    """Return the dollars of a million tokens, None if those of one are unknown."""
    return round(cost * 1e6, 4) if isinstance(cost, (int, float)) else None
