"""Review changes, a branch, a commit, paths or the whole tree, and keep every finding."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from swecli.cli.output import print_line
from swecli.cli.subcommands import add_common_flags, positive
from swecli.config.trust import project_root
from swecli.headless.plain import one_line
from swecli.models.errors import BadInput, SwecliError, UsageError
from swecli.models.finding import SEVERITIES, Finding

if TYPE_CHECKING:
    from swecli.app import Runtime
    from swecli.models.review_events import ReviewFinished
    from swecli.review.target.targets import Target
    from swecli.store.reviews import ReviewStore

FORMATS = ("text", "json", "markdown", "sarif", "stream-json")
SEVERE = 1  # exit code of --fail-on


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The target and the flags."""
    add = parser.add_argument
    add("target", nargs="*", metavar="TARGET", help="paths, a commit or a range A..B (default: uncommitted changes)")
    add("--staged", action="store_true", help="what is staged")
    add("--base", metavar="BRANCH", help="what changed since this branch")
    add("--pr", metavar="N", help="a pull request of this repository on GitHub")
    add(
        "--post", action="store_true", help="with --pr: put the findings there as comments; without --yes only say what"
    )
    add("--yes", action="store_true", help="with --post: really post")
    add("--continue", action="store_true", dest="go_on", help="go on with the review that was not finished")
    add("--loops", metavar="N", dest="review_loops", type=positive, help="requests to the model, at most (default 20)")
    add("--format", choices=FORMATS, default="", help="what is written to stdout (default text)")
    add("--output", metavar="FILE", help="write it to a file instead")
    add("--fail-on", choices=SEVERITIES, help="exit with 1 when an open finding is as severe as that")
    add("-m", "--model", metavar="PROVIDER/NAME", help="for example openai/gpt-4o, demo")
    add("--max-budget-usd", metavar="X", help="stop when it has cost this much")
    add("--allow-home", action="store_true", help="review also where the repository is your home folder, or above it")
    add_common_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Review. Raises SwecliError for what keeps it from beginning, or broke it off; findings are kept."""
    # late: --help and a wrong argument need neither model nor store
    from swecli.app import build_runtime  # noqa: PLC0415
    from swecli.cli.startup import make_start, need_workspace  # noqa: PLC0415
    from swecli.headless.runner import refuse  # noqa: PLC0415
    from swecli.review.target.pull_request import find_any  # noqa: PLC0415
    from swecli.store.reviews import ReviewStore  # noqa: PLC0415

    style = args.format or ("json" if args.json else "text")
    spec = _spec(args)
    root = Path.cwd().resolve()
    need_workspace(project_root(root), allow_home=args.allow_home)
    if args.post and args.yes:
        # late: see above
        from swecli.review.publish.posting import need_token  # noqa: PLC0415

        need_token(os.environ)  # before anything is paid for
    target = None if args.go_on else find_any(root, spec, os.environ)
    start = make_start(_as_run(args))
    runtime = build_runtime(start, refuse)
    try:
        store = ReviewStore(runtime.sessions.database, str(project_root(root)))
        end, code = asyncio.run(_review(runtime, store, target, style))
        text = _written(end, store, style)
        if args.output and text:
            _to_file(Path(args.output), text)
        elif text:
            print_line(text.rstrip("\n"))
        if args.post and target is not None and target.pr is not None and not code:
            post(root, target, end.findings, really=args.yes)
    finally:
        runtime.close()
    severe = args.fail_on and any(f.is_open and f.at_least(args.fail_on) for f in end.findings)
    return code or (SEVERE if severe else 0)


def _spec(args: argparse.Namespace) -> tuple[str, ...]:
    """The words that name the target. Raises UsageError where two targets are named."""
    named: list[tuple[str, ...]] = [("--staged",)] if args.staged else []
    named += [("--base", args.base)] if args.base is not None else []
    named += [("--pr", args.pr)] if args.pr is not None else []
    named += [tuple(args.target)] if args.target else []
    if len(named) > 1 or (named and args.go_on):
        raise UsageError("A review has one target.", "Name paths, a commit, --staged, --base or --continue.")
    if args.post and args.pr is None:
        raise UsageError("--post goes with --pr.", "For example: swecli review --pr 12 --post")
    return named[0] if named else ()


def post(root: Path, target: Target, findings: Sequence[Finding], *, really: bool) -> None:
    """Put findings on the pull request, or say what would be put there. Raises GitHubFailed, BadInput."""
    # late: see run
    from swecli.review.publish.posting import make_ready  # noqa: PLC0415

    ready = make_ready(root, target, findings, os.environ)
    lines = ready.send() if really else [*ready.lines, "nothing was posted: add --yes"]
    sys.stderr.write("".join(f"{one_line(line)}\n" for line in lines))


def _as_run(args: argparse.Namespace) -> argparse.Namespace:
    """The flags of a run, as far as a review has them."""
    blank = {"prompt": "", "window": None, "mode": None, "max_turns": None, "no_color": True}
    return argparse.Namespace(**blank | vars(args) | {"go_on": False, "resume": None, "cwd": None})


async def _review(
    runtime: Runtime, store: ReviewStore, target: Target | None, style: str
) -> tuple[ReviewFinished, int]:
    # late: see run
    from swecli.headless.reviews import ReviewWriter, run_review  # noqa: PLC0415
    from swecli.review.read.job import collaborators, new_job, old_job  # noqa: PLC0415
    from swecli.review.read.run import Review  # noqa: PLC0415
    from swecli.review.target.pull_request import find_any  # noqa: PLC0415

    agent, writer = runtime.agent, ReviewWriter(sys.stdout, sys.stderr, stream=style == "stream-json")
    for line in (*runtime.start.notices, *runtime.notices):
        writer.say(f"swecli: {line}")
    if agent.model.profile.offline and not runtime.settings.model:
        writer.say(f"swecli: The {runtime.start.choice.name} model reviews: {runtime.start.choice.why}.")
    if target is None:
        record = store.unfinished()
        if record is None:
            raise BadInput("There is no review to go on with.", "Begin one: swecli review")
        job = old_job(agent, find_any(project_root(agent.ctx.root), record.spec, os.environ), record)
    else:
        job = await new_job(agent, target, store, trusted=runtime.start.trusted)
    return await run_review(Review(job, collaborators(agent, job, store)), writer)


def _written(end: ReviewFinished, store: ReviewStore, style: str) -> str:
    """The result in that format; "" where it was streamed."""
    # late: see run
    from swecli.headless.plain import dumps  # noqa: PLC0415
    from swecli.headless.reviews import line_of  # noqa: PLC0415
    from swecli.models.events import to_json  # noqa: PLC0415
    from swecli.review.publish.exports import as_markdown  # noqa: PLC0415
    from swecli.review.publish.sarif import as_sarif  # noqa: PLC0415

    if style == "json":
        return dumps(to_json(end), indent=2)
    if style == "markdown":
        return as_markdown(end.findings)
    if style == "sarif":
        return dumps(as_sarif(end.findings), indent=2)
    return "" if style == "stream-json" else "\n".join(line_of(f) for f in end.findings) or "No findings."


def _to_file(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SwecliError(
            f"{path} cannot be written: {error.strerror}.", "The findings are kept: swecli findings export"
        ) from error
