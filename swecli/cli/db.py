"""`swecli db`: where the database is, whether it is damaged, and a copy of it."""

from __future__ import annotations

import argparse

from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import configuration_of, named_file, open_sessions
from swecli.models.action import ActionResult


@subcommand
def _db(parser: Parser) -> None:
    """Show where the database is, check it for damage, and back it up."""
    parser.action("path", _path, "print where the database is")
    parser.action("check", _check, "check for damage; exit 1 if there is any")
    backup = parser.action(
        "backup", _backup, "make a consistent copy, also while the database is in use"
    )
    backup.add_argument(
        "to", nargs="?", default="", help="the copy's path (default: beside it, with the time)"
    )


def _path(args: argparse.Namespace) -> ActionResult:
    # late: --help and usage errors need no database
    from swecli.store.sqlite.files import locate

    location = configuration_of(args).database
    path = locate(location)  # None for a database in memory
    shown_path = str(path or location)
    exists = path is not None and path.exists()
    return ActionResult({"path": shown_path, "exists": exists}, (shown_path,))


def _check(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        database = sessions.database
        problems = [*database.notices, *database.check()]
    if problems:
        return ActionResult({"problems": problems}, tuple(problems), code=1)
    location = database.path or configuration_of(args).database
    return ActionResult({"problems": []}, (f"{location}: ok",))


def _backup(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args) as sessions:
        copy = sessions.database.backup(named_file(args, args.to) if args.to else None)
    return ActionResult({"backup": str(copy)}, (str(copy),))
