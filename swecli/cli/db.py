"""Where the database is, whether it is sound, and a copy of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from swecli.cli.admin import common, database_of, say, say_json
from swecli.store.database import open_database
from swecli.store.upkeep import backup, check


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("path", help="print where it is")
    actions.add_parser("check", help="look for damage; exit 1 when there is some")
    copy = actions.add_parser("backup", help="make a sound copy, also while it is in use")
    copy.add_argument("to", nargs="?", type=Path, help="the copy's path (default: beside it, with the time)")
    for action in actions.choices.values():
        common(action)


def run(args: argparse.Namespace) -> int:
    """Do it. Raises StoreError."""
    location = database_of(args)
    if args.action == "path":
        say_json({"path": str(location)}) if args.json else say(str(location))
        return 0
    database = open_database(location)
    try:
        if args.action == "backup":
            copy = backup(database, args.to)
            say_json({"backup": str(copy)}) if args.json else say(str(copy))
            return 0
        problems = [*database.notices, *check(database)]
    finally:
        database.close()
    say_json({"problems": problems}) if args.json else say("\n".join(problems) or f"{location}: sound")
    return 1 if problems else 0
