"""Review changes, a branch, a commit, paths or the whole tree, and keep every finding."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.output import print_line
from swecli.cli.subcommands import add_common_flags, positive
from swecli.config.trust import project_root
from swecli.headless.plain import one_line
from swecli.models.errors import SwecliError, UsageError
from swecli.models.finding import SEVERITIES

if TYPE_CHECKING:
    from swecli.agent.agent import Agent
    from swecli.app import Runtime
    from swecli.models.review_events import ReviewFinished
    from swecli.review.read.job import ReviewOptions
    from swecli.review.read.run import Review
    from swecli.store.reviews import ReviewStore

FORMATS = ("text", "json", "markdown", "sarif", "seed", "stream-json")
SEVERE, INCOMPLETE, FAILED = 1, 3, 4  # exit codes: a severe finding, not all was read or verified, it broke


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
    add("--format", choices=FORMATS, default="", help="what is written to stdout (default text)")
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
        return _run(args)
    except SwecliError as error:
        if error.exit_code == 1:
            error.exit_code = FAILED
        raise


def _run(args: argparse.Namespace) -> int:
    # late: --help and a wrong argument need neither model nor store
    from swecli.app import build_runtime  # noqa: PLC0415
    from swecli.cli.startup import make_start, need_workspace  # noqa: PLC0415
    from swecli.headless.runner import refuse  # noqa: PLC0415
    from swecli.store.reviews import ReviewStore  # noqa: PLC0415

    spec = None if args.unfinished else _spec(args)
    root = Path.cwd().resolve()
    need_workspace(project_root(root), allow_home=args.allow_home)
    if args.post and args.yes:
        # late: see above
        from swecli.review.publish.posting import need_token  # noqa: PLC0415

        need_token(os.environ)  # before anything is paid for
    with closing(build_runtime(make_start(args), refuse)) as runtime:
        store = ReviewStore(runtime.sessions.database, str(project_root(root)))
        return asyncio.run(_review(runtime, store, args, spec))


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


def post(review: Review, end: ReviewFinished, args: argparse.Namespace) -> tuple[int, int]:
    """Put findings on the pull request, or report what would be put there; how many were posted, how many not.

    Raises GitHubFailed, BadInput.
    """
    # late: see run
    from swecli.review.publish.posting import Wanted, plan_push  # noqa: PLC0415

    wanted = Wanted(_least(args), args.post_min, review.record.seen)
    push = plan_push(Path.cwd().resolve(), os.environ, review.job.plan.target, end, wanted)
    lines = push.send() if args.yes else [*push.lines, "nothing was posted: add --yes"]
    sys.stderr.write("".join(f"{one_line(line)}\n" for line in lines))
    fresh = len(push.inline) + len(push.rest)
    return (fresh, 0) if args.yes else (0, fresh)


async def _review(runtime: Runtime, store: ReviewStore, args: argparse.Namespace, spec: Sequence[str] | None) -> int:
    # late: see _run
    from swecli.headless.reviews import ReviewWriter, result_text, run_review  # noqa: PLC0415
    from swecli.review.read.job import ReviewOptions, begin_job  # noqa: PLC0415
    from swecli.review.read.run import Review  # noqa: PLC0415

    style = args.format or ("json" if args.json else "text")
    agent, writer = runtime.agent, ReviewWriter(sys.stdout, sys.stderr, stream=style == "stream-json")
    for line in runtime.opening_lines():
        writer.say(f"swecli: {line}")
    options = ReviewOptions(
        args.review_loops or 0, tuple(args.include), not args.no_verify, args.fail_on or "high", runtime.start.trusted
    )
    if args.dry_run:
        return await _dry_run(agent, store, spec or (), options, json=style in ("json", "stream-json"))
    job = await begin_job(agent, store, spec, options)
    review = Review(job)
    end, stopped = await run_review(review, writer)
    code = stopped or _code(end, args)
    posted, problem = (0, 0), None
    if args.post and review.job.plan.target.pr is not None and not stopped:
        try:
            posted = post(review, end, args)
        except SwecliError as error:  # the result is written first
            posted, problem = (0, sum(finding.is_open for finding in end.findings)), error
    elif args.post and stopped:
        writer.say("swecli: The review was interrupted, so nothing was posted.")
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


async def _dry_run(agent: Agent, store: ReviewStore, spec: Sequence[str], options: ReviewOptions, *, json: bool) -> int:
    """Print what a review would read and take; no request is made."""
    # late: see _run
    from swecli.headless.plain import dumps  # noqa: PLC0415
    from swecli.models.events import to_json  # noqa: PLC0415
    from swecli.review.publish.view import planned_lines  # noqa: PLC0415
    from swecli.review.read.job import plan_for, planned  # noqa: PLC0415

    plan = await plan_for(agent, store, spec, options)
    event, target = planned(plan), plan.target
    lines = [f"{target.label}: {len(target.files)} files", *target.notes, *planned_lines(event)]
    print_line(dumps(to_json(event), indent=2) if json else "\n".join(map(one_line, lines)))
    return 0


def _least(args: argparse.Namespace) -> str:
    """The verdict that counts."""
    return "any" if args.no_verify else str(args.min_verdict)


def _code(end: ReviewFinished, args: argparse.Namespace) -> int:
    """0 complete and nothing as severe as --fail-on, 1 such a finding, 3 incomplete; 1 wins."""
    severe = [
        f for f in end.findings if f.is_open and args.fail_on and f.at_least(args.fail_on) and f.sure(_least(args))
    ]
    if severe:
        return SEVERE
    return 0 if end.complete or args.allow_incomplete else INCOMPLETE


def _to_file(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SwecliError(
            f"{path} cannot be written: {error.strerror}.", "The findings are kept: swecli findings export"
        ) from error
