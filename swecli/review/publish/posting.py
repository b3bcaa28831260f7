"""One push of a pull request: at most one review of the worst findings, replies where something was fixed, and one
summary comment that is edited in place and carries the state to the next push."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.finding import Finding, pluralize, worst_first
from swecli.models.review_events import ReviewFinished
from swecli.redact import has_secret
from swecli.review.publish.exports import escape_markdown, fence_code
from swecli.review.publish.view import format_coverage, row_view
from swecli.review.target.diffs import FileDiff
from swecli.review.target.github import KEPT_HINT, GitHub, GitHubError, pack_state
from swecli.review.target.targets import Target

_LONGEST = 28_000  # characters of the summary's table; GitHub takes 65,536, and the state stands behind it
MAX_INLINE = 10  # comments of one push; what is more stands in the summary
_MARK = re.compile(r"<!-- swecli(-fixed)? ([0-9a-f]{6,40}) -->")
_THREADS = """query($owner: String!, $name: String!, $number: Int!, $after: String) { repository(owner: $owner,
name: $name) { pullRequest(number: $number) { reviewThreads(first: 100, after: $after) { pageInfo { hasNextPage
endCursor } nodes { id isResolved comments(first: 1) { nodes { databaseId } } } } } } }"""
_RESOLVE = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"


@dataclass(frozen=True, slots=True)
class Push:
    """What one push puts on a pull request: `inline` comments in the diff, `rest` in the table of the summary, `fixed`
    findings with the ids of their comments; `known` have a comment already."""

    github: GitHub
    target: Target
    end: ReviewFinished
    read: tuple[str, ...]
    inline: tuple[Finding, ...] = ()
    rest: tuple[Finding, ...] = ()
    known: tuple[Finding, ...] = ()
    fixed: tuple[tuple[Finding, int], ...] = ()
    problems: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        lists = [("inline", self.inline), ("summary", self.rest), ("fixed", [f for f, _ in self.fixed])]
        lines = [f"{name} {row_view(finding).line}" for name, listed in lists for finding in listed]
        return [*lines, self._counts()]

    def _counts(self) -> str:
        counts = f"{len(self.inline)} inline, {len(self.rest)} in the summary, {len(self.fixed)} fixed"
        return f"{counts}, {len(self.known)} there already"

    @property
    def anything(self) -> bool:
        """Whether something would change on the pull request."""
        return bool(self.inline or self.fixed) or summary(self) != self.target.earlier.body

    def send(self) -> list[str]:
        """Post it; what came of it, in lines. Where GitHub cannot use a comment, all stand in the summary. Raises
        BadInput without a token, GitHubError where nothing could be posted."""
        require_token({"GITHUB_TOKEN": self.github.token})
        if not self.anything:
            return [*self.problems, f"nothing new, {len(self.known)} there already"]
        done = self
        if self.inline:
            try:
                self.github.send("POST", f"pulls/{self.target.pr}/reviews", _review(self))
            except GitHubError as error:
                if error.status != 422:
                    raise
                done = replace(self, inline=(), rest=(*self.inline, *self.rest))
                self.problems.append(f"no comment could stand at its line, all are in the summary: {error.message}")
        _close(done)
        comment, text = self.target.earlier.comment, summary(done)
        where = f"issues/comments/{comment}" if comment else f"issues/{self.target.pr}/comments"
        self.github.send("PATCH" if comment else "POST", where, {"body": text})
        return [*self.problems, f"posted: {done._counts()}"]


def require_token(environ: Mapping[str, str]) -> None:
    """Raises BadInput where nothing could be posted."""
    if not (environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN")):
        raise BadInput("There is no token for GitHub.", f"Set GITHUB_TOKEN. {KEPT_HINT}")


def plan_push(
    target: Target, end: ReviewFinished, read: Sequence[str], least: str = "confirmed", post_min: str = "medium"
) -> Push:
    """Sort the findings that have at least the verdict `least` (confirmed, cannot_tell, any) and the severity
    `post_min`: new ones in the diff and outside of it, those with a comment, and fixed ones with one. What was found
    late in code that was read before is posted only when it is critical. `read` are the digests of the hunks that the
    review has read. Raises GitHubError."""
    github, number = target.github, target.pr or 0
    assert github is not None, "a pull request is on GitHub"
    diffs, there, replied = target.diffs, dict[str, int](), set[str]()
    login = github.login() if github.token else ""
    for row in github.pages(f"pulls/{number}/comments", "id", int):
        for fixed, mark in _MARK.findall(str(row.get("body") or "")):
            if login and (row.get("user") or {}).get("login") == login:
                replied |= {mark} if fixed else set()
                there.setdefault(mark, row["id"])
    waiting = there.keys() - replied
    ours = [f for f in end.findings if f.fingerprint in there or (f.has_verdict(least) and f.at_least(post_min))]
    new = [f for f in ours if f.is_open and f.fingerprint not in there and not (f.late and f.severity != "critical")]
    tabled = {finding.fingerprint for finding in target.earlier.findings}
    fit = [f for f in new if f.fingerprint not in tabled and f.path in diffs and f.line in diffs[f.path].lines]
    inline = tuple(sorted(fit, key=worst_first)[:MAX_INLINE])
    return Push(
        github, target, end, tuple(dict.fromkeys([*target.earlier.digests, *read])), inline,
        tuple(f for f in sorted(new, key=worst_first) if f not in inline),
        tuple(f for f in ours if f.is_open and f.fingerprint in there),
        tuple((f, there[f.fingerprint]) for f in ours if f.state == "fixed" and f.fingerprint in waiting),
    )  # fmt: skip


def _review(push: Push) -> dict[str, Any]:
    text = (
        f"swecli: {pluralize(len(push.inline), 'finding')}; what is more, and what was read, is in the summary comment."
    )
    comments = [_comment(finding, push.target.diffs[finding.path]) for finding in push.inline]
    return {"commit_id": push.target.head, "event": "COMMENT", "body": text, "comments": comments}


def _comment(finding: Finding, diff: FileDiff) -> dict[str, Any]:
    """An inline comment as GitHub takes it: all of its lines stand in the diff's new side. A suggestion block only
    where it replaces exactly these lines."""
    last = finding.line
    while last < (finding.end_line or last) and last + 1 in diff.lines:
        last += 1
    parts = [f"**{escape_markdown(finding.code_smell_type)}** ({finding.severity}) {escape_markdown(finding.message)}"]
    parts += [escape_markdown(finding.improvement)] if finding.improvement else []
    whole = last == (finding.end_line or finding.line)
    taken = finding.suggestion and whole and not has_secret(finding.suggestion)
    parts += [fence_code(finding.suggestion, "suggestion")] if taken else []
    body = "\n\n".join(parts)[:_LONGEST] + f"\n\n<!-- swecli {finding.fingerprint} -->"
    row: dict[str, Any] = {"path": finding.path, "body": body, "line": last, "side": "RIGHT"}
    return row | {"start_line": finding.line, "start_side": "RIGHT"} if last > finding.line else row


def _close(push: Push) -> None:
    """Reply where a finding was fixed and resolve its thread; where that is not permitted the reply stays alone. A
    comment that is not there any more gets none."""
    github, number, waiting = push.github, push.target.pr, set[int]()
    for finding, comment in push.fixed:
        why, mark = escape_markdown(finding.reason), f"<!-- swecli-fixed {finding.fingerprint} -->"
        text = f"fixed in {push.target.head[:12]}: {why}\n\n{mark}"
        try:
            github.send("POST", f"pulls/{number}/comments/{comment}/replies", {"body": text})
            waiting.add(comment)
        except GitHubError as error:
            if error.status not in (404, 422):
                raise
            push.problems.append(f"the comment on {finding.id} takes no reply: {error.message}")
    owner, _, name = github.repository.partition("/")
    page: dict[str, Any] = {"hasNextPage": True, "endCursor": None}
    try:
        while waiting and page["hasNextPage"]:
            data = github.query(_THREADS, owner=owner, name=name, number=number, after=page["endCursor"])
            threads = data["repository"]["pullRequest"]["reviewThreads"]
            for node in threads["nodes"]:
                ours = waiting & {row["databaseId"] for row in node["comments"]["nodes"]}
                if ours and not node["isResolved"]:
                    github.query(_RESOLVE, id=node["id"])
                waiting -= ours
            page = threads["pageInfo"]
    except (GitHubError, KeyError, TypeError) as error:
        push.problems.append(f"threads could not be resolved, the replies stand: {error}")


def summary(push: Push) -> str:
    """The summary's text: what was not read, counts, what is open beside the comments, folded, and the state."""
    lines = [] if push.end.complete else [f"**Incomplete:** {escape_markdown(format_coverage(push.end))}\n"]
    open_ones = len(push.inline) + len(push.rest) + len(push.known)
    lines.append(f"swecli reviewed {push.target.head[:12]}: {pluralize(open_ones, 'open finding')}, of which "
                 f"{len(push.inline) + len(push.known)} inline.")  # fmt: skip
    gone = [finding for finding in push.known if finding.state == "gone"]
    if push.rest or gone:
        lines += [f"\n<details><summary>{len(push.rest) + len(gone)} more</summary>\n"]
        lines += ["| place | type | severity | state | problem |", "| --- | --- | --- | --- | --- |"]
    for at, finding in enumerate([*push.rest, *gone]):
        cells = [f"`{finding.place.replace('`', '')}`", escape_markdown(finding.code_smell_type), finding.severity]
        cells += [finding.status, escape_markdown(finding.message)[:160]]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        if sum(map(len, lines)) > _LONGEST:
            lines.append(f"| … | | | | and {len(push.rest) + len(gone) - at - 1} more |")
            break
    lines += ["\n</details>"] if push.rest or gone else []
    return "\n".join([*lines, "", pack_state(push.target.head, push.read, push.end.findings)])
