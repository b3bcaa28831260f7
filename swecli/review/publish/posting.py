"""Findings as comments on a pull request: inline where GitHub takes them, else in the summary; none twice."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from swecli.models.coverage import Coverage
from swecli.models.errors import BadInput
from swecli.models.finding import Finding, worst_first
from swecli.redact import has_secret
from swecli.review.publish.exports import fenced, safe
from swecli.review.read.coverage import in_words
from swecli.review.target.diffs import FileDiff
from swecli.review.target.github import KEPT, GitHub, GitHubFailed, connect
from swecli.review.target.pull_request import pull_diffs
from swecli.review.target.targets import Target

LONGEST = 60_000  # characters of one comment; GitHub takes 65,536
MOST_INLINE = 10  # comments of one push; what is more stands in the summary
_MARK = re.compile(r"<!-- swecli ([0-9a-f]{6,40}) -->")


@dataclass(frozen=True, slots=True)
class Posting:
    """What would be posted: `inline` comments in the diff, `rest` for the summary, `known` are there already; `left` is
    what was not read."""

    number: int
    head: str
    inline: tuple[Finding, ...] = ()
    rest: tuple[Finding, ...] = ()
    known: int = 0
    left: str = ""


@dataclass(slots=True)
class Posted:
    """What came of it: findings `posted` and `failed`, a line for each failure."""

    posted: int = 0
    failed: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ready:
    """A posting that can be looked at and then sent."""

    github: GitHub
    posting: Posting
    diffs: Mapping[str, FileDiff]

    @property
    def lines(self) -> list[str]:
        """What would be posted."""
        return dry_run(self.posting, self.diffs)

    @property
    def anything(self) -> bool:
        """Whether there is something that is not there yet."""
        return bool(self.posting.inline or self.posting.rest)

    def send(self) -> list[str]:
        """Post it; what came of it, in lines. Raises as `send` does."""
        done = send(self.posting, self.github, self.diffs)
        return [*done.problems, f"{done.posted} posted, {done.failed} failed, {self.posting.known} there already"]


def make_ready(
    root: Path,
    target: Target,
    findings: Sequence[Finding],
    environ: Mapping[str, str],
    coverage: Coverage | None = None,
) -> Ready:
    """Look what is on the pull request already, and plan the rest. Raises GitHubFailed, BadInput."""
    github, number = connect(root, environ), target.pr or 0
    diffs = pull_diffs(github, number)
    posting = plan(findings, github, number, target.head, diffs)
    left = in_words(coverage) if coverage is not None and not coverage.complete else ""
    return Ready(github, replace(posting, left=left), diffs)


def need_token(environ: Mapping[str, str]) -> None:
    """Raises BadInput where nothing could be posted."""
    if not (environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN")):
        raise BadInput("There is no token for GitHub.", f"Set GITHUB_TOKEN. {KEPT}")


def plan(findings: Sequence[Finding], github: GitHub, number: int, head: str, diffs: Mapping[str, FileDiff]) -> Posting:
    """Sort the open findings: in the diff, outside of it, and there already by an earlier run. Raises GitHubFailed."""
    there = _there(github, number)
    fresh = sorted((f for f in findings if f.is_open and f.fingerprint not in there), key=worst_first)
    inline = [f for f in fresh if f.path in diffs and _in_diff(f, diffs[f.path])][:MOST_INLINE]
    kept = {f.fingerprint for f in inline}
    known = sum(f.is_open for f in findings) - len(fresh)
    return Posting(number, head, tuple(inline), tuple(f for f in fresh if f.fingerprint not in kept), known)


def _there(github: GitHub, number: int) -> set[str]:
    """The fingerprints that stand in comments and reviews of the pull request."""
    rows = [*github.pages(f"pulls/{number}/comments"), *github.pages(f"pulls/{number}/reviews")]
    return {mark for row in rows for mark in _MARK.findall(str(row.get("body") or ""))}


def _in_diff(finding: Finding, diff: FileDiff) -> bool:
    """GitHub takes a comment only where all of its lines stand in the diff's new side."""
    return finding.line in diff.lines


def _last(finding: Finding, diff: FileDiff) -> int:
    """Its last line, as far as the lines behind the first stand in the diff without a gap."""
    line = finding.line
    while line < (finding.end_line or line) and line + 1 in diff.lines:
        line += 1
    return line


def dry_run(posting: Posting, diffs: Mapping[str, FileDiff]) -> list[str]:
    """What would be posted, in lines."""
    lines = [f"inline {f.path}:{f.line} {f.code_smell_type} ({f.severity}): {f.message}" for f in posting.inline]
    lines += [f"summary {f.path}:{f.line} {f.code_smell_type} ({f.severity}): {f.message}" for f in posting.rest]
    return [*lines, f"{len(posting.inline)} inline, {len(posting.rest)} in the summary, {posting.known} there already"]


def send(posting: Posting, github: GitHub, diffs: Mapping[str, FileDiff]) -> Posted:
    """Post one review with its comments, never a comment by itself; where GitHub cannot use one, without them.

    Raises:
        BadInput: there is no token.
        GitHubFailed: nothing could be posted (401, 403, 404, a rate limit, no connection).
    """
    if not github.token:
        raise BadInput("There is no token for GitHub.", f"Set GITHUB_TOKEN. {KEPT}")
    done = Posted()
    inline = list(posting.inline)
    if not inline and not posting.rest:
        return done
    body = {"commit_id": posting.head, "event": "COMMENT", "body": summary(posting)}
    path = f"pulls/{posting.number}/reviews"
    try:
        github.post(path, body | {"comments": [comment(f, diffs[f.path]) for f in inline]})
    except GitHubFailed as error:
        if error.status != 422 or not inline:
            raise
        done.problems.append(f"no comment could stand at its line, all are in the summary: {error.message}")
        github.post(path, body | {"body": summary(replace(posting, inline=(), rest=(*posting.inline, *posting.rest)))})
    done.posted = len(inline) + len(posting.rest)
    return done


def comment(finding: Finding, diff: FileDiff) -> dict[str, Any]:
    """An inline comment as GitHub takes it; a suggestion block only where it replaces exactly these lines."""
    last = _last(finding, diff)
    whole = last == (finding.end_line or finding.line)
    parts = [f"**{safe(finding.code_smell_type)}** ({finding.severity}) {safe(finding.message)}"]
    parts += [safe(finding.improvement)] if finding.improvement else []
    taken = finding.suggestion and whole and not has_secret(finding.suggestion)
    parts += [fenced(finding.suggestion, "suggestion")] if taken else []
    parts += [f"_{safe(finding.doubt)}_"] if finding.doubt else []
    body = "\n\n".join(parts)[:LONGEST] + f"\n\n<!-- swecli {finding.fingerprint} -->"
    row: dict[str, Any] = {"path": finding.path, "body": body, "line": last, "side": "RIGHT"}
    return row | {"start_line": finding.line, "start_side": "RIGHT"} if last > finding.line else row


def summary(posting: Posting) -> str:
    """The review's own text: what was not read, counts, and folded in a table what has no comment of its own."""
    count = len(posting.inline) + len(posting.rest)
    lines = [f"**Incomplete:** {safe(posting.left)}\n"] if posting.left else []
    lines.append(
        f"swecli found {count} {'thing' if count == 1 else 'things'} to look at, {len(posting.inline)} of them inline."
    )
    if not posting.rest:
        return "\n".join(lines)
    lines += [f"\n<details><summary>{len(posting.rest)} more</summary>\n", "| place | type | severity | problem |"]
    lines.append("| --- | --- | --- | --- |")
    for finding in posting.rest:
        cells = [f"`{finding.place.replace('`', '')}`", safe(finding.code_smell_type), finding.severity]
        cells.append(f"{safe(finding.message)[:160]} <!-- swecli {finding.fingerprint} -->")
        row = " | ".join(cell.replace("|", "\\|") for cell in cells)
        if sum(map(len, lines)) + len(lines) + len(row) > LONGEST:
            lines.append("| … | | | and more |")
            break
        lines.append(f"| {row} |")
    return "\n".join([*lines, "\n</details>"])
