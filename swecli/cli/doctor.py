"""What works on this machine: one line a thing, exit 1 when something needs attention."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

from swecli import __version__
from swecli.cli.startup import make_folders
from swecli.cli.subcommands import common, ground_of, location_of, say, tell
from swecli.llm.default_model import choose_model
from swecli.llm.price_table import tokenizer_folder
from swecli.llm.registry import make_model
from swecli.models.errors import SwecliError
from swecli.tools.processes import find_program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""
    common(parser)


def run(args: argparse.Namespace) -> int:
    """Look and tell."""
    rows = [(what, *_tried(look, args)) for what, look in LOOKS.items()]
    if args.json:
        tell(args, [{"what": what, "ok": ok, "detail": detail} for what, ok, detail in rows], "")
    else:
        for what, ok, detail in rows:
            say(f"{'ok ' if ok else 'NO '} {what}: {detail}")
    return 0 if all(ok for _, ok, _ in rows) else 1


def _tried(look: Callable[[argparse.Namespace], str], args: argparse.Namespace) -> tuple[bool, str]:
    try:
        return True, look(args)
    except SwecliError as error:
        return False, str(error)


def _program(args: argparse.Namespace) -> str:
    return f"{__version__}, Python {platform.python_version()}, {platform.system()}"


def _settings(args: argparse.Namespace) -> str:
    ground = ground_of(args)
    trusted = "this folder is trusted" if ground.trusted else "this folder is not trusted: its own files are not used"
    return f"in order; {trusted}"


def _folders(args: argparse.Namespace) -> str:
    paths = ground_of(args).paths
    make_folders(paths)
    places = dict.fromkeys((paths.config, paths.data, paths.state, paths.cache))
    if shut := [str(path) for path in places if not os.access(path, os.W_OK | os.X_OK)]:
        raise SwecliError(f"{', '.join(shut)} cannot be written.", "Check the permissions, or set SWECLI_HOME.")
    return ", ".join(str(path) for path in places)


def _database(args: argparse.Namespace) -> str:
    # late: --help needs no database
    from swecli.store.sqlite.database import open_database  # noqa: PLC0415
    from swecli.store.sqlite.location import locate  # noqa: PLC0415
    from swecli.store.sqlite.maintenance import check  # noqa: PLC0415

    location = location_of(ground_of(args))
    path = locate(location)
    if path and not path.exists():
        return f"{path}: none yet, it is made with the first message"
    database = open_database(location, to_read=True)
    try:
        problems = [*database.notices, *check(database)]
    finally:
        database.close()
    if problems:
        raise SwecliError("; ".join(problems))
    return f"{path or location}: sound"


def _model(args: argparse.Namespace) -> str:
    settings = ground_of(args).settings
    choice = choose_model(settings, os.environ)
    make_model(choice.name, settings, os.environ)  # raises what it lacks
    return f"{choice.name}: {choice.why}"


def _tokens(args: argparse.Namespace) -> str:
    found = tokenizer_folder()
    return f"tables in {found}" if found else "estimated: the tables are not installed"


def _search(args: argparse.Namespace) -> str:
    found = shutil.which("rg")
    return f"ripgrep at {found}" if found else "our own (ripgrep is not installed)"


def _git(args: argparse.Namespace) -> str:
    found = find_program("git", os.environ, Path.cwd())
    return found or "not installed: files are listed by walking the tree"


def _sandbox(args: argparse.Namespace) -> str:
    return "none: commands run with your rights; the mode and your rules say which of them ask"


LOOKS: dict[str, Callable[[argparse.Namespace], str]] = {
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
