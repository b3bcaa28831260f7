"""Where the database is, whether it is sound, and a copy of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from swecli.cli.subcommands import common, ground_of, location_of, stored, tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="path|check|backup")
    actions.add_parser("path", help="print where it is")
    actions.add_parser("check", help="look for damage; exit 1 when there is some")
    copy = actions.add_parser("backup", help="make a sound copy, also while it is in use")
    copy.add_argument("to", nargs="?", type=Path, help="the copy's path (default: beside it, with the time)")
    for action in actions.choices.values():
        common(action)


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput, StoreError."""
    # late: --help and a wrong argument need no database
    from swecli.store.sqlite.location import locate  # noqa: PLC0415
    from swecli.store.sqlite.maintenance import backup, check  # noqa: PLC0415

    location = location_of(ground_of(args))
    path = locate(location)
    if args.action == "path":
        return tell(
            args, {"path": str(path or location), "exists": bool(path and path.exists())}, str(path or location)
        )
    with stored(args) as database:
        if args.action == "backup":
            copy = backup(database, args.to)
            return tell(args, {"backup": str(copy)}, str(copy))
        problems = [*database.notices, *check(database)]
    tell(args, {"problems": problems}, "\n".join(problems) or f"{path or location}: sound")
    return 1 if problems else 0
