"""`swecli findings`: list, settle and export the findings of reviews."""

from __future__ import annotations

import argparse
import asyncio
import sys

from swecli.actions.findings import ACTIONS, FILTER, open_store, perform_action
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
    """List, show, dismiss, mark as fixed, reopen, recheck and export what reviews found in this project."""
    for name, (usage, about) in ACTIONS.items():
        if name in ("walk", "apply"):  # these need a terminal
            continue
        more = "; without --yes: only the estimated price" if name == "check" else ""
        added = parser.action(
            name, {"check": _check, "export": _export}.get(name, _perform), about + more
        )
        metavar = usage.replace("[", "").replace("]", "").removesuffix(" ...")  # argparse's own
        if usage == FILTER:
            added.add_argument("words", nargs="*", metavar="WORD", help=usage)
        else:
            added.add_argument("words", nargs="*", metavar=metavar)
        if name == "check":
            added.add_argument("--yes", action="store_true", help="really ask")
            added.add_argument(
                "-m", "--model", metavar="PROVIDER/NAME", help=default_models.EXAMPLES
            )
        elif name == "export":
            added.add_argument(
                "--format", choices=("markdown", "json", "sarif"), default="markdown"
            )


def _perform(args: argparse.Namespace) -> ActionResult:
    with open_sessions(args, resume=True) as sessions:
        return perform_action(
            sessions, working_folder(args.cwd), [args.action, *args.words], "swecli "
        )


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
        findings = filter_findings(
            open_store(sessions, working_folder(args.cwd)).findings(), args.words
        )
    if args.format == "markdown" and not args.json:
        return ActionResult(None, (as_markdown(findings, "Findings"),))
    value = (
        as_sarif(findings)
        if args.format == "sarif"
        else [redact_value(finding.to_json()) for finding in findings]
    )
    return ActionResult(value, (dumps(value, indent=2),))
