"""Show what all sessions took in the last days: tokens and cost by day, model, cause and tool."""

from __future__ import annotations

import argparse
import shutil

from swecli.cli.subcommands import add_common_flags, open_sessions, positive
from swecli.playbook.action import ActionResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("days", nargs="?", type=positive, default=30, metavar="DAYS", help="how many (default 30)")
    add_common_flags(parser)


def run(args: argparse.Namespace) -> ActionResult:
    """Read the store, and draw. Raises SwecliError."""
    # late: --help and a wrong argument need no database
    from swecli.repl.actions.insight import stats  # noqa: PLC0415

    with open_sessions(args) as sessions:
        return stats(sessions.database, args.days, shutil.get_terminal_size().columns)
