"""Which models can be used here, and what each needs."""

from __future__ import annotations

import argparse
import os
from typing import Any

from swecli.cli.output import print_line, print_table, report
from swecli.cli.subcommands import add_common_flags, configuration_of
from swecli.config.paths import find_paths
from swecli.llm.default_model import choose_model
from swecli.llm.endpoints import KEYED, LOCAL, Service
from swecli.llm.learned import LearnedFacts
from swecli.llm.price_table import chat_models, model_table, row_of
from swecli.llm.registry import in_tree, installed, load, make_model
from swecli.models.errors import BadInput, ModelNotFound

KNOWN_HEAD = ("model", "window", "$ per million in", "out")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its own argument."""
    parser.add_argument("word", nargs="?", help="list the known models with this in their name; or show, forget")
    parser.add_argument("name", nargs="?", help="with show: what is known of this model; with forget: unlearn it")
    add_common_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Print what is asked for. Raises BadInput when no known model has the word in its name."""
    if args.name and args.word not in ("show", "forget"):
        raise BadInput(f"swecli models takes no {args.word!r} with a name.", "Use show NAME or forget NAME.")
    if args.name:
        return _show(args) if args.word == "show" else _forget(args)
    return _known(args) if args.word else _usable(args)


def _show(args: argparse.Namespace) -> int:
    """The record of one model, each field with the layer it comes from."""
    profile = make_model(args.name, configuration_of(args).settings, os.environ).profile
    shown = ("window", "max_output", "tools", "system_role", "limit_name", "thinking", "think_back", "cache", "off")
    values = {field: getattr(profile, field) for field in shown}
    values["off"] = sorted(profile.off)
    rows = [(field, value, profile.origins.get(field, "default")) for field, value in values.items()]
    rows.append(("reserve", profile.reserve(configuration_of(args).settings.max_tokens), "computed"))
    if args.json:
        return report(args, {field: {"value": value, "from": layer} for field, value, layer in rows}, "")
    print_table([(field, _shown(value), layer) for field, value, layer in rows], ("field", "value", "from"))
    return 0


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else ", ".join(value) if isinstance(value, list) else str(value)


def _forget(args: argparse.Namespace) -> int:
    """Drop what one model taught. Raises BadInput where nothing was learned of it."""
    facts = LearnedFacts(find_paths(os.environ).state / "models.json")
    if not facts.forget(args.name.partition("/")[2] or args.name):
        raise BadInput(f"Nothing was learned of {args.name!r}.", "swecli models show NAME lists what is known.")
    return report(args, {"forgotten": args.name}, f"Forgot what was learned of {args.name}.")


def _usable(args: argparse.Namespace) -> int:
    choice = choose_model(configuration_of(args).settings, os.environ)
    rows = _rows()
    if args.json:
        named = [dict(zip(("model", "key", "state", "address"), row, strict=True)) for row in rows]
        return report(args, {"chosen": choice.name, "why": choice.why, "models": named}, "")
    print_table(rows, ("model", "key", "state", "address from"))
    print_line(f"\nA start here would use {choice.name}: {choice.why}.")
    print_line("Any other litellm model works with -m; `swecli models WORD` lists those that are known.")
    return 0


def _rows() -> list[tuple[str, str, str, str]]:
    """The services of this tree's providers, then those of installed packages."""
    rows = [_row(service) for own in in_tree() for service in own.services]
    for entry in installed():
        try:
            rows += [_row(service) for service in load(entry).services]
        except ModelNotFound as error:
            rows.append((entry.name, "", error.message, ""))
    return rows


def _row(service: Service) -> tuple[str, str, str, str]:
    found = next((key for key in service.keys if os.environ.get(key, "").strip()), "")
    free = service.local or not service.keys
    state = "needs no key" if service.local else "ready" if found or free else "key not set"
    name = service.name if service.default_model == service.name else f"{service.name}/…"
    return (name, "" if free else found or service.keys[0], state, next(iter(service.bases[-2:]), ""))


def _known(args: argparse.Namespace) -> int:
    models = model_table()
    names = [name for service in (*LOCAL, *KEYED) for name in chat_models(models, service.name)]
    found = [name for name in names if args.word.lower() in name.lower()]
    if not found:
        raise BadInput(f"No known model has {args.word!r} in its name.", "It may work all the same: try it with -m.")
    rows = [_facts(models, name) for name in found]
    if args.json:
        named = ("model", "window", "input_usd_per_million", "output_usd_per_million")
        return report(args, [dict(zip(named, row, strict=True)) for row in rows], "")
    print_table([["" if cell is None else cell for cell in row] for row in rows], KNOWN_HEAD)
    return 0


def _facts(models: dict[str, dict[str, Any]], name: str) -> tuple[str, int | None, float | None, float | None]:
    row = row_of(models, name) or {}
    return (
        name,
        row.get("max_input_tokens"),
        _per_million(row.get("input_cost_per_token")),
        _per_million(row.get("output_cost_per_token")),
    )


def _per_million(cost: Any) -> float | None:
    return round(cost * 1e6, 4) if isinstance(cost, (int, float)) else None
