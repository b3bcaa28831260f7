"""What only `swecli findings` does: check findings for a price, and export them."""

from __future__ import annotations

import argparse
import asyncio
import sys

from swecli.actions.builtin.findings import FILTER, check, findings, open_store
from swecli.cli.actions import add_actions
from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import open_runtime, open_sessions
from swecli.cli.workspace import working_folder
from swecli.headless.plain import LONGEST_LINE, dumps
from swecli.llm import default_models
from swecli.models.action import ActionResult
from swecli.redact import redact_value
from swecli.text import one_line


@subcommand
def _findings(parser: Parser) -> None:
    """Add the actions on findings, and those of a shell alone."""
    add_actions(parser, findings)
    about = f"{check.about}; without --yes: only the estimated price"
    checking = parser.action(check.name, _check, about)
    checking.add_argument("words", nargs="*", metavar=check.words.metavar)
    checking.add_argument("--yes", action="store_true", help="really ask")
    checking.add_argument("-m", "--model", metavar="PROVIDER/NAME", help=default_models.EXAMPLES)
    export = parser.action("export", _export, "print findings as Markdown, JSON or SARIF")
    export.add_argument("words", nargs="*", metavar="WORD", help=FILTER)
    formats = ("markdown", "json", "sarif")
    export.add_argument("--format", choices=formats, default="markdown")


def _check(args: argparse.Namespace) -> ActionResult:
    # late: --help and usage errors need no database
    from swecli.review.read.job import prepare_check

    with open_runtime(args) as runtime:
        store = open_store(runtime.sessions, runtime.cwd)
        verifier, claims, price = prepare_check(runtime.agent, store, args.words)
        sys.stderr.write(f"{price}\n")
        if not args.yes or not claims:
            return ActionResult(
                [], ("Nothing was checked: add --yes." if claims else "There is nothing to check.",)
            )
        event, taken = asyncio.run(verifier.check(runtime.sessions, claims))
    lines = [*taken.problems, *(f"{f.id} {f.place}: {f.status}" for f in event.findings)]
    return ActionResult(
        [f.to_json() for f in event.findings], tuple(one_line(line, LONGEST_LINE) for line in lines)
    )


def _export(args: argparse.Namespace) -> ActionResult:
    # late: --help and usage errors need no database
    from swecli.review.publish.filters import filter_findings
    from swecli.review.publish.posting import as_markdown
    from swecli.review.publish.sarif import as_sarif

    with open_sessions(args) as sessions:
        stored = open_store(sessions, working_folder(args.cwd)).findings()
    found = filter_findings(stored, args.words)
    if args.format == "markdown" and not args.json:
        return ActionResult(None, (as_markdown(found, "Findings"),))
    value = (
        as_sarif(found)
        if args.format == "sarif"
        else [redact_value(finding.to_json()) for finding in found]
    )
    return ActionResult(value, (dumps(value, indent=2),))
