"""List, show, dismiss, mark as fixed, reopen, recheck and export what reviews found in this project."""

from __future__ import annotations

import argparse

from swecli.cli.subcommands import Actions
from swecli.models.finding import STATES
from swecli.playbook.action import ActionResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = Actions(parser)
    listing = actions.add("list", _run, "the open findings")
    show = actions.add("show", _run, "one finding with its evidence")
    dismiss = actions.add("dismiss", _run, "dismiss a finding for good, and say why")
    fixed = actions.add("fixed", _run, "mark a finding as fixed")
    reopen = actions.add("reopen", _run, "open a finding again")
    recheck = actions.add("recheck", _run, "compare findings with the files as they are now")
    check = actions.add("check", _run, "let the model check gone and unverified findings; without --yes the price")
    export = actions.add("export", _run, "print findings as Markdown, JSON or SARIF")
    for action in (show, dismiss, fixed, reopen):
        action.add_argument("finding", metavar="ID", help="for example F-12")
    for action in (recheck, check):
        action.add_argument("finding", metavar="ID", nargs="*", help="only these (default: all)")
    dismiss.add_argument("reason", nargs="+", help="why it is no problem")
    for action in (fixed, reopen):
        action.add_argument("reason", nargs="*", help="why")
    check.add_argument("--yes", action="store_true", help="really ask")
    check.add_argument("-m", "--model", metavar="PROVIDER/NAME", help="for example openai/gpt-4o")
    listing.add_argument(
        "words", nargs="*", metavar="WORD", help="severity>=high path:src type:LEAK verdict:confirmed since:R-2 text"
    )
    for action in (listing, export):
        action.add_argument("--state", action="append", default=[], choices=(*STATES, "all"), help="default: open ones")
        action.add_argument("--path", action="append", default=[], help="only of this file")
    export.add_argument("--format", choices=("markdown", "json", "sarif"), default="markdown")


def _run(args: argparse.Namespace) -> ActionResult:
    # late: --help and a wrong argument need no database
    from swecli.cli.ledger import perform  # noqa: PLC0415

    return perform(args)
