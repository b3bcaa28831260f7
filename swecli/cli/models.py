"""Which models can be used here, and what each needs."""

from __future__ import annotations

import argparse
import os
from typing import Any

from swecli.cli.admin import common, ground_of, say, table, tell
from swecli.llm.choose import choose_model
from swecli.llm.endpoints import KEYED, LOCAL, PROVIDERS, Provider
from swecli.llm.tables import chat_models, model_row, model_table
from swecli.models.errors import BadInput

KNOWN_HEAD = ("model", "window", "$ per million in", "out")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its own argument."""
    parser.add_argument("word", nargs="?", help="list the known models with this in their name")
    common(parser)


def run(args: argparse.Namespace) -> int:
    """Print what is asked for. Raises BadInput when no known model has the word in its name."""
    return _known(args) if args.word else _usable(args)


def _usable(args: argparse.Namespace) -> int:
    choice = choose_model(ground_of(args).settings, os.environ)
    rows = [_row(provider) for provider in (*KEYED, *LOCAL)] + [("demo", "", "ready", "")]
    if args.json:
        named = [dict(zip(("model", "key", "state", "address"), row, strict=True)) for row in rows]
        return tell(args, {"chosen": choice.name, "why": choice.why, "models": named}, "")
    table(rows, ("model", "key", "state", "address from"))
    say(f"\nA start here would use {choice.name}: {choice.why}.")
    say("Any other litellm model works with -m; `swecli models WORD` lists those that are known.")
    return 0


def _row(provider: Provider) -> tuple[str, str, str, str]:
    found = next((key for key in provider.keys if os.environ.get(key, "").strip()), "")
    state = "needs no key" if provider.local else "ready" if found else "key not set"
    return (f"{provider.name}/…", "" if provider.local else found or provider.keys[0], state, provider.bases[-2])


def _known(args: argparse.Namespace) -> int:
    models = model_table()
    names = [name for provider in PROVIDERS for name in chat_models(models, provider)]
    found = [name for name in names if args.word.lower() in name.lower()]
    if not found:
        raise BadInput(f"No known model has {args.word!r} in its name.", "It may work all the same: try it with -m.")
    rows = [_facts(models, name) for name in found]
    if args.json:
        named = ("model", "window", "input_usd_per_million", "output_usd_per_million")
        return tell(args, [dict(zip(named, row, strict=True)) for row in rows], "")
    table([["" if cell is None else cell for cell in row] for row in rows], KNOWN_HEAD)
    return 0


def _facts(models: dict[str, dict[str, Any]], name: str) -> tuple[str, int | None, float | None, float | None]:
    provider, _, model = name.partition("/")
    row = model_row(models, provider, model) or {}
    return (
        name,
        row.get("max_input_tokens"),
        _per_million(row.get("input_cost_per_token")),
        _per_million(row.get("output_cost_per_token")),
    )


def _per_million(cost: Any) -> float | None:
    return round(cost * 1e6, 4) if isinstance(cost, (int, float)) else None
