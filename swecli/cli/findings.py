"""List, show, dismiss, mark as fixed, reopen, recheck and export what reviews found in this project."""

from __future__ import annotations

import argparse
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
from swecli.models.finding import STATES, Finding

if TYPE_CHECKING:
    from swecli.store.reviews import ReviewStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = Actions(parser)
    listing = actions.add("list", partial(_with_ledger, _list), "the open findings")
    show = actions.add("show", partial(_with_ledger, _show), "one finding with its evidence")
    dismiss = actions.add("dismiss", partial(_with_ledger, _dismiss), "dismiss a finding for good, and say why")
    fixed = actions.add("fixed", partial(_with_ledger, _fixed), "mark a finding as fixed")
    reopen = actions.add("reopen", partial(_with_ledger, _reopen), "open a finding again")
    check = actions.add("recheck", partial(_with_ledger, _recheck), "compare findings with the files as they are now")
    export = actions.add("export", partial(_with_ledger, _export), "print findings as Markdown, JSON or SARIF")
    for action in (show, dismiss, fixed, reopen):
        action.add_argument("finding", metavar="ID", help="for example F-12")
    check.add_argument("finding", metavar="ID", nargs="*", help="only these (default: all)")
    dismiss.add_argument("reason", nargs="+", help="why it is no problem")
    for action in (fixed, reopen):
        action.add_argument("reason", nargs="*", help="why")
    listing.add_argument(
        "words", nargs="*", metavar="WORD", help="severity>=high path:src type:LEAK verdict:confirmed text"
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
    from swecli.review.judge.ledger import named_from, states_of  # noqa: PLC0415
    from swecli.review.publish.view import chosen  # noqa: PLC0415

    found = store.findings(states_of(args.state), named_from(Path.cwd(), args.path))
    return chosen(found, ["all", *getattr(args, "words", ())])


def _list(store: ReviewStore, args: argparse.Namespace) -> int:
    findings = _chosen(store, args)
    if args.json or not findings:
        return report(args, [f.to_json() for f in findings], "No such findings. A review makes them: swecli review")
    rows = [(f.id, f.place, f.code_smell_type, f.severity, f.standing, f.message) for f in findings]
    print_table(rows, ("id", "place", "type", "severity", "state", "message"))
    return 0


def _show(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see _with_ledger
    from swecli.review.judge.sources import Sources  # noqa: PLC0415
    from swecli.review.publish.view import view  # noqa: PLC0415

    finding = store.get(args.finding)
    laid_out = view(finding, Sources(Path(store.project)), store.history(finding.id))
    return report(args, finding.to_json(), "\n".join(laid_out.lines()))


def _dismiss(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see _with_ledger
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    finding = settle(store, args.finding, "dismissed", " ".join(args.reason))
    return report(args, finding.to_json(), f"{finding.id} is dismissed: {finding.reason}")


def _fixed(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see _with_ledger
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    finding = settle(store, args.finding, "fixed", " ".join(args.reason))
    _propose(store)
    return report(args, finding.to_json(), f"{finding.id} is fixed; found again it counts as regressed.")


def _reopen(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see _with_ledger
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    finding = settle(store, args.finding, "open", " ".join(args.reason))
    return report(args, finding.to_json(), f"{finding.id} is open.")


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
    from swecli.review.lessons import lessons, told  # noqa: PLC0415
    from swecli.store.session_manager import SessionManager  # noqa: PLC0415

    sessions = SessionManager(store.database)
    for applied in lessons(sessions, store, session_of(sessions, None)):
        sys.stderr.write(one_line(told(applied, "swecli playbook")) + "\n")


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
