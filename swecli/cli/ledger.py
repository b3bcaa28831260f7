"""What `swecli findings` does with the ledger of this project, and what it prints."""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import closing
from pathlib import Path

from swecli.cli.playbook import session_of
from swecli.cli.subcommands import open_sessions
from swecli.config.trust import project_root
from swecli.headless.plain import dumps, one_line
from swecli.models.finding import Finding, FindingState
from swecli.playbook.action import ActionResult
from swecli.review.judge.ledger import change_line, lesson_note, lessons, named_from, recheck, settle
from swecli.review.publish.exports import as_json, as_markdown, as_sarif
from swecli.review.publish.view import chosen, view
from swecli.store.reviews import ReviewStore


def perform(args: argparse.Namespace) -> ActionResult:
    """Do the action of the arguments. Raises SwecliError."""
    if args.action == "check":
        return _check(args)
    with open_sessions(args) as sessions:
        store = ReviewStore(sessions.database, str(project_root(Path.cwd())))
        done = _DOING.get(args.action, _settle)(store, args)
        proposed = lessons(sessions, store, session_of(sessions, None)) if args.action in ("fixed", "recheck") else []
        for applied in proposed:  # what was fixed again and again, for the playbook
            sys.stderr.write(one_line(lesson_note(applied, "swecli playbook")) + "\n")
        return done


def _chosen(store: ReviewStore, args: argparse.Namespace) -> list[Finding]:
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
    finding = store.get(args.finding)
    laid_out = view(finding, Path(store.project), store.history(finding.id))
    return ActionResult(finding.to_json(), tuple(laid_out.lines()))


def _settle(store: ReviewStore, args: argparse.Namespace) -> ActionResult:
    state, text = _SETTLED[args.action]
    finding = settle(store, args.finding, state, " ".join(args.reason))
    return ActionResult(finding.to_json(), (f"{finding.id} {text.format(reason=finding.reason)}",))


_SETTLED: dict[str, tuple[FindingState, str]] = {
    "dismiss": ("dismissed", "is dismissed: {reason}"),
    "fixed": ("fixed", "is fixed; found again it counts as regressed."),
    "reopen": ("open", "is open."),
}


def _check(args: argparse.Namespace) -> ActionResult:
    # late: the other actions need no agent
    from swecli.app import build_runtime  # noqa: PLC0415
    from swecli.cli.startup import make_start  # noqa: PLC0415
    from swecli.headless.runner import refuse  # noqa: PLC0415
    from swecli.review.read.job import by_hand, check  # noqa: PLC0415

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
    changed = recheck(store, Path.cwd(), args.finding)
    lines = tuple(change_line(before, after) for before, after in changed)
    return ActionResult([after.to_json() for _, after in changed], lines or ("Nothing has changed.",))


def _export(store: ReviewStore, args: argparse.Namespace) -> ActionResult:
    findings = _chosen(store, args)
    if args.format == "markdown" and not args.json:
        return ActionResult(None, (as_markdown(findings, "Findings"),))
    value = as_sarif(findings) if args.format == "sarif" else as_json(findings)
    return ActionResult(value, (dumps(value, indent=2),))


_DOING = {"list": _list, "show": _show, "recheck": _recheck, "export": _export}
