"""What works on this machine: one line a thing, exit 1 when something needs attention."""

from __future__ import annotations

import argparse
import os

from swecli.cli.subcommands import add_common_flags, configuration_of
from swecli.models.errors import SwecliError
from swecli.playbook.action import ActionResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments of its own."""
    add_common_flags(parser)


def run(args: argparse.Namespace) -> ActionResult:
    """Look at each thing; the code is 1 when something needs attention."""
    # late: --help needs neither models nor a database
    from swecli.repl.actions.doctor import diagnose  # noqa: PLC0415

    try:
        return diagnose(configuration_of(args), os.environ)
    except SwecliError as error:
        return diagnose(error, os.environ)
