"""`swecli review`: shows a review without a screen, for example in CI. What it does is in `actions/reviewing`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from swecli.actions.builtin.review import review
from swecli.cli.actions import ShellFace, add_arguments, run_action
from swecli.cli.flags import Parser, subcommand
from swecli.cli.logs import internal_error
from swecli.cli.subcommands import format_result, positive_int, write_file
from swecli.cli.workspace import working_folder
from swecli.models.action import ActionResult
from swecli.models.errors import BadInput, SwecliError
from swecli.models.events import Event, to_json
from swecli.models.json_value import dumps
from swecli.models.review_events import FindingsAccumulated, ReviewFinished


@subcommand
def _review(parser: Parser) -> None:
    """Add the review, and what a run without a session may set."""
    parser.description = f"{review.help}."
    add_arguments(parser, review)
    add = parser.add_argument
    loops = "at most this many requests to the model for a part of the code (default 20)"
    add("--loops", metavar="N", dest="review_loops", type=positive_int, help=loops)
    add("--output", metavar="FILE", help="write it to a file instead")
    add("--max-budget-usd", metavar="X", help="stop when it has cost this much")
    allow_home = "allow a repository that is your home folder or a parent of it"
    add("--allow-home", action="store_true", help=allow_home)
    parser.set_defaults(run=_run, whole_project=True)


def _run(args: argparse.Namespace) -> ActionResult | int:
    """Run the review. Raises SwecliError with the exit code of a review that could not be done."""
    # late: --help and usage errors need no review
    from swecli.review.publish.gate import FAILED

    try:
        return _write_review(args)
    except BrokenPipeError:
        raise
    except Exception as error:
        problem = error if isinstance(error, SwecliError) else internal_error(error)
        if problem.exit_code == 1:
            problem.exit_code = FAILED
        raise problem from error


def _write_review(args: argparse.Namespace) -> ActionResult | int:
    """Run the review, and write its result to the file if one is named."""
    is_streamed = args.format == "stream-json"
    file = None
    if args.output:
        file = working_folder(args.cwd) / Path(args.output).expanduser()
    if file is not None:
        checked_path = file if file.exists() else file.parent
        if file.is_dir() or not os.access(checked_path, os.W_OK):
            raise BadInput(
                f"{args.output} cannot be written.",
                "--output names a file in a folder that exists.",
            )
    result = run_action(review, args, ReviewFace(is_streamed=is_streamed))
    if is_streamed and not args.dry_run:
        return result.code  # its events are the result
    if file is None:
        return result
    write_file(
        file, format_result(result, args.json), "The findings are kept: swecli findings export"
    )
    return result.code


class ReviewFace(ShellFace):
    """Writes the events of a review as text to stderr, and if streamed also as JSON to stdout, one a line."""

    def __init__(self, *, is_streamed: bool = False) -> None:
        super().__init__()
        self._is_streamed = is_streamed

    def show(self, event: Event) -> None:
        # late: as above
        from swecli.review.publish.event_lines import format_event, format_incomplete
        from swecli.review.publish.view import row_view

        if self._is_streamed:
            sys.stdout.write(dumps(to_json(event)) + "\n")
            sys.stdout.flush()
        match event:
            case ReviewFinished():
                lines = [*(f"lost: {line}" for line in event.lost), *format_event(event)]
                if remainder := format_incomplete(event):
                    lines.append(remainder)
            case FindingsAccumulated():
                # the list on stdout has the rest
                lines = [f"found: {row_view(finding).headline}" for finding in event.findings]
            case _:
                lines = format_event(event)
        for line in lines:
            self.note(line)
