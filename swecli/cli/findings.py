"""List, show, dismiss, mark as fixed, reopen, recheck and export what reviews found in this project."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.subcommands import Actions, open_sessions
from swecli.config.trust import project_root
from swecli.headless.plain import one_line
from swecli.models.errors import UsageError
from swecli.models.finding import STATES, Finding, FindingState
from swecli.playbook.action import ActionResult

if TYPE_CHECKING:
    from swecli.store.reviews import ReviewStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = Actions(parser)
    listing = actions.add("list", _in_ledger, "the open findings")
    show = actions.add("show", _in_ledger, "one finding with its evidence")
    dismiss = actions.add("dismiss", _in_ledger, "dismiss a finding for good, and say why")
    fixed = actions.add("fixed", _in_ledger, "mark a finding as fixed")
    reopen = actions.add("reopen", _in_ledger, "open a finding again")
    recheck = actions.add("recheck", _in_ledger, "compare findings with the files as they are now")
    check = actions.add("check", _check, "let the model check gone and unverified findings; without --yes the price")
    export = actions.add("export", _in_ledger, "print findings as Markdown, JSON or SARIF")
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


def _in_ledger(args: argparse.Namespace) -> ActionResult:
    # late: --help and a wrong argument need no database
    from swecli.store.reviews import ReviewStore  # noqa: PLC0415

    with open_sessions(args) as sessions:
        return _DOING.get(args.action, _settle)(ReviewStore(sessions.database, str(project_root(Path.cwd()))), args)


def _chosen(store: ReviewStore, args: argparse.Namespace) -> list[Finding]:
    # late: see _in_ledger
    from swecli.review.judge.ledger import named_from  # noqa: PLC0415
    from swecli.review.publish.view import chosen  # noqa: PLC0415

    named = named_from(Path.cwd(), args.path)
    found = chosen(store, [*args.state, *getattr(args, "words", ())])
    return [finding for finding in found if not named or finding.path in named]


def _list(store: ReviewStore, args: argparse.Namespace) -> ActionResult:
    found = _chosen(store, args)
    lines = () if found else ("No such findings. A review makes them: swecli review",)
    rows = tuple((f.id, f.place, f.code_smell_type, f.severity, f.standing, f.message) for f in found)
    return ActionResult(
        [f.to_json() for f in found], lines, ("id", "place", "type", "severity", "state", "message"), rows
    )


def _show(store: ReviewStore, args: argparse.Namespace) -> ActionResult:
    # late: see _in_ledger
    from swecli.review.publish.view import view  # noqa: PLC0415

    finding = store.get(args.finding)
    laid_out = view(finding, Path(store.project), store.history(finding.id))
    return ActionResult(finding.to_json(), tuple(laid_out.lines()))


def _settle(store: ReviewStore, args: argparse.Namespace) -> ActionResult:
    # late: see _in_ledger
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    state, text = _SETTLED[args.action]
    finding = settle(store, args.finding, state, " ".join(args.reason))
    if state == "fixed":
        _propose(store)
    return ActionResult(finding.to_json(), (f"{finding.id} {text.format(reason=finding.reason)}",))


_SETTLED: dict[str, tuple[FindingState, str]] = {
    "dismiss": ("dismissed", "is dismissed: {reason}"),
    "fixed": ("fixed", "is fixed; found again it counts as regressed."),
    "reopen": ("open", "is open."),
}


def _check(args: argparse.Namespace) -> ActionResult:
    # late: see _in_ledger
    from swecli.app import build_runtime  # noqa: PLC0415
    from swecli.cli.startup import make_start  # noqa: PLC0415
    from swecli.headless.runner import refuse  # noqa: PLC0415
    from swecli.review.read.job import by_hand, check  # noqa: PLC0415
    from swecli.store.reviews import ReviewStore  # noqa: PLC0415

    with closing(build_runtime(make_start(args), refuse)) as runtime:
        store = ReviewStore(runtime.sessions.database, str(project_root(Path.cwd())))
        verifier, claims, price = by_hand(runtime.agent, store, args.finding)
        sys.stderr.write(f"{price}\n")
        if not args.yes or not claims:
            return ActionResult([], ("Nothing was checked: add --yes." if claims else "There is nothing to check.",))
        event, taken = asyncio.run(check(verifier, runtime.sessions, claims))
    lines = [*taken.problems, *(f"{f.id} {f.place}: {f.standing}" for f in event.findings)]
    return ActionResult([f.to_json() for f in event.findings], tuple(map(one_line, lines)))


def _recheck(store: ReviewStore, args: argparse.Namespace) -> ActionResult:
    # late: see _in_ledger
    from swecli.review.judge.ledger import change_line, recheck  # noqa: PLC0415

    changed = recheck(store, Path.cwd(), args.finding)
    _propose(store)
    lines = tuple(change_line(before, after) for before, after in changed)
    return ActionResult([after.to_json() for _, after in changed], lines or ("Nothing has changed.",))


def _propose(store: ReviewStore) -> None:
    """Propose to the playbook what was fixed again and again; say so on stderr."""
    # late: see _in_ledger
    from swecli.cli.playbook import session_of  # noqa: PLC0415
    from swecli.review.judge.ledger import lesson_note, lessons  # noqa: PLC0415
    from swecli.store.session_manager import SessionManager  # noqa: PLC0415

    sessions = SessionManager(store.database)
    for applied in lessons(sessions, store, session_of(sessions, None)):
        sys.stderr.write(one_line(lesson_note(applied, "swecli playbook")) + "\n")


def _export(store: ReviewStore, args: argparse.Namespace) -> ActionResult:
    # late: see _in_ledger
    from swecli.headless.plain import dumps  # noqa: PLC0415
    from swecli.review.publish.exports import as_json, as_markdown, as_sarif  # noqa: PLC0415

    if args.json and args.format == "sarif":
        raise UsageError("--json and --format sarif exclude each other.", "Use one of them.")
    findings = _chosen(store, args)
    if args.format == "markdown" and not args.json:
        return ActionResult(None, (as_markdown(findings, "Findings"),))
    value = as_sarif(findings) if args.format == "sarif" else as_json(findings)
    return ActionResult(value, (dumps(value, indent=2),))


_DOING = {"list": _list, "show": _show, "recheck": _recheck, "export": _export}
