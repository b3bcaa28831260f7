"""Which models can be used here, and what each needs."""

from __future__ import annotations

import argparse
import os

from swecli.cli.admin import common, say, say_json, settings_of, table
from swecli.llm.choose import choose_model

ROWS = (
    ("openai/…", "OPENAI_API_KEY", "OPENAI_BASE_URL"),
    ("anthropic/…", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    ("gemini/…", "GEMINI_API_KEY", "GEMINI_API_BASE"),
    ("ollama_chat/…", "", "OLLAMA_API_BASE"),
    ("demo", "", ""),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""
    common(parser)


def run(args: argparse.Namespace) -> int:
    """Print the table and what a start would choose now."""
    settings, _ = settings_of(args)
    choice = choose_model(settings, os.environ)
    rows = [(name, key or "no key", _state(key), url or "") for name, key, url in ROWS]
    if args.json:
        named = [dict(zip(("model", "key", "state", "address"), row, strict=True)) for row in rows]
        say_json({"chosen": choice.name, "why": choice.why, "models": named})
        return 0
    table(rows, ("model", "key", "state", "address from"))
    say(f"\nA start here would use {choice.name}: {choice.why}. Any other litellm name works with -m.")
    return 0


def _state(key: str) -> str:
    return "ready" if not key or os.environ.get(key) else "key not set"
