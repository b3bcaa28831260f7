"""`swecli findings`: what reviews found, settled and exported."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import closing
from pathlib import Path

from swecli.cli.flags import Parser
from swecli.cli.subcommands import open_sessions
from swecli.headless.plain import dumps, one_line
from swecli.playbook.action import ActionResult

_FILTER = "STATE all severity>=high path:src/** type:LEAK verdict:confirmed since:R-2 WORD"
_ACTIONS = {
    "list": (_FILTER, "findings, the open ones unless a state is named"),
    "show": ("F-12", "one finding with its evidence"),
    "dismiss": ("F-12 WHY", "dismiss a finding for good, and say why"),
    "fixed": ("F-12 [WHY]", "mark a finding as fixed"),
    "reopen": ("F-12 [WHY]", "open a finding again"),
    "recheck": ("F-12 ...", "compare findings with the files as they are now"),
    "check": ("F-12 ...", "let the model check gone and unverified findings; without --yes the price"),
    "export": (_FILTER, "print findings as Markdown, JSON or SARIF"),
}


def findings(parser: Parser) -> None:
    """List, show, dismiss, mark as fixed, reopen, recheck and export what reviews found in this project."""
    doing = {"show": _show, "check": _check, "export": _export}
    for name, (usage, about) in _ACTIONS.items():
        added = parser.action(name, doing.get(name, _perform), about)
        added.add_argument("words", nargs="*", metavar="WORD", help=usage)
        if name == "check":
            added.add_argument("--yes", action="store_true", help="really ask")
            added.add_argument("-m", "--model", metavar="PROVIDER/NAME", help="for example openai/gpt-4o")
        elif name == "export":
            added.add_argument("--format", choices=("markdown", "json", "sarif"), default="markdown")


def _perform(args: argparse.Namespace) -> ActionResult:
    # late: --help and a wrong argument need no database
    from swecli.cli.playbook import session_of  # noqa: PLC0415
    from swecli.repl.actions.findings import perform  # noqa: PLC0415

    with open_sessions(args) as sessions:
        sessions.current_session = session_of(sessions, None)
        return perform(sessions, Path.cwd(), [args.action, *args.words], "swecli ")


def _show(args: argparse.Namespace) -> ActionResult:
    # late: --help and a wrong argument need no database
    from swecli.repl.actions.findings import store_of  # noqa: PLC0415
    from swecli.review.publish.view import view  # noqa: PLC0415

    with open_sessions(args) as sessions:
        store = store_of(sessions, Path.cwd())
        finding = store.get(" ".join(args.words))
        laid_out = view(finding, Path(store.project), store.history(finding.id))
        return ActionResult(finding.to_json(), tuple(laid_out.lines()))


def _check(args: argparse.Namespace) -> ActionResult:
    # late: --help and a wrong argument need no database
    from swecli.app import build_runtime  # noqa: PLC0415
    from swecli.cli.startup import make_start  # noqa: PLC0415
    from swecli.headless.runner import refuse  # noqa: PLC0415
    from swecli.repl.actions.findings import store_of  # noqa: PLC0415
    from swecli.review.read.job import by_hand, check  # noqa: PLC0415

    with closing(build_runtime(make_start(args), refuse)) as runtime:
        store = store_of(runtime.sessions, Path.cwd())
        verifier, claims, price = by_hand(runtime.agent, store, args.words)
        sys.stderr.write(f"{price}\n")
        if not args.yes or not claims:
            return ActionResult([], ("Nothing was checked: add --yes." if claims else "There is nothing to check.",))
        event, taken = asyncio.run(check(verifier, runtime.sessions, claims))
    lines = [*taken.problems, *(f"{f.id} {f.place}: {f.standing}" for f in event.findings)]
    return ActionResult([f.to_json() for f in event.findings], tuple(map(one_line, lines)))


def _export(args: argparse.Namespace) -> ActionResult:
    # late: --help and a wrong argument need no database
    from swecli.repl.actions.findings import store_of  # noqa: PLC0415
    from swecli.review.publish.exports import as_json, as_markdown, as_sarif  # noqa: PLC0415
    from swecli.review.publish.view import chosen  # noqa: PLC0415

    with open_sessions(args) as sessions:
        findings = chosen(store_of(sessions, Path.cwd()), args.words)
    if args.format == "markdown" and not args.json:
        return ActionResult(None, (as_markdown(findings, "Findings"),))
    value = as_sarif(findings) if args.format == "sarif" else as_json(findings)
    return ActionResult(value, (dumps(value, indent=2),))
