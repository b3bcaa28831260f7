"""`swecli review`: its flags. What it does is in `reviewing`."""

from __future__ import annotations

import argparse

from swecli.cli.flags import Parser, subcommand
from swecli.cli.subcommands import positive_int
from swecli.llm import default_models
from swecli.models.finding import SEVERITIES

_FORMATS = ("text", "json", "markdown", "sarif", "seed", "stream-json")


@subcommand
def _review(parser: Parser) -> None:
    """Review changes, a branch, a commit, paths or the whole tree, and keep every finding."""
    add = parser.add_argument
    add(
        "target",
        nargs="*",
        metavar="TARGET",
        help="paths, a commit or a range A..B (default: uncommitted changes)",
    )
    add("--staged", action="store_true", help="staged changes")
    add("--base", metavar="BRANCH", help="changes since this branch")
    add("--pr", metavar="N", help="a pull request of this repository on GitHub")
    add(
        "--post",
        action="store_true",
        help="with --pr: post the findings as comments; without --yes only show them",
    )
    add("--yes", action="store_true", help="with --post: really post")
    add(
        "--post-min",
        choices=SEVERITIES,
        default="medium",
        help="with --post: the lowest severity to post",
    )
    add("--continue", action="store_true", dest="unfinished", help="continue the unfinished review")
    loops = "at most this many requests to the model for a part of the code (default 20)"
    add("--loops", metavar="N", dest="review_loops", type=positive_int, help=loops)
    add("--format", choices=_FORMATS, default="", help="output format (default text)")
    add("--output", metavar="FILE", help="write it to a file instead")
    add(
        "--fail-on",
        choices=SEVERITIES,
        help="exit with 1 if an open finding is at least this severe",
    )
    least = "verdict a finding needs to fail CI, be posted or be in SARIF (default confirmed)"
    add(
        "--min-verdict",
        choices=("confirmed", "cannot_tell", "any"),
        default="confirmed",
        help=least,
    )
    add(
        "--no-verify",
        action="store_true",
        help="do not check findings in separate requests; implies --min-verdict any",
    )
    add(
        "--dry-run",
        action="store_true",
        help="print the plan and the estimated cost; no request is made",
    )
    add(
        "--allow-incomplete",
        action="store_true",
        help="exit with 0 even if not everything was read",
    )
    add(
        "--include",
        metavar="PATTERN",
        action="append",
        default=[],
        help="review these files even if a rule skips them",
    )
    add("-m", "--model", metavar="PROVIDER/NAME", help=default_models.EXAMPLES)
    add("--max-budget-usd", metavar="X", help="stop when it has cost this much")
    add(
        "--allow-home",
        action="store_true",
        help="allow a repository that is your home folder or a parent of it",
    )
    parser.set_defaults(run=_run, whole_project=True)


def _run(args: argparse.Namespace) -> int:
    # late: help and completion need the flags alone
    from swecli.cli.reviewing import run

    return run(args)
