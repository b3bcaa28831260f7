"""`swecli review`: a review without a screen, as CI runs it."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import aclosing, closing
from pathlib import Path

from swecli.app import Runtime, build_runtime
from swecli.cli.flags import Parser
from swecli.cli.startup import internal_error, make_start, need_workspace
from swecli.cli.subcommands import positive, print_line, write_file
from swecli.config.paths import project_root
from swecli.headless.plain import dumps, one_line
from swecli.headless.runner import refuse, until_signal
from swecli.models.errors import SwecliError, UsageError
from swecli.models.events import Event, to_json
from swecli.models.finding import SEVERITIES, pluralize
from swecli.models.learning_events import describe_event
from swecli.models.review_events import FindingsAccumulated, ReviewEvent, ReviewFinished
from swecli.repl.actions.findings import open_store
from swecli.review.publish.exports import as_markdown, as_sarif, as_seed
from swecli.review.publish.posting import plan_push, require_token
from swecli.review.publish.view import format_event, format_plan, row_view
from swecli.review.read.job import ReviewOptions, begin_job, plan_review, planned_event
from swecli.review.read.run import Review


def write_event(event: Event, *, stream: bool = False) -> None:
    """A review's event as lines for people on stderr, with `stream` as one JSON object on stdout, too."""
    if stream:
        sys.stdout.write(dumps(to_json(event)) + "\n")
        sys.stdout.flush()
    match event:
        case ReviewFinished():
            found = f"{pluralize(event.unique, 'finding')} of {pluralize(event.total, 'report')}"
            lines = [*(f"lost: {line}" for line in event.lost)]
            lines += [f"{event.end}: {found} in {pluralize(event.loops, 'loop')}", *format_event(event)]
            lines += [] if event.complete else ["the review is incomplete: what was not read may hold more"]
        case FindingsAccumulated():
            lines = [f"found: {row_view(finding).line}" for finding in event.findings]
        case ReviewEvent():
            lines = format_event(event)
        case _:
            lines = [line] if (line := describe_event(event)) else []
    for line in lines:
        _note(line)


def _note(text: str) -> None:
    sys.stderr.write(one_line(text) + "\n")
    sys.stderr.flush()


def _result_text(
    end: ReviewFinished, style: str, code: int, least: str = "any", posted: tuple[int, int] = (0, 0)
) -> str:
    """The result in that format; "" where it was streamed. `code` is what the program will exit with, `least` the
    verdict that a result of SARIF needs, `posted` how many findings were posted and how many could not be."""
    if style == "seed":
        return dumps(as_seed(end, *posted), indent=2)
    if style == "json":
        return dumps(to_json(end), indent=2)
    if style == "markdown":
        return as_markdown(end.findings, end=end)
    if style == "sarif":
        return dumps(as_sarif([finding for finding in end.findings if finding.has_verdict(least)], end, code), indent=2)
    shown = [row_view(finding).line for finding in end.findings if finding.state != "refuted"]
    nothing = "No findings." if end.complete else "No findings in what was read; the review is incomplete."
    return "" if style == "stream-json" else "\n".join(shown) or nothing


async def _run_review(review: Review, *, stream: bool) -> tuple[ReviewFinished, int]:
    """Run it to its end; a signal ends it with what it has. Returns the sum, and 0 or 128 and the signal's number."""

    async def whole() -> ReviewFinished:
        async with aclosing(review.run()) as events:
            async for event in events:
                write_event(event, stream=stream)
        return review.finish("done")

    end, stopped = await until_signal(whole())
    if end is None:
        end = review.finish("interrupted")
        write_event(end, stream=stream)
    return end, stopped


_FORMATS = ("text", "json", "markdown", "sarif", "seed", "stream-json")
_SEVERE, _INCOMPLETE, _FAILED = 1, 3, 4  # exit codes: a severe finding, not all was read or verified, it broke


def review(parser: Parser) -> None:
    """Review changes, a branch, a commit, paths or the whole tree, and keep every finding."""
    add = parser.add_argument
    add("target", nargs="*", metavar="TARGET", help="paths, a commit or a range A..B (default: uncommitted changes)")
    add("--staged", action="store_true", help="what is staged")
    add("--base", metavar="BRANCH", help="what changed since this branch")
    add("--pr", metavar="N", help="a pull request of this repository on GitHub")
    add("--post", action="store_true", help="with --pr: post the findings as comments; without --yes only show them")
    add("--yes", action="store_true", help="with --post: really post")
    add("--post-min", choices=SEVERITIES, default="medium", help="with --post: the least severity that is posted")
    add("--continue", action="store_true", dest="unfinished", help="continue the unfinished review")
    loops = "at most this many requests to the model (default 20)"
    add("--loops", metavar="N", dest="review_loops", type=positive, help=loops)
    add("--format", choices=_FORMATS, default="", help="what is written to stdout (default text)")
    add("--output", metavar="FILE", help="write it to a file instead")
    add("--fail-on", choices=SEVERITIES, help="exit with 1 if an open finding is at least this severe")
    least = "what a finding needs to fail CI, be posted or be in SARIF (default confirmed)"
    add("--min-verdict", choices=("confirmed", "cannot_tell", "any"), default="confirmed", help=least)
    add("--no-verify", action="store_true", help="do not check findings by fresh requests; implies --min-verdict any")
    add("--dry-run", action="store_true", help="print what would be read and what it may cost; no request is made")
    add("--allow-incomplete", action="store_true", help="exit with 0 although not everything was read")
    add("--include", metavar="PATTERN", action="append", default=[], help="review these files though a rule skips them")
    add("-m", "--model", metavar="PROVIDER/NAME", help="for example openai/gpt-4o, demo")
    add("--max-budget-usd", metavar="X", help="stop when it has cost this much")
    add("--allow-home", action="store_true", help="review also where the repository is your home folder, or above it")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    """Review. Raises SwecliError for what keeps it from beginning, or broke it off; findings are kept."""
    try:
        spec = None if args.unfinished else _spec(args)
        need_workspace(project_root(Path.cwd().resolve()), allow_home=args.allow_home)
        if args.post and args.yes:
            require_token(os.environ)  # before anything is paid for
        with closing(build_runtime(make_start(args), refuse)) as runtime:
            return asyncio.run(_review(runtime, args, spec))
    except BrokenPipeError:
        raise
    except Exception as error:
        failed = error if isinstance(error, SwecliError) else internal_error(error)
        if failed.exit_code == 1:
            failed.exit_code = _FAILED
        raise failed from error


def _spec(args: argparse.Namespace) -> tuple[str, ...]:
    named: list[tuple[str, ...]] = [("--staged",)] if args.staged else []
    named += [("--base", args.base)] if args.base is not None else []
    named += [("--pr", args.pr)] if args.pr is not None else []
    named += [tuple(args.target)] if args.target else []
    if len(named) > 1 or (named and args.unfinished):
        raise UsageError("A review has one target.", "Name paths, a commit, --staged, --base or --continue.")
    if args.post and args.pr is None:
        raise UsageError("--post goes with --pr.", "For example: swecli review --pr 12 --post")
    return named[0] if named else ()


async def _review(runtime: Runtime, args: argparse.Namespace, spec: Sequence[str] | None) -> int:
    store = open_store(runtime.sessions, Path.cwd())
    style = args.format or ("json" if args.json else "text")
    for line in runtime.opening_lines():
        _note(f"swecli: {line}")
    options = ReviewOptions(
        args.review_loops or 0, tuple(args.include), not args.no_verify, args.fail_on or "high", runtime.start.trusted
    )
    if args.dry_run:
        plan = await plan_review(runtime.agent, store, spec or (), options)  # no request is made
        head = [f"{plan.target.label}: {pluralize(len(plan.target.files), 'file')}", *plan.target.notes]
        event = planned_event(plan)
        lines = "\n".join(map(one_line, [*head, *format_plan(event)]))
        print_line(dumps(to_json(event), indent=2) if style in ("json", "stream-json") else lines)
        return 0
    review = Review(await begin_job(runtime.agent, store, spec, options))
    end, stopped = await _run_review(review, stream=style == "stream-json")
    code = stopped or _code(end, args)
    posted, problem = (0, 0), None
    if args.post and stopped:
        _note("swecli: The review was interrupted, so nothing was posted.")
    elif args.post and review.job.plan.target.pr is not None:
        try:
            posted = _post(review, end, args)
        except SwecliError as error:  # the result is written first
            posted, problem = (0, sum(finding.is_open for finding in end.findings)), error
    text = _result_text(end, style, code, _least(args), posted)
    if args.output and text:
        write_file(Path(args.output), text, "The findings are kept: swecli findings export")
    elif text:
        print_line(text.rstrip("\n"))
    if problem is not None:
        raise problem
    if not end.complete and not stopped and args.allow_incomplete:
        _note("swecli: The review is incomplete, and --allow-incomplete lets it pass.")
    return code


def _post(review: Review, end: ReviewFinished, args: argparse.Namespace) -> tuple[int, int]:
    """Put findings on the pull request, or report what would be put there; how many were posted, how many not. Raises
    GitHubError, BadInput."""
    push = plan_push(review.job.plan.target, end, review.record.seen, _least(args), args.post_min)
    for line in push.post() if args.yes else [*push.lines, "nothing was posted: add --yes"]:
        _note(line)
    fresh = len(push.inline) + len(push.rest)
    return (fresh, 0) if args.yes else (0, fresh)


def _least(args: argparse.Namespace) -> str:
    return "any" if args.no_verify else str(args.min_verdict)


def _code(end: ReviewFinished, args: argparse.Namespace) -> int:
    """0 complete and nothing as severe as --fail-on, 1 such a finding, 3 incomplete; 1 wins."""
    failing = [finding for finding in end.findings if finding.is_open and finding.has_verdict(_least(args))]
    if args.fail_on and any(finding.at_least(args.fail_on) for finding in failing):
        return _SEVERE
    return 0 if end.complete or args.allow_incomplete else _INCOMPLETE
