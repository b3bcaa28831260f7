"""`/review` and `swecli review`: review changes or files. What it does is in `actions/reviewing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swecli.models.action import Action, ActionResult, Flag, Invocation, Need, Words
from swecli.models.finding import SEVERITIES

if TYPE_CHECKING:  # the prompt completes the names of commands before these are loaded
    from swecli.app import Runtime

_FORMATS = ("text", "json", "markdown", "sarif", "seed", "stream-json")
_VERDICTS = ("confirmed", "cannot_tell", "any")
_COMPLETED = ("--staged", "--base", "--pr", "--continue", "--fix")
_FLAGS = (
    Flag("--staged", "staged changes"),
    Flag("--base", "changes since this branch", "BRANCH"),
    Flag("--pr", "a pull request of this repository on GitHub", "N"),
    Flag("--post", "with --pr: post the findings as comments; without --yes only show them"),
    Flag("--yes", "with --post: really post", in_session=False),
    Flag("--post-min", "with --post: the lowest severity to post", choices=SEVERITIES),
    Flag("--continue", "continue the unfinished review"),
    Flag("--fix", "let the agent repair this finding", "F-1", in_shell=False),
    Flag("--format", "output format (default text)", choices=_FORMATS, in_session=False),
    Flag(
        "--fail-on",
        "exit with 1 if an open finding is at least this severe",
        choices=SEVERITIES,
        in_session=False,
    ),
    Flag(
        "--min-verdict",
        "verdict a finding needs to fail CI, be posted or be in SARIF (default confirmed)",
        choices=_VERDICTS,
    ),
    Flag("--no-verify", "do not check findings in separate requests; implies --min-verdict any"),
    Flag("--prove", "show severe findings by scripts, run on both sides in the sandbox"),
    Flag("--dry-run", "print the plan and the estimated cost; no request is made"),
    Flag("--allow-incomplete", "exit with 0 even if not everything was read", in_session=False),
    Flag("--include", "review these files even if a rule skips them", "PATTERN", is_repeated=True),
)


@Action(
    Need.AGENT,
    Words(
        "[PATHS|COMMIT|A..B|--staged|--base B|--pr N [--post]|--continue|--fix F-1]",
        "paths, a commit or a range A..B (default: uncommitted changes)",
        shell_name="TARGET",
        is_quoted=True,
    ),
    _FLAGS,
    complete=lambda runtime: [
        *((flag.name, flag.about) for flag in _FLAGS if flag.name in _COMPLETED),
        (".", "the whole tree"),
    ],
)
async def review(runtime: Runtime, invocation: Invocation) -> ActionResult:
    """Review changes, a branch, a commit, paths or the whole tree, and keep every finding"""
    # late: most sessions review nothing
    from swecli.actions.reviewing import run_review

    return await run_review(runtime, invocation)
