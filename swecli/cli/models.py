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
from swecli.llm.base import ChatModel
from swecli.llm.endpoints import KEYED, LOCAL, SERVICES, Service, resolve
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

_NAMED = 10  # in a line
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
    profile = make_model(args.name, settings, os.environ).profile
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
    values = {field: getattr(profile, field) for field in fields} | {"off": sorted(profile.off)}
    rows = [
        (field, value, profile.origins.get(field, "default")) for field, value in values.items()
    ]
    rows.append(("reserve", profile.reserve(settings.max_tokens), "computed"))
    rows += [
        (
            f"price_{name}",
            profile.dollars_per_million(name),
            profile.origins.get("price", "default"),
        )
        for name in ("input", "output", "cache_read", "cache_write")
    ]
    if profile.deprecation_date is not None:
        rows.append(
            (
                "deprecation_date",
                profile.deprecation_date.isoformat(),
                profile.origins.get("deprecation_date", "default"),
            )
        )
    plain = {field: {"value": value, "from": layer} for field, value, layer in rows}
    shown = tuple((field, _format_value(value), layer) for field, value, layer in rows)
    return ActionResult(plain, head=("field", "value", "from"), rows=shown)


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
    used = reply.usage.prompt if reply.usage else None
    cost = reply.cost
    text = f"answered in text: {reply.text.strip()[:80]!r}"
    came = f"called the tool {reply.calls[0].name}" if reply.calls else text
    taught = [field for field, layer in model.profile.origins.items() if layer == "learned"]
    learned = {field: _format_value(getattr(model.profile, field)) for field in taught}
    lines = [
        *notices,
        f"{model.name} {came}",
        f"{seconds:.1f} s · {_format_value(used)} tokens in · dollars: {_format_value(cost)}",
    ]
    lines += [f"learned: {field} = {value}" for field, value in learned.items()]
    lines.append(f"swecli models show {model.name} lists what is known about it.")
    facts = {
        "model": model.name,
        "answer": came,
        "seconds": round(seconds, 1),
        "prompt_tokens": used,
        "cost_usd": cost,
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
    done = update_table(os.environ)
    lines = [
        f"Fetched {done.rows:,} models from {done.address}: {len(done.new)} new, {len(done.gone)} gone, "
        f"{len(done.other)} with another price or size.",
        *_names("new", done.new),
        *_names("gone", done.gone),
        *_names("other", done.other),
    ]
    value: dict[str, Any] = {
        "address": done.address,
        "rows": done.rows,
        "new": list(done.new),
        "gone": list(done.gone),
        "other": list(done.other),
    }
    if any(_is_set(key) for key in SERVICES[OPENROUTER].keys):
        at = resolve(f"{OPENROUTER}/any", os.environ)
        listed = update_list(at.address, os.environ)
        lines.append(f"Fetched {len(listed):,} models from {at.address}.")
        value["openrouter"] = len(listed)
    return ActionResult(value, tuple(lines))


def _names(word: str, names: tuple[str, ...]) -> list[str]:
    """Return a line with the first of these names, none if there are none."""
    if not names:
        return []
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return [f"{word}: {', '.join(names[:_NAMED])}{more}"]


def _list_usable(args: argparse.Namespace) -> ActionResult:
    settings = configuration_of(args).settings
    choice = choose_model(settings, os.environ, or_demo=True)
    rows: list[tuple[str, str, str, str]] = [_own_row(own) for own in settings.models]
    for name, service in list_services():
        if isinstance(service, Service):
            rows.append(_service_row(service))
        else:
            rows.append((name, "", service.message, ""))
    for name, port in live_models(os.environ):  # models of local servers
        known = make_model(name, settings, os.environ).profile
        takes = f"{_format_value(known.window)} tokens, {'tools' if known.tools else 'no tools'}"
        rows.append((name, "", takes, f"port {port}"))
    plain = [dict(zip(("model", "key", "state", "address"), row, strict=True)) for row in rows]
    lines = (
        "",
        f"In this folder swecli would use {choice.name}: {choice.why}.",
        "Any other litellm model works with -m; `swecli models WORD` lists those that are known.",
    )
    value = {"chosen": choice.name, "why": choice.why, "models": plain}
    return ActionResult(value, lines, ("model", "key", "state", "address from"), tuple(rows))


def _own_row(own: ModelEntry) -> tuple[str, str, str, str]:
    key = own.key_env or ("key_command" if own.key_command else "")
    lacks_key = bool(own.key_env) and not _is_set(own.key_env or "")
    state = "key not set" if lacks_key else "ready"
    return own.name, key, state, own.base_url or own.model or ""


def _service_row(service: Service) -> tuple[str, str, str, str]:
    found = next((key for key in service.keys if _is_set(key)), "")
    is_free = service.local or not service.keys
    if service.local:
        state = "needs no key"
    elif found or is_free:
        state = "ready"
    else:
        state = "key not set"
    name = service.name if service.default_model == service.name else f"{service.name}/…"
    key = "" if is_free else found or service.keys[0]
    return name, key, state, next(iter(service.bases[-2:]), "")


def _is_set(variable: str) -> bool:
    """Return whether an environment variable has a value."""
    return bool(os.environ.get(variable, "").strip())


def known_models() -> dict[str, Any]:
    """Return the rows of all chat models in the table, by `provider/name`."""
    models = model_table()
    known: dict[str, Any] = {}
    for service in (*LOCAL, *KEYED):
        known |= chat_models(models, service.name)
    return known


def _search_known(args: argparse.Namespace) -> ActionResult:
    known = [*known_models().items(), *_listed_by_openrouter()]
    wanted = args.word.lower()
    found = [_known_row(name, row) for name, row in known if wanted in name.lower()]
    if not found:
        raise BadInput(
            f"No known model has {args.word!r} in its name.", "It may still work: try it with -m."
        )
    rows = tuple(tuple("" if cell is None else str(cell) for cell in row.values()) for row in found)
    return ActionResult(found, head=("model", "window", "$ per million in", "out"), rows=rows)


def _known_row(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
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
    return round(cost * 1e6, 4) if isinstance(cost, (int, float)) else None
