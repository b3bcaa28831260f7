"""Run `swecli review`, without a screen, for example in CI."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable, Sequence
from functools import partial

from swecli.actions.builtin.findings import open_store
from swecli.actions.reviewing import begin_review, follow
from swecli.cli.logs import internal_error
from swecli.cli.subcommands import named_file, open_runtime, print_line, write_file
from swecli.headless.plain import LONGEST_LINE, dumps
from swecli.headless.runner import refuse_unpriced
from swecli.headless.signals import until_signal
from swecli.models.counts import pluralize
from swecli.models.errors import BadInput, SwecliError, UsageError
from swecli.models.events import Event, to_json
from swecli.models.finding import Finding
from swecli.models.review_events import FindingsAccumulated, ReviewFinished
from swecli.review.publish.event_lines import format_event, format_incomplete
from swecli.review.publish.gate import Gate
from swecli.review.publish.posting import as_markdown, as_seed, plan_push, require_token
from swecli.review.publish.sarif import as_sarif
from swecli.review.publish.view import row_view
from swecli.review.read.job import ReviewOptions, plan_review
from swecli.review.read.run import Review
from swecli.text import one_line


def write_event(event: Event, *, stream: bool = False) -> None:
    """Write an event as text to stderr, and with `stream` also as a JSON object to stdout."""
    if stream:
        sys.stdout.write(dumps(to_json(event)) + "\n")
        sys.stdout.flush()
    match event:
        case ReviewFinished():
            lines = [*(f"lost: {line}" for line in event.lost), *format_event(event)]
            if left := format_incomplete(event):
                lines.append(left)
        case FindingsAccumulated():
            lines = [f"found: {row_view(finding).line}" for finding in event.findings]
        case _:
            lines = format_event(event)
    for line in lines:
        _print_note(line)


def _print_note(text: str) -> None:
    sys.stderr.write(one_line(text, LONGEST_LINE) + "\n")
    sys.stderr.flush()


def _render_result(
    end: ReviewFinished, style: str, code: int, gate: Gate, posted: tuple[int, int]
) -> str:
    """Render the result in a format; "" for stream-json. `code` is the exit code, `gate` says what counts, `posted` are
    the numbers of findings posted and not posted."""
    if style == "seed":
        return dumps(as_seed(end, *posted), indent=2)
    if style == "json":
        return dumps(to_json(end), indent=2)
    if style == "markdown":
        return as_markdown(end.findings, end=end)
    if style == "sarif":
        return dumps(
            as_sarif(
                [finding for finding in end.findings if finding.has_verdict(gate.least)],
                end,
                code,
                gate,
            ),
            indent=2,
        )
    shown = [row_view(finding).line for finding in end.findings if finding.state != "refuted"]
    nothing = (
        "No findings." if end.coverage.total else "No findings: the change has no code to read."
    )
    nothing = nothing if end.complete else "No findings in what was read; the review is incomplete."
    return "" if style == "stream-json" else "\n".join(shown) or nothing


async def _run_review(review: Review, *, stream: bool) -> tuple[ReviewFinished, int]:
    """Run a review until it ends or a signal stops it. Return the result and 0, or 128 plus the signal's number."""

    end, stopped = await until_signal(follow(review, partial(write_event, stream=stream)))
    return end or review.finish("interrupted"), stopped


_SEVERE, _INCOMPLETE, _FAILED = 1, 3, 4  # exit codes: severe finding, incomplete, error
_MAX_NAMED = 10  # findings that fail a review and are named in one line


def run(args: argparse.Namespace) -> int:
    """Run the review. Raises SwecliError if it cannot begin or fails; findings are stored."""
    try:
        return asyncio.run(_review_target(args, None if args.unfinished else _parse_target(args)))
    except BrokenPipeError:
        raise
    except Exception as error:
        failed = error if isinstance(error, SwecliError) else internal_error(error)
        if failed.exit_code == 1:
            failed.exit_code = _FAILED
        raise failed from error


def _parse_target(args: argparse.Namespace) -> tuple[str, ...]:
    named: list[tuple[str, ...]] = [("--staged",)] if args.staged else []
    named += [("--base", args.base)] if args.base is not None else []
    named += [("--pr", args.pr)] if args.pr is not None else []
    named += [tuple(args.target)] if args.target else []
    if len(named) > 1 or (named and args.unfinished):
        raise UsageError(
            "A review has one target.", "Name paths, a commit, --staged, --base or --continue."
        )
    if args.post and args.pr is None:
        raise UsageError("--post needs --pr.", "For example: swecli review --pr 12 --post")
    return named[0] if named else ()


async def _review_target(args: argparse.Namespace, spec: Sequence[str] | None) -> int:
    style = args.format or ("json" if args.json else "text")
    if args.post and args.yes:
        require_token(os.environ)  # before any cost
    if args.output:
        file = named_file(args, args.output)
        if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
            raise BadInput(
                f"{args.output} cannot be written.",
                "--output names a file in a folder that exists.",
            )
    args.min_verdict = "any" if args.no_verify else args.min_verdict
    with open_runtime(args) as runtime:
        agent = runtime.agent
        store = open_store(runtime.sessions, runtime.cwd)
        refuse_unpriced(agent.model, runtime.settings)
        for line in runtime.opening_lines():
            _print_note(f"swecli: {line}")
        options = ReviewOptions(
            include=tuple(args.include),
            verify=not args.no_verify,
            fail_on=args.fail_on or "high",
            trusted=runtime.start.trusted,
        )
        if args.dry_run:
            plan = await asyncio.to_thread(
                plan_review, agent, store, spec or (), options
            )  # no request is made
            plan.target.sources.close()
            event, count = plan.to_event(), len(plan.target.files)
            lines = [
                f"{plan.target.label}: {pluralize(count, 'file')}",
                *plan.target.notes,
                *format_event(event),
            ]
            as_json = style in ("json", "stream-json")
            print_line(
                dumps(to_json(event), indent=2)
                if as_json
                else "\n".join(one_line(line, LONGEST_LINE) for line in lines)
            )
            return 0
        review = await begin_review(runtime, spec, options)
        end, stopped = await _run_review(review, stream=style == "stream-json")
        return _finish(review, end, stopped, args, style)


def _finish(
    review: Review, end: ReviewFinished, stopped: int, args: argparse.Namespace, style: str
) -> int:
    """Post the findings, write the result and return the exit code."""
    gate = _make_gate(args)
    code = stopped or _exit_code(end, gate, is_incomplete_allowed=args.allow_incomplete)
    if failing := gate.describe(end.findings):
        _print_note(f"swecli: {failing}: {_name(filter(gate.fails, end.findings))}")
    posted = (0, 0)
    problem: SwecliError | None = None
    if args.post and stopped:
        _print_note("swecli: The review was interrupted, so nothing was posted.")
    elif args.post and review.job.plan.target.pr is not None:
        try:
            posted = _post(review, end, gate, is_real=args.yes)
        except SwecliError as error:
            posted = (0, sum(finding.is_open for finding in end.findings))
            problem = error  # the result is written first
    text = _render_result(end, style, code, gate, posted)
    if args.output and text:
        write_file(
            named_file(args, args.output), text, "The findings are kept: swecli findings export"
        )
    elif text:
        print_line(text.rstrip("\n"))
    if problem is not None:
        raise problem
    if not end.complete and not stopped and args.allow_incomplete:
        _print_note("swecli: The review is incomplete, and --allow-incomplete lets it pass.")
    return code


def _post(review: Review, end: ReviewFinished, gate: Gate, *, is_real: bool) -> tuple[int, int]:
    """Post findings on the pull request, or if it is not real report what would be posted. Return how many were posted
    and how many were not. Raises GitHubError, BadInput."""
    push = plan_push(review.job.plan.target, end, review.record.seen, gate)
    for line in push.post() if is_real else [*push.lines, "nothing was posted: add --yes"]:
        _print_note(line)
    fresh = len(push.inline) + len(push.rest)
    return (fresh, 0) if is_real else (0, fresh)


def _make_gate(args: argparse.Namespace) -> Gate:
    return Gate(args.min_verdict, args.fail_on or "", args.post_min)


def _name(findings: Iterable[Finding]) -> str:
    """Return the first ids of some findings in a line."""
    ids = [finding.id for finding in findings]
    more = ", …" if len(ids) > _MAX_NAMED else ""
    return f"{', '.join(ids[:_MAX_NAMED])}{more}"


def _exit_code(end: ReviewFinished, gate: Gate, *, is_incomplete_allowed: bool) -> int:
    """Return 1 for a finding that fails the review, else 3 if it is incomplete, else 0."""
    if any(map(gate.fails, end.findings)):
        return _SEVERE
    return 0 if end.complete or is_incomplete_allowed else _INCOMPLETE
