"""What works on this machine: one line a thing, exit 1 when something needs attention."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from pathlib import Path

from swecli import __version__
from swecli.cli.startup import make_folders
from swecli.cli.subcommands import add_common_flags, configuration_of, open_sessions
from swecli.llm.default_model import choose_model
from swecli.llm.price_table import tokenizer_folder
from swecli.llm.registry import make_model
from swecli.models.errors import SwecliError
from swecli.playbook.action import ActionResult
from swecli.tools.processes import find_program, find_ripgrep


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""
    add_common_flags(parser)


def run(args: argparse.Namespace) -> ActionResult:
    """Look at each thing; the code is 1 when something needs attention."""
    rows = []
    for what, check in _CHECKS.items():
        try:
            rows.append({"what": what, "ok": True, "detail": check(args)})
        except SwecliError as error:
            rows.append({"what": what, "ok": False, "detail": str(error)})
    lines = tuple(f"{'ok  ' if row['ok'] else 'FAIL'} {row['what']}: {row['detail']}" for row in rows)
    return ActionResult(rows, lines, code=0 if all(row["ok"] for row in rows) else 1)


def _settings(args: argparse.Namespace) -> str:
    if configuration_of(args).trusted:
        return "ok; this folder is trusted"
    return "ok; this folder is not trusted: its own settings and instructions are ignored"


def _folders(args: argparse.Namespace) -> str:
    paths = configuration_of(args).paths
    make_folders(paths)
    places = dict.fromkeys((paths.config, paths.data, paths.state, paths.cache))
    if shut := [str(path) for path in places if not os.access(path, os.W_OK | os.X_OK)]:
        raise SwecliError(f"{', '.join(shut)} cannot be written.", "Check the permissions, or set SWECLI_HOME.")
    return ", ".join(str(path) for path in places)


def _database(args: argparse.Namespace) -> str:
    # late: --help needs no database
    from swecli.store.sqlite.files import locate  # noqa: PLC0415

    location = configuration_of(args).database
    path = locate(location)
    if path and not path.exists():
        return f"{path}: none yet, the first message makes it"
    with open_sessions(args) as sessions:
        problems = [*sessions.database.notices, *sessions.database.check()]
    if problems:
        raise SwecliError("; ".join(problems))
    return f"{path or location}: ok"


def _model(args: argparse.Namespace) -> str:
    settings = configuration_of(args).settings
    choice = choose_model(settings, os.environ)
    make_model(choice.name, settings, os.environ)  # raises what it lacks
    return f"{choice.name}: {choice.why}"


def _search(args: argparse.Namespace) -> str:
    if found := find_ripgrep(os.environ, Path.cwd()):
        return f"ripgrep at {found}"
    raise SwecliError("ripgrep is not installed: files are neither listed nor searched.", "Run scripts/setup again.")


_CHECKS: dict[str, Callable[[argparse.Namespace], str]] = {
    "swecli": lambda args: f"{__version__}, Python {platform.python_version()}, {platform.system()}",
    "settings": _settings,
    "folders": _folders,
    "database": _database,
    "model": _model,
    "tokens": lambda args: (
        f"tables in {found}" if (found := tokenizer_folder()) else "estimated: the tables are not installed"
    ),
    "search": _search,
    "git": lambda args: (
        find_program("git", os.environ, Path.cwd()) or "not installed: files are listed by walking the tree"
    ),
    "sandbox": lambda args: (
        "none: commands run with your permissions; the mode and your rules decide which need approval"
    ),
}
