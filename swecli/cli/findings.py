"""List, show, dismiss, mark as fixed, reopen, recheck and export what reviews found in this project."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.output import print_line, print_table, report
from swecli.cli.subcommands import add_common_flags, open_sessions
from swecli.config.trust import project_root
from swecli.headless.plain import one_line
from swecli.models.errors import UsageError
from swecli.models.finding import STATES, Finding, worst_first

if TYPE_CHECKING:
    from swecli.store.reviews import ReviewStore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Actions and their arguments."""
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="list|show|dismiss|fixed|reopen|recheck|export"
    )
    listing = actions.add_parser("list", help="the open findings")
    show = actions.add_parser("show", help="one finding with its evidence")
    dismiss = actions.add_parser("dismiss", help="dismiss a finding for good, and say why")
    fixed = actions.add_parser("fixed", help="mark a finding as fixed")
    reopen = actions.add_parser("reopen", help="open a finding again")
    check = actions.add_parser("recheck", help="compare findings with the files as they are now")
    export = actions.add_parser("export", help="print findings as Markdown, JSON or SARIF")
    for action in (show, dismiss, fixed, reopen):
        action.add_argument("finding", metavar="ID", help="for example F-12")
    check.add_argument("finding", metavar="ID", nargs="*", help="only these (default: all)")
    dismiss.add_argument("reason", nargs="+", help="why it is no problem")
    for action in (fixed, reopen):
        action.add_argument("reason", nargs="*", help="why")
    for action in (listing, export):
        action.add_argument("--state", action="append", default=[], choices=(*STATES, "all"), help="default: open ones")
        action.add_argument("--path", action="append", default=[], help="only of this file")
    export.add_argument("--format", choices=("markdown", "json", "sarif"), default="markdown")
    for action in actions.choices.values():
        add_common_flags(action)


def run(args: argparse.Namespace) -> int:
    """Do it. Raises BadInput for an unknown id."""
    # late: --help and a wrong argument need no database
    from swecli.store.reviews import ReviewStore  # noqa: PLC0415

    root = project_root(Path.cwd())
    with open_sessions(args) as sessions:
        return ACTIONS[args.action](ReviewStore(sessions.database, str(root)), args)


def _chosen(store: ReviewStore, args: argparse.Namespace) -> list[Finding]:
    # late: see run
    from swecli.review.judge.ledger import named_from, states_of  # noqa: PLC0415

    return sorted(store.findings(states_of(args.state), named_from(Path.cwd(), args.path)), key=worst_first)


def _list(store: ReviewStore, args: argparse.Namespace) -> int:
    findings = _chosen(store, args)
    if args.json or not findings:
        return report(args, [f.to_json() for f in findings], "No such findings. A review makes them: swecli review")
    rows = [(f.id, f.place, f.code_smell_type, f.severity, f.standing, f.message) for f in findings]
    print_table(rows, ("id", "place", "type", "severity", "state", "message"))
    return 0


def _show(store: ReviewStore, args: argparse.Namespace) -> int:
    finding = store.get(args.finding)
    return report(args, finding.to_json(), "\n".join(details(finding)))


def details(finding: Finding) -> list[str]:
    """Everything of a finding, in lines."""
    lines = [f"{finding.id}  {finding.place}  {finding.code_smell_type} ({finding.severity})", finding.message]
    lines += [f"{finding.kind}, {finding.state}, found in loop {finding.loop}"]
    lines += [f"reason: {finding.reason}"] if finding.reason else []
    lines += [finding.doubt] if finding.doubt else []
    lines += [f"code: {finding.anchor}"] if finding.anchor else []
    lines += [f"improvement: {finding.improvement}"] if finding.improvement else []
    return [*lines, "suggestion:", *finding.suggestion.split("\n")] if finding.suggestion else lines


def _dismiss(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see run
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    finding = settle(store, args.finding, "dismissed", " ".join(args.reason))
    return report(args, finding.to_json(), f"{finding.id} is dismissed: {finding.reason}")


def _fixed(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see run
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    finding = settle(store, args.finding, "fixed", " ".join(args.reason))
    _propose(store)
    return report(args, finding.to_json(), f"{finding.id} is fixed; found again it counts as regressed.")


def _reopen(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see run
    from swecli.review.judge.ledger import settle  # noqa: PLC0415

    finding = settle(store, args.finding, "open", " ".join(args.reason))
    return report(args, finding.to_json(), f"{finding.id} is open.")


def _recheck(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see run
    from swecli.review.judge.ledger import change_line, recheck  # noqa: PLC0415

    changed = recheck(store, Path.cwd(), args.finding)
    _propose(store)
    lines = [change_line(before, after) for before, after in changed]
    return report(args, [after.to_json() for _, after in changed], "\n".join(lines) or "Nothing has changed.")


def _propose(store: ReviewStore) -> None:
    """Propose to the playbook what was fixed again and again; say so on stderr."""
    # late: see run
    from swecli.cli.playbook import session_here  # noqa: PLC0415
    from swecli.review.lessons import lessons, told  # noqa: PLC0415
    from swecli.store.session_manager import SessionManager  # noqa: PLC0415

    sessions = SessionManager(store.database)
    for applied in lessons(sessions, store, session_here(sessions, None)):
        sys.stderr.write(one_line(told(applied, "swecli playbook")) + "\n")


def _export(store: ReviewStore, args: argparse.Namespace) -> int:
    # late: see run
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


ACTIONS = {
    "list": _list, "show": _show, "dismiss": _dismiss, "fixed": _fixed, "reopen": _reopen, "recheck": _recheck,
    "export": _export,
}  # fmt: skip
