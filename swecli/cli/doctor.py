"""What works on this machine: one line a thing, exit 1 when something needs attention."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

from swecli import __version__
from swecli.cli.db import problems_of
from swecli.cli.output import print_line, report
from swecli.cli.startup import make_folders
from swecli.cli.subcommands import add_common_flags, configuration_of, open_sessions
from swecli.llm.default_model import choose_model
from swecli.llm.price_table import tokenizer_folder
from swecli.llm.registry import make_model
from swecli.models.errors import SwecliError
from swecli.tools.processes import find_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""
    parser.set_defaults(run=_run)
    add_common_flags(parser)


def _run(args: argparse.Namespace) -> int:
    rows = [(what, *_checked(check, args)) for what, check in _CHECKS.items()]
    if args.json:
        report(args, [{"what": what, "ok": ok, "detail": detail} for what, ok, detail in rows], "")
    else:
        for what, ok, detail in rows:
            print_line(f"{'ok  ' if ok else 'FAIL'} {what}: {detail}")
    return 0 if all(ok for _, ok, _ in rows) else 1


def _checked(check: Callable[[argparse.Namespace], str], args: argparse.Namespace) -> tuple[bool, str]:
    try:
        return True, check(args)
    except SwecliError as error:
        return False, str(error)


def _program(args: argparse.Namespace) -> str:
    return f"{__version__}, Python {platform.python_version()}, {platform.system()}"


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
        problems = problems_of(sessions.database)
    if problems:
        raise SwecliError("; ".join(problems))
    return f"{path or location}: ok"


def _model(args: argparse.Namespace) -> str:
    settings = configuration_of(args).settings
    choice = choose_model(settings, os.environ)
    make_model(choice.name, settings, os.environ)  # raises what it lacks
    return f"{choice.name}: {choice.why}"


def _tokens(args: argparse.Namespace) -> str:
    found = tokenizer_folder()
    return f"tables in {found}" if found else "estimated: the tables are not installed"


def _search(args: argparse.Namespace) -> str:
    found = shutil.which("rg")
    return f"ripgrep at {found}" if found else "built in (ripgrep is not installed)"


def _git(args: argparse.Namespace) -> str:
    found = find_program("git", os.environ, Path.cwd())
    return found or "not installed: files are listed by walking the tree"


def _sandbox(args: argparse.Namespace) -> str:
    return "none: commands run with your permissions; the mode and your rules decide which need approval"


_CHECKS: dict[str, Callable[[argparse.Namespace], str]] = {
    "swecli": _program,
    "settings": _settings,
    "folders": _folders,
    "database": _database,
    "model": _model,
    "tokens": _tokens,
    "search": _search,
    "git": _git,
    "sandbox": _sandbox,
}
