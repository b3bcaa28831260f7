"""What works on this machine: one line a thing, exit 1 when something needs attention."""

from __future__ import annotations

import argparse
import os
import platform
import shutil

from swecli import __version__
from swecli.cli.admin import common, database_of, say, say_json, settings_of
from swecli.llm.choose import choose_model
from swecli.models.errors import SwecliError
from swecli.store.database import open_database
from swecli.store.upkeep import check

Row = tuple[str, bool, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""
    common(parser)


def run(args: argparse.Namespace) -> int:
    """Look and tell."""
    rows = [_program(), _model(args), _database(args), _search(), _git(), _sandbox()]
    if args.json:
        say_json([{"what": what, "ok": ok, "detail": detail} for what, ok, detail in rows])
    else:
        for what, ok, detail in rows:
            say(f"{'ok ' if ok else 'NO '} {what}: {detail}")
    return 0 if all(ok for _, ok, _ in rows) else 1


def _program() -> Row:
    return ("swecli", True, f"{__version__}, Python {platform.python_version()}, {platform.system()}")


def _model(args: argparse.Namespace) -> Row:
    choice = choose_model(settings_of(args)[0], os.environ)
    return ("model", True, f"{choice.name}: {choice.why}")


def _database(args: argparse.Namespace) -> Row:
    location = database_of(args)
    try:
        database = open_database(location)
    except SwecliError as error:
        return ("database", False, str(error))
    problems = [*database.notices, *check(database)]
    database.close()
    return ("database", not problems, "; ".join(problems) or f"{location}: sound")


def _search() -> Row:
    found = shutil.which("rg")
    return ("search", True, f"ripgrep at {found}" if found else "own search (ripgrep is not installed)")


def _git() -> Row:
    found = shutil.which("git")
    return ("git", found is not None, found or "not found: files are listed by walking the tree")


def _sandbox() -> Row:
    return ("sandbox", True, "none: every command asks, unless a rule of yours allows it")
