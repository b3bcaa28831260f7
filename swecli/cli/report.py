"""`swecli report`: the statistics of `swecli stats` as a page."""

from __future__ import annotations

import argparse
from datetime import date

from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import named_file, open_sessions, positive_int
from swecli.models.action import ActionResult


@subcommand
def _report(parser: Parser) -> None:
    """Write the statistics of `swecli stats` as one HTML page."""
    parser.add_argument(
        "file", nargs="?", default="", metavar="FILE", help="default: swecli-report-DATE.html"
    )
    parser.add_argument(
        "--days", type=positive_int, default=30, metavar="N", help="how many (default 30)"
    )
    parser.set_defaults(run=_write_report)


def _write_report(args: argparse.Namespace) -> ActionResult:
    # late: --help and usage errors need neither database nor templates
    from swecli.pages.page import render_report, write_new_file
    from swecli.store.spending import daily_spending

    today = date.today()
    with open_sessions(args) as sessions:
        spending = daily_spending(sessions.database, args.days, today)
    path = named_file(args, args.file or f"swecli-report-{today}.html")
    write_new_file(path, render_report(spending), "Name another file: swecli report FILE")
    return ActionResult({"file": str(path)} | spending, (f"Written to {path}.",))
