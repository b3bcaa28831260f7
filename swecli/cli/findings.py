"""List, show, dismiss, mark as fixed, reopen, recheck and export what reviews found in this project."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.output import print_line, print_table, report
from swecli.cli.subcommands import Actions, open_sessions
from swecli.config.trust import project_root
from swecli.headless.plain import one_line
from swecli.models.errors import UsageError
from swecli.models.finding import STATES, Finding, FindingState

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.store.reviews import ReviewStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = Actions(parser)
    listing = actions.add("list", partial(_with_ledger, _list), "the open findings")
    show = actions.add("show", partial(_with_ledger, _show), "one finding with its evidence")
    dismiss = actions.add("dismiss", partial(_with_ledger, _settle), "dismiss a finding for good, and say why")
    fixed = actions.add("fixed", partial(_with_ledger, _settle), "mark a finding as fixed")
    reopen = actions.add("reopen", partial(_with_ledger, _settle), "open a finding again")
    recheck = actions.add("recheck", partial(_with_ledger, _recheck), "compare findings with the files as they are now")
    check = actions.add("check", _check, "let the model check gone and unverified findings; without --yes the price")
    export = actions.add("export", partial(_with_ledger, _export), "print findings as Markdown, JSON or SARIF")
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


def _with_ledger(perform: Callable[[ReviewStore, argparse.Namespace], int], args: argparse.Namespace) -> int:
    # late: --help and a wrong argument need no database
    from swecli.store.reviews import ReviewStore  # noqa: PLC0415

    with open_sessions(args) as sessions:
        return perform(ReviewStore(sessions.database, str(project_root(Path.cwd()))), args)


def _chosen(store: ReviewStore, args: argparse.Namespace) -> list[Finding]:
    # late: see _with_ledger
    from swecli.review.judge.ledger import named_from  # noqa: PLC0415
    from swecli.review.publish.view import chosen  # noqa: PLC0415

    named = named_from(Path.cwd(), args.path)
    found = chosen(store, [*args.state, *getattr(args, "words", ())])
    return [finding for finding in found if not named or finding.path in named]


def _list(store: ReviewStore, args: argparse.Namespace) -> int:
    findings = _chosen(store, args)
    if args.json or not findings:
        return report(args, [f.to_json() for f in findings], "No such findings. A review makes them: swecli review")
    rows = [(f.id, f.place, f.code_smell_type, f.severity, f.standing, f.message) for f in findings]
    print_table(rows, ("id", "place", "type", "severity", "state", "message"))
    return 0


def _show(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see _with_ledger
    from swecli.review.publish.view import view  # noqa: PLC0415

    finding = store.get(args.finding)
    laid_out = view(finding, Path(store.project), store.history(finding.id))
    return report(args, finding.to_json(), "\n".join(laid_out.lines()))


def _settle(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see _with_ledger
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    state, text = _SETTLED[args.action]
    finding = settle(store, args.finding, state, " ".join(args.reason))
    if state == "fixed":
        _propose(store)
    return report(args, finding.to_json(), f"{finding.id} {text.format(reason=finding.reason)}")


_SETTLED: dict[str, tuple[FindingState, str]] = {
    "dismiss": ("dismissed", "is dismissed: {reason}"),
    "fixed": ("fixed", "is fixed; found again it counts as regressed."),
    "reopen": ("open", "is open."),
}


def _check(args: argparse.Namespace) -> int:
    # late: see _with_ledger
    from swecli.app import build_runtime  # noqa: PLC0415
    from swecli.cli.review import as_run  # noqa: PLC0415
    from swecli.cli.startup import make_start  # noqa: PLC0415
    from swecli.headless.runner import refuse  # noqa: PLC0415

    runtime = build_runtime(make_start(as_run(args)), refuse)
    try:
        return asyncio.run(_ask(runtime, args))
    finally:
        runtime.close()


async def _ask(runtime: Runtime, args: argparse.Namespace) -> int:
    # late: see _with_ledger
    from swecli.review.read.checking import by_hand, check  # noqa: PLC0415
    from swecli.store.reviews import ReviewStore  # noqa: PLC0415

    store = ReviewStore(runtime.sessions.database, str(project_root(Path.cwd())))
    parts, claims, price = by_hand(runtime.agent, store, args.finding)
    sys.stderr.write(f"{price}\n")
    if not args.yes or not claims:
        return report(args, [], "Nothing was checked: add --yes." if claims else "There is nothing to check.")
    event, taken = await check(parts, claims)
    lines = [*taken.problems, *(f"{f.id} {f.place}: {f.standing}" for f in event.findings)]
    return report(args, [f.to_json() for f in event.findings], "\n".join(map(one_line, lines)))


def _recheck(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see _with_ledger
    from swecli.review.judge.ledger import change_line, recheck  # noqa: PLC0415

    changed = recheck(store, Path.cwd(), args.finding)
    _propose(store)
    lines = [change_line(before, after) for before, after in changed]
    return report(args, [after.to_json() for _, after in changed], "\n".join(lines) or "Nothing has changed.")


def _propose(store: ReviewStore) -> None:
    """Propose to the playbook what was fixed again and again; say so on stderr."""
    # late: see _with_ledger
    from swecli.cli.playbook import session_of  # noqa: PLC0415
    from swecli.review.lessons import lesson_note, lessons  # noqa: PLC0415
    from swecli.store.session_manager import SessionManager  # noqa: PLC0415

    sessions = SessionManager(store.database)
    for applied in lessons(sessions, store, session_of(sessions, None)):
        sys.stderr.write(one_line(lesson_note(applied, "swecli playbook")) + "\n")


def _export(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see _with_ledger
    from swecli.headless.plain import dumps  # noqa: PLC0415
    from swecli.review.publish.exports import as_json, as_markdown  # noqa: PLC0415
    from swecli.review.publish.sarif import as_sarif  # noqa: PLC0415

    if args.json and args.format == "sarif":
        raise UsageError("--json and --format sarif exclude each other.", "Use one of them.")
    findings = _chosen(store, args)
    if args.json or args.format == "json":
        print_line(dumps(as_json(findings), indent=2))
    else:
        print_line(dumps(as_sarif(findings), indent=2) if args.format == "sarif" else as_markdown(findings, "Findings"))
    return 0
