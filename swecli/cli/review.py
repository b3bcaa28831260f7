"""Review changes, a branch, a commit, paths or the whole tree, and keep every finding."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from swecli.app import Runtime, build_runtime
from swecli.cli.output import print_line
from swecli.cli.startup import make_start, need_workspace
from swecli.cli.subcommands import add_common_flags, positive
from swecli.config.trust import project_root
from swecli.headless.reviews import ReviewWriter, plan_text, result_text, run_review
from swecli.headless.runner import refuse
from swecli.models.errors import SwecliError, UsageError
from swecli.models.finding import SEVERITIES
from swecli.models.review_events import ReviewFinished
from swecli.review.publish.posting import Wanted, need_token, plan_push
from swecli.review.read.job import ReviewOptions, begin_job, plan_for, planned
from swecli.review.read.run import Review
from swecli.store.reviews import ReviewStore

_FORMATS = ("text", "json", "markdown", "sarif", "seed", "stream-json")
_SEVERE, _INCOMPLETE, _FAILED = 1, 3, 4  # exit codes: a severe finding, not all was read or verified, it broke


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The target and the flags."""
    add = parser.add_argument
    add("target", nargs="*", metavar="TARGET", help="paths, a commit or a range A..B (default: uncommitted changes)")
    add("--staged", action="store_true", help="what is staged")
    add("--base", metavar="BRANCH", help="what changed since this branch")
    add("--pr", metavar="N", help="a pull request of this repository on GitHub")
    add("--post", action="store_true", help="with --pr: post the findings as comments; without --yes only show them")
    add("--yes", action="store_true", help="with --post: really post")
    add("--post-min", choices=SEVERITIES, default="medium", help="with --post: the least severity that is posted")
    add("--continue", action="store_true", dest="unfinished", help="continue the unfinished review")
    add(
        "--loops",
        metavar="N",
        dest="review_loops",
        type=positive,
        help="at most this many requests to the model (default 20)",
    )
    add("--format", choices=_FORMATS, default="", help="what is written to stdout (default text)")
    add("--output", metavar="FILE", help="write it to a file instead")
    add("--fail-on", choices=SEVERITIES, help="exit with 1 if an open finding is at least this severe")
    add(
        "--min-verdict",
        choices=("confirmed", "cannot_tell", "any"),
        default="confirmed",
        help="what a finding needs to fail CI, be posted or be in SARIF (default confirmed)",
    )
    add("--no-verify", action="store_true", help="do not check findings by fresh requests; implies --min-verdict any")
    add("--dry-run", action="store_true", help="print what would be read and what it may cost; no request is made")
    add("--allow-incomplete", action="store_true", help="exit with 0 although not everything was read")
    add("--include", metavar="PATTERN", action="append", default=[], help="review these files though a rule skips them")
    add("-m", "--model", metavar="PROVIDER/NAME", help="for example openai/gpt-4o, demo")
    add("--max-budget-usd", metavar="X", help="stop when it has cost this much")
    add("--allow-home", action="store_true", help="review also where the repository is your home folder, or above it")
    add_common_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Review. Raises SwecliError for what keeps it from beginning, or broke it off; findings are kept."""
    try:
        spec = None if args.unfinished else _spec(args)
        root = project_root(Path.cwd().resolve())
        need_workspace(root, allow_home=args.allow_home)
        if args.post and args.yes:
            need_token(os.environ)  # before anything is paid for
        with closing(build_runtime(make_start(args), refuse)) as runtime:
            return asyncio.run(_review(runtime, ReviewStore(runtime.sessions.database, str(root)), args, spec))
    except SwecliError as error:
        if error.exit_code == 1:
            error.exit_code = _FAILED
        raise


def _spec(args: argparse.Namespace) -> tuple[str, ...]:
    """The words that name the target. Raises UsageError where two targets are named."""
    named: list[tuple[str, ...]] = [("--staged",)] if args.staged else []
    named += [("--base", args.base)] if args.base is not None else []
    named += [("--pr", args.pr)] if args.pr is not None else []
    named += [tuple(args.target)] if args.target else []
    if len(named) > 1 or (named and args.unfinished):
        raise UsageError("A review has one target.", "Name paths, a commit, --staged, --base or --continue.")
    if args.post and args.pr is None:
        raise UsageError("--post goes with --pr.", "For example: swecli review --pr 12 --post")
    return named[0] if named else ()


async def _review(runtime: Runtime, store: ReviewStore, args: argparse.Namespace, spec: Sequence[str] | None) -> int:
    style = args.format or ("json" if args.json else "text")
    writer = ReviewWriter(sys.stdout, sys.stderr, stream=style == "stream-json")
    for line in runtime.opening_lines():
        writer.say(f"swecli: {line}")
    options = ReviewOptions(
        args.review_loops or 0, tuple(args.include), not args.no_verify, args.fail_on or "high", runtime.start.trusted
    )
    if args.dry_run:
        plan = await plan_for(runtime.agent, store, spec or (), options)  # no request is made
        head = [f"{plan.target.label}: {len(plan.target.files)} files", *plan.target.notes]
        print_line(plan_text(head, planned(plan), json=style in ("json", "stream-json")))
        return 0
    review = Review(await begin_job(runtime.agent, store, spec, options))
    end, stopped = await run_review(review, writer)
    code = stopped or _code(end, args)
    posted, problem = (0, 0), None
    if args.post and stopped:
        writer.say("swecli: The review was interrupted, so nothing was posted.")
    elif args.post and review.job.plan.target.pr is not None:
        try:
            posted = _post(review, end, args, writer)
        except SwecliError as error:  # the result is written first
            posted, problem = (0, sum(finding.is_open for finding in end.findings)), error
    text = result_text(end, style, code, _least(args), posted)
    if args.output and text:
        _to_file(Path(args.output), text)
    elif text:
        print_line(text.rstrip("\n"))
    if problem is not None:
        raise problem
    if not end.complete and not stopped and args.allow_incomplete:
        writer.say("swecli: The review is incomplete, and --allow-incomplete lets it pass.")
    return code


def _post(review: Review, end: ReviewFinished, args: argparse.Namespace, writer: ReviewWriter) -> tuple[int, int]:
    """Put findings on the pull request, or report what would be put there; how many were posted, how many not.

    Raises GitHubFailed, BadInput.
    """
    wanted = Wanted(_least(args), args.post_min, review.record.seen)
    push = plan_push(Path.cwd().resolve(), os.environ, review.job.plan.target, end, wanted)
    for line in push.send() if args.yes else [*push.lines, "nothing was posted: add --yes"]:
        writer.say(line)
    fresh = len(push.inline) + len(push.rest)
    return (fresh, 0) if args.yes else (0, fresh)


def _least(args: argparse.Namespace) -> str:
    """The verdict that counts."""
    return "any" if args.no_verify else str(args.min_verdict)


def _code(end: ReviewFinished, args: argparse.Namespace) -> int:
    """0 complete and nothing as severe as --fail-on, 1 such a finding, 3 incomplete; 1 wins."""
    failing = [finding for finding in end.findings if finding.is_open and finding.sure(_least(args))]
    if args.fail_on and any(finding.at_least(args.fail_on) for finding in failing):
        return _SEVERE
    return 0 if end.complete or args.allow_incomplete else _INCOMPLETE


def _to_file(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SwecliError(
            f"{path} cannot be written: {error.strerror}.", "The findings are kept: swecli findings export"
        ) from error
