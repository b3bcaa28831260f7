"""`swecli sql`: query the database of sessions, read-only, or copy it for other programs."""

from __future__ import annotations

import argparse
import sys

from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import named_file, open_sessions, positive_int
from swecli.headless.plain import complaint
from swecli.models.action import ActionResult
from swecli.models.errors import UsageError


@subcommand
def _sql(parser: Parser) -> None:
    """Query the database of sessions in SQL: read-only, through views whose names and columns are stable."""
    add = parser.add_argument
    add(
        "query", nargs="?", default="", metavar="QUERY", help="one SELECT (without: list the views)"
    )
    add(
        "--limit",
        type=positive_int,
        default=1_000,
        metavar="N",
        help="print at most N rows (default 1000)",
    )
    add(
        "--copy",
        metavar="FILE",
        help="copy the database and the views into FILE, for other programs",
    )
    parser.set_defaults(run=_run_query)


def _run_query(args: argparse.Namespace) -> ActionResult:
    # late: --help and usage errors need no database
    from swecli.actions.query import query
    from swecli.store.views import copy_with_views

    if args.copy and args.query:
        raise UsageError("--copy takes no query.", "Make the copy first, then ask.")
    with open_sessions(args) as sessions:
        if args.copy:
            copy = str(copy_with_views(sessions.database, named_file(args, args.copy)))
            return ActionResult({"copy": copy}, (copy,))
        found = query(sessions.database, args.query, args.limit)
    if found.note and args.json:
        sys.stderr.write(complaint(found.note, "") + "\n")
    return found
