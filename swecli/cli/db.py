"""Where the database is, whether it is sound, and a copy of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from swecli.cli.subcommands import Actions, configuration_of, open_sessions
from swecli.playbook.action import ActionResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = Actions(parser)
    actions.add("path", _path, "print where the database is")
    actions.add("check", _check, "check for damage; exit 1 if there is any")
    backup = actions.add("backup", _backup, "make a sound copy, also while the database is in use")
    backup.add_argument("to", nargs="?", type=Path, help="the copy's path (default: beside it, with the time)")


def _path(args: argparse.Namespace) -> ActionResult:
    # late: --help and a wrong argument need no database
    from swecli.store.sqlite.files import locate  # noqa: PLC0415

    location = configuration_of(args).database
    path = locate(location)
    return ActionResult(
        {"path": str(path or location), "exists": bool(path and path.exists())}, (str(path or location),)
    )


def _check(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        database, place = sessions.database, sessions.database.path or configuration_of(args).database
        problems = [*database.notices, *database.check()]
    return ActionResult({"problems": problems}, tuple(problems) or (f"{place}: ok",), code=1 if problems else 0)


def _backup(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        copy = sessions.database.backup(args.to)
    return ActionResult({"backup": str(copy)}, (str(copy),))
