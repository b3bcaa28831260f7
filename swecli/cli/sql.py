"""Ask the database of sessions by SQL: read-only, over views whose names and columns stay."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from swecli.cli.subcommands import add_common_flags, open_sessions, positive
from swecli.headless.plain import complaint
from swecli.models.errors import UsageError
from swecli.playbook.action import ActionResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("query", nargs="?", default="", metavar="QUERY", help="one SELECT (without: list the views)")
    parser.add_argument(
        "--limit", type=positive, default=1_000, metavar="N", help="print at most N rows (default 1000)"
    )
    parser.add_argument("--copy", metavar="FILE", help="copy the database and the views into FILE, for other programs")
    add_common_flags(parser)


def run(args: argparse.Namespace) -> ActionResult:
    """Run the query, or make the copy. Raises SwecliError."""
    # late: --help and a wrong argument need no database
    from swecli.store.views import copy_with_views, run_query  # noqa: PLC0415

    if args.copy and args.query:
        raise UsageError("--copy takes no query.", "Make the copy first, then ask.")
    with open_sessions(args) as sessions:
        if args.copy:
            copy = str(copy_with_views(sessions.database, Path(args.copy)))
            return ActionResult({"copy": copy}, (copy,))
        found = run_query(sessions.database, args.query, args.limit)
    if found.note and args.json:
        sys.stderr.write(complaint(found.note, "") + "\n")
    lines = () if found.rows else ("No rows.",)
    return ActionResult(found.records, lines, found.columns, found.cells, found.note)
