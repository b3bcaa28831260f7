"""The subcommands: what a shell can ask of sessions, playbook, settings, database, models and this machine."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from swecli.cli.flags import Parser
from swecli.config.load import PROJECT_FILE, load_settings
from swecli.config.paths import Paths, find_paths
from swecli.config.settings import Settings
from swecli.config.trust import is_trusted, project_root
from swecli.llm.environment import prepare_environment


def run_subcommand(name: str, argv: list[str]) -> int:
    """Run `swecli NAME ...`. Raises SwecliError."""
    prepare_environment(os.environ)
    module = importlib.import_module(f"swecli.cli.{name}")
    parser = Parser(prog=f"swecli {name}", description=module.__doc__, allow_abbrev=False)
    module.add_arguments(parser)
    args = parser.parse_args(argv)
    return int(module.run(args) or 0)


def common(parser: argparse.ArgumentParser) -> None:
    """The flags every subcommand takes."""
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--db", metavar="URL", help="database file or sqlite:/// URL")
    parser.add_argument("--config", metavar="FILE", help="another settings file")


def settings_of(args: argparse.Namespace) -> tuple[Settings, Paths]:
    """The settings as a run here would have them. Raises ConfigError."""
    paths, cwd = find_paths(os.environ), Path.cwd()
    trusted = is_trusted(paths, project_root(cwd))
    settings, _ = load_settings(
        user_file=Path(args.config) if args.config else paths.config_file,
        project_file=cwd / PROJECT_FILE if trusted else None,
        environ=os.environ,
        flags={"db": args.db},
    )
    return settings, paths


def database_of(args: argparse.Namespace) -> str | Path:
    """Where the store is."""
    settings, paths = settings_of(args)
    return settings.db or paths.database


def say(text: str) -> None:
    """A line on stdout; control letters in stored text do not reach the terminal."""
    sys.stdout.write("".join(c if c.isprintable() or c in "\n\t" else "�" for c in text) + "\n")


def say_json(value: Any) -> None:
    """Indented JSON on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str).encode("utf-8", "replace").decode())
    sys.stdout.write("\n")


def table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> None:
    """Aligned columns; the last one is as long as it is."""
    texts = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(head) - 1)]
    for row in texts:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + "  " + row[-1])
