"""`swecli doctor`: check this installation."""

from __future__ import annotations

import argparse

from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import configuration_of
from swecli.models.action import ActionResult
from swecli.models.errors import SwecliError


@subcommand
def _doctor(parser: Parser) -> None:
    """Check this installation, one line a check; exit 1 if something needs attention."""
    parser.set_defaults(run=_run_checks)


def _run_checks(args: argparse.Namespace) -> ActionResult:
    # late: --help needs neither models nor a database
    from swecli.actions.doctor import diagnose

    try:
        return diagnose(configuration_of(args))
    except SwecliError as error:
        return diagnose(error)
