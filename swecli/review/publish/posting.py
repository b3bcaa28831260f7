"""Findings as Markdown: in a report, and on a pull request. One push posts at most one review of the worst findings,
replies to fixed ones, and one summary comment, which is edited in place and carries the state to the next push."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from swecli.models.counts import pluralize
from swecli.models.errors import BadInput
from swecli.models.finding import SEVERITIES, Finding, collapse_whitespace, worst_first
from swecli.models.review_events import ReviewFinished
from swecli.redact import has_secret, redact, redact_value
from swecli.review.publish.event_lines import format_coverage
from swecli.review.publish.gate import Gate
from swecli.review.publish.view import row_view
from swecli.review.target.diffs import FileDiff
from swecli.review.target.github import (
    KEPT_HINT,
    MARK,
    GitHub,
    GitHubError,
    PullState,
    Resolution,
    Thread,
)
from swecli.review.target.targets import Target
from swecli.text import fence
from swecli.values import dataclass

# characters of each of the summary's two tables; GitHub accepts 65,536 with the state behind them
_MAX_TABLE = 14_000
MAX_INLINE = 10  # comments of one push; further findings are in the summary
_DEFAULT = Gate()
_RESOLVE = (
    "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"
)
_REOPEN = (
    "mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"
)
_ALREADY_POSTED = (
    "This still stands, and counts. If it is no problem, somebody who works on this repository says why in a reply, "
    "and resolves it."
)


class Posted(NamedTuple):
    """What posting did, as `lines`; how many findings were posted as they were planned, and how many comments GitHub
    `rejected`."""

    lines: tuple[str, ...]
    findings: int
    rejected: int


@dataclass(frozen=True, slots=True)
class Push:
    """What one push posts: `inline` findings as comments in the diff, those `on_file` as comments on a changed file,
    where the diff does not show their line, `rest` in the summary's list, replies to the comments of `fixed` ones
    (finding, comment id), and of those that are `reopened`. `already_posted` findings have a comment."""

    github: GitHub
    target: Target
    end: ReviewFinished
    read_digests: tuple[str, ...]
    gate: Gate
    inline: tuple[Finding, ...] = ()
    on_file: tuple[Finding, ...] = ()
    rest: tuple[Finding, ...] = ()
    already_posted: tuple[Finding, ...] = ()
    fixed: tuple[tuple[Finding, int], ...] = ()
    reopened: tuple[tuple[Finding, Resolution], ...] = ()
    """Findings that stand although their thread was resolved."""

    @property
    def lines(self) -> list[str]:
        """The plan as lines for the user, the counts last."""
        lines = [f"inline {row_view(finding).line}" for finding in self.inline]
        lines += [f"on the file {row_view(finding).line}" for finding in self.on_file]
        lines += [f"summary {row_view(finding).line}" for finding in self.rest]
        lines += [f"fixed {row_view(finding).line}" for finding, _ in self.fixed]
        lines += [f"reopened {row_view(finding).line}" for finding, _ in self.reopened]
        counts = [f"{len(self.inline)} inline"]
        if self.on_file:
            counts.append(f"{len(self.on_file)} on files")
        counts.append(f"{len(self.rest)} in the summary")
        counts.append(f"{len(self.fixed)} fixed")
        counts.append(f"{len(self.already_posted)} already posted")
        return [*lines, ", ".join(counts)]

    @property
    def summary(self) -> str:
        """The text of the summary comment."""
        return _build_summary(self)

    @property
    def has_changes(self) -> bool:
        """Return whether anything on the pull request would change."""
        return (
            bool(self.inline or self.on_file or self.fixed or self.reopened)
            or self.summary != self.target.earlier.body
        )

    def post(self) -> Posted:
        """Post it and return what happened. If GitHub rejects the line of a comment, all become comments on files, and
        those that it rejects too go into the summary. Raises BadInput without a token, GitHubError if nothing could be
        posted."""
        require_token({"GITHUB_TOKEN": self.github.token})
        if not self.has_changes:
            return Posted((f"nothing new, {len(self.already_posted)} already posted",), 0, 0)
        push = _leave_out_posted(self)
        planned = len(push.inline) + len(push.on_file)
        push, problems = _post_review(push)
        push, refusals = _comment_on_files(push)
        problems += [*refusals, *_close_fixed(push), *_reopen_threads(push)]
        _write_summary(push)
        rejected = planned - len(push.inline) - len(push.on_file)
        posted = planned + len(self.rest) - rejected
        return Posted((*problems, f"posted: {push.lines[-1]}"), posted, rejected)


def require_token(environ: Mapping[str, str]) -> None:
    """Raise BadInput if there is no token to post with."""
    if not (environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN")):
        raise BadInput("There is no token for GitHub.", f"Set GITHUB_TOKEN. {KEPT_HINT}")


def plan_push(
    target: Target,
    end: ReviewFinished,
    read_digests: Sequence[str],
    gate: Gate = _DEFAULT,
) -> Push:
    """Return what to post of the findings that the gate posts. Those in code that an earlier push had read are comments
    only if critical, else in the summary, and so are those that only fail the review. `read_digests` are the digests of
    the hunks that the review read. Raises GitHubError."""
    github = target.github
    assert github is not None, "a pull request is on GitHub"
    comments, replied = _own_comments(github, target.pr or 0)
    new: list[Finding] = []
    already_posted: list[Finding] = []
    fixed: list[tuple[Finding, int]] = []
    reopened: list[tuple[Finding, Resolution]] = []
    for finding in end.findings:
        fingerprint = finding.fingerprint
        resolution = target.earlier.resolutions.get(fingerprint)
        if resolution is not None and resolution.thread and gate.counts(finding):
            reopened.append((finding, resolution))
        if fingerprint in comments:
            if finding.is_open:
                already_posted.append(finding)
            elif finding.state == "fixed" and fingerprint not in replied:
                fixed.append((finding, comments[fingerprint]))
        elif gate.is_posted(finding):
            new.append(finding)

    new.sort(key=worst_first)
    in_summary = {finding.fingerprint for finding in target.earlier.findings}
    fit = [
        finding
        for finding in new
        if finding.fingerprint not in in_summary
        and finding.at_least(gate.post_min)
        and (not finding.late or finding.severity == "critical")
        and finding.path in target.diffs
    ]
    commented = fit[:MAX_INLINE]
    inline = [finding for finding in commented if _is_in_diff(finding, target)]
    return Push(
        github=github,
        target=target,
        end=end,
        read_digests=tuple(dict.fromkeys([*target.earlier.digests, *read_digests])),
        gate=gate,
        inline=tuple(inline),
        on_file=tuple(finding for finding in commented if finding not in inline),
        rest=tuple(finding for finding in new if finding not in commented),
        already_posted=tuple(already_posted),
        fixed=tuple(fixed),
        reopened=tuple(reopened),
    )


def _leave_out_posted(push: Push) -> Push:
    """Return the push without the findings that another job on the same commit has commented on since it was planned.
    Raises GitHubError."""
    if not (push.inline or push.on_file):
        return push
    comments, _ = _own_comments(push.github, push.target.pr or 0)
    posted = [
        finding for finding in (*push.inline, *push.on_file) if finding.fingerprint in comments
    ]
    return replace(
        push,
        inline=tuple(finding for finding in push.inline if finding not in posted),
        on_file=tuple(finding for finding in push.on_file if finding not in posted),
        already_posted=(*push.already_posted, *posted),
    )


def _is_in_diff(finding: Finding, target: Target) -> bool:
    """Return whether the diff shows the line of a finding in a changed file."""
    return finding.line in target.diffs[finding.path].lines


def _own_comments(github: GitHub, number: int) -> tuple[dict[str, int], set[str]]:
    """Return the ids of the comments posted with this token, by their finding's fingerprint, and the fingerprints that
    have a reply as fixed. Raises GitHubError."""
    comments: dict[str, int] = {}
    replied: set[str] = set()
    login = github.login() if github.token else ""
    for comment in github.get_list(f"pulls/{number}/comments", "id", int):
        author = (comment.get("user") or {}).get("login")
        if not login or author != login:
            continue
        for is_fixed, fingerprint in MARK.findall(str(comment.get("body") or "")):
            if is_fixed:
                replied.add(fingerprint)
            comments.setdefault(fingerprint, comment["id"])
    return comments, replied


def _build_comment(finding: Finding, diff: FileDiff) -> dict[str, Any]:
    """Return an inline comment; GitHub requires all of its lines to be in the diff. It has a suggestion block only if
    it covers all lines of the finding."""
    last = finding.line
    while last < (finding.end_line or last) and last + 1 in diff.lines:
        last += 1
    is_whole = last == (finding.end_line or finding.line) and not has_secret(finding.suggestion)
    body = _write_comment(finding, with_suggestion=is_whole)
    comment: dict[str, Any] = {"path": finding.path, "body": body, "line": last, "side": "RIGHT"}
    if last > finding.line:
        comment |= {"start_line": finding.line, "start_side": "RIGHT"}
    return comment


def _write_comment(finding: Finding, *, with_suggestion: bool, place: str = "") -> str:
    """Return the text of a comment. `place` says where the finding is, "" if the comment stands there."""
    claim = "\n\n".join(_format_claim(finding, with_suggestion=with_suggestion))
    text = f"**{_escape(finding.code_smell_type)}** ({finding.severity}{place}) {claim}"
    return f"{text[:_MAX_TABLE]}\n\n<!-- swecli {finding.fingerprint} -->"


def _post_review(push: Push) -> tuple[Push, list[str]]:
    """Post the comments in the diff as one review. Return the push with all of them on their files if GitHub rejects
    one of the lines, and a line that says so."""
    if not push.inline:
        return push, []
    diffs = push.target.diffs
    count = pluralize(len(push.inline), "finding")
    review = {
        "commit_id": push.target.head,
        "event": "COMMENT",
        "body": f"swecli: {count}; the rest, and the coverage, is in the summary comment.",
        "comments": [_build_comment(finding, diffs[finding.path]) for finding in push.inline],
    }
    try:
        push.github.request("POST", f"pulls/{push.target.pr}/reviews", review)
    except GitHubError as error:
        if error.status != 422:
            raise
        line = "GitHub rejected the lines of comments, which are now on their files"
        on_files = replace(push, inline=(), on_file=(*push.inline, *push.on_file))
        return on_files, [f"{line}: {error.message}"]
    return push, []


def _comment_on_files(push: Push) -> tuple[Push, list[str]]:
    """Post the comments on whole files, which a review of GitHub's cannot hold. Return the push with those that are
    refused in the summary, and a line for each of them."""
    refused_findings: list[Finding] = []
    problems: list[str] = []
    for finding in push.on_file:
        place = f", line {finding.line}"
        comment = {
            "commit_id": push.target.head,
            "path": finding.path,
            "body": _write_comment(finding, with_suggestion=False, place=place),
            "subject_type": "file",
        }
        try:
            push.github.request("POST", f"pulls/{push.target.pr}/comments", comment)
        except GitHubError as error:
            if error.status != 422:
                raise
            refused_findings.append(finding)
            problems.append(f"{finding.id} could not be commented on its file: {error.message}")
    on_file = tuple(finding for finding in push.on_file if finding not in refused_findings)
    return replace(push, on_file=on_file, rest=(*refused_findings, *push.rest)), problems


def _close_fixed(push: Push) -> list[str]:
    """Reply to the comments of fixed findings and resolve their threads. Return a line for each missing comment, and
    for a token that may not resolve."""
    github = push.github
    number = push.target.pr
    replied = set[int]()
    problems: list[str] = []
    for finding, comment in push.fixed:
        mark = f"<!-- swecli-fixed {finding.fingerprint} -->"
        text = f"fixed in {push.target.head[:12]}: {_escape(finding.reason)}\n\n{mark}"
        try:
            github.request("POST", f"pulls/{number}/comments/{comment}/replies", {"body": text})
            replied.add(comment)
        except GitHubError as error:
            if error.status not in (404, 422):
                raise
            problems.append(f"the comment on {finding.id} could not be replied to: {error.message}")
    try:
        for thread in Thread.load(github, push.target.pr or 0) if replied else []:
            if not thread.is_resolved and thread.comments[0].id in replied:
                github.graphql(_RESOLVE, id=thread.id)
    except GitHubError as error:
        problems.append(f"threads could not be resolved, only replied to: {error}")
    return problems


def _reopen_threads(push: Push) -> list[str]:
    """Reply to findings that stand although their thread was resolved, and reopen it. Return a line for what is
    refused."""
    github = push.github
    for finding, resolution in push.reopened:
        reason = f" {_escape(finding.judgement.why)}" if finding.judgement else ""
        path = f"pulls/{push.target.pr}/comments/{resolution.comment}/replies"
        try:
            github.request("POST", path, {"body": f"{_ALREADY_POSTED}{reason}"})
            github.graphql(_REOPEN, id=resolution.thread)
        except GitHubError as error:
            if error.status not in (403, 404, 422):
                raise
            return [f"the thread of {finding.id} could not be reopened: {error.message}"]
    return []


def _write_summary(push: Push) -> None:
    """Post the summary comment, or edit the one that is there: another job on the same commit may have written it
    meanwhile."""
    number = push.target.pr or 0
    comment = push.target.earlier.comment or PullState.load(push.github, number).comment
    body = {"body": push.summary}
    if comment:
        push.github.request("PATCH", f"issues/comments/{comment}", body)
    else:
        push.github.request("POST", f"issues/{number}/comments", body)


def _build_summary(push: Push) -> str:
    """Return the summary: what was not read, counts, a folded table of findings without a comment, and the state."""
    lines = [] if push.end.complete else [f"**Incomplete:** {_escape(format_coverage(push.end))}\n"]
    commented = len(push.inline) + len(push.on_file) + len(push.already_posted)
    open_ones = pluralize(commented + len(push.rest), "open finding")
    dismissed = sum(finding.state == "dismissed" for finding in push.end.findings)
    failing = push.gate.describe(push.end.findings)
    line = f"swecli reviewed {push.target.head[:12]}: {open_ones}, {commented} with a comment."
    line += f" {failing}." if failing else ""
    line += f" {dismissed} dismissed." if dismissed else ""
    lines.append(line)
    listed = [*push.rest, *(finding for finding in push.already_posted if finding.state == "gone")]
    lines += _fold_boxes(listed)
    older = [finding for finding in push.end.findings if finding.is_older]
    title = f"{pluralize(len(older), 'problem')} older than this change, not counted"
    lines += _fold_table(older, title)
    return "\n".join(
        [*lines, "", PullState(push.target.head, push.read_digests, push.end.findings).pack()]
    )


def _fold_boxes(findings: Sequence[Finding]) -> list[str]:
    """Return the lines of a folded list of findings without a comment, each with a box that dismisses it; [] without
    any."""
    if not findings:
        return []
    title = f"{len(findings)} more; tick what is no problem here"
    lines = [f"\n<details><summary>{title}</summary>\n"]
    for number, finding in enumerate(findings, 1):
        place = f"`{finding.place.replace('`', '')}`"
        claim = f"{_escape(finding.code_smell_type)} ({finding.severity}, {finding.status})"
        mark = f"<!-- swecli-box {finding.fingerprint} -->"
        lines.append(f"- [ ] {place} {claim}: {_escape(finding.message)[:160]} {mark}")
        if sum(map(len, lines)) > _MAX_TABLE:
            lines.append(f"- … and {len(findings) - number} more")
            break
    return [*lines, "\n</details>"]


def _fold_table(findings: Sequence[Finding], title: str) -> list[str]:
    """Return the lines of a folded table of findings, [] without any."""
    if not findings:
        return []
    lines = [
        f"\n<details><summary>{title}</summary>\n",
        "| place | type | severity | state | problem |",
        "| --- | --- | --- | --- | --- |",
    ]
    for number, finding in enumerate(findings, 1):
        cells = [
            f"`{finding.place.replace('`', '')}`",
            _escape(finding.code_smell_type),
            finding.severity,
            finding.status,
            _escape(finding.message)[:160],
        ]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        if sum(map(len, lines)) > _MAX_TABLE:
            lines.append(f"| … | | | | and {len(findings) - number} more |")
            break
    return [*lines, "\n</details>"]


# Findings in a report


def as_seed(end: ReviewFinished, posted: int = 0, failed: int = 0) -> dict[str, Any]:
    """Return the value of seed 000's review: each finding has its suggestion as a block in `improvement`. The response
    is the reviewer's last answer in words; if it only called its tools, the report."""
    findings = [finding for finding in end.findings if finding.state != "refuted"]
    issues = []
    for finding in findings:
        suggestion = _fence(finding.suggestion, "suggestion") if finding.suggestion else ""
        issues.append({
            "type": "code_smell", "codeSmellType": finding.code_smell_type, "path": finding.path,
            "line": finding.line,
            "range": {"startLine": finding.line, "endLine": finding.end_line or finding.line},
            "severity": finding.severity, "message": finding.message,
            "improvement": "\n\n".join(filter(None, [finding.improvement, suggestion])),
        })  # fmt: skip
    value = {
        "response": end.text or as_markdown(findings, end=end),
        "loops": end.loops,
        "structured": {"issues": issues},
        "suggestionWorkflow": {"postedCount": posted, "failedCount": failed},
    }
    return dict(redact_value(value))


def as_markdown(
    findings: Sequence[Finding], title: str = "Review", end: ReviewFinished | None = None
) -> str:
    """Return a report: counts, what was not read, then the findings by severity, the worst first. Foreign text is
    escaped, and secrets are redacted."""
    paragraphs = [f"# {collapse_whitespace(title)}"]
    if end is not None and not end.coverage.complete:
        paragraphs.append(f"**Incomplete:** {_escape(format_coverage(end))}")
    open_ones = sum(finding.is_open for finding in findings)
    count = pluralize(len(findings), "finding")
    paragraphs.append(f"{count}, {open_ones} of them open." if findings else "No findings.")
    for severity in reversed(SEVERITIES):
        of_severity = [finding for finding in findings if finding.severity == severity]
        if of_severity:
            paragraphs.append(f"## {severity.capitalize()} ({len(of_severity)})")
        for finding in of_severity:
            place = collapse_whitespace(finding.place).replace("`", "")
            title = f"{finding.id} {_escape(finding.code_smell_type)} in `{place}`"
            paragraphs.append(f"### {title.lstrip()}")
            facts = [finding.kind, finding.status, _escape(finding.doubt)]
            if finding.reason:
                facts.append(f"reason: {_escape(finding.reason)}")
            line = ", ".join(dict.fromkeys(filter(None, facts)))
            paragraphs += [line, *_format_claim(finding)]
            if finding.judgement is not None and finding.judgement.quote:
                place = f"{finding.judgement.path}:{finding.judgement.line}"
                paragraphs.append(f"Checked: {_escape(finding.judgement.why)} (`{place}`)")
    return "\n\n".join(paragraphs) + "\n"


def _format_claim(finding: Finding, *, with_suggestion: bool = True) -> list[str]:
    """Return the paragraphs of a finding's message, improvement and suggestion."""
    paragraphs = [_escape(finding.message), _escape(finding.improvement)]
    if finding.suggestion and with_suggestion:
        paragraphs.append(_fence(finding.suggestion, "suggestion"))
    if finding.proof is not None:
        script = _fence(finding.proof.script, finding.proof.language)
        title = f"A script shows it ({finding.proof})"
        paragraphs.append(f"<details><summary>{title}</summary>\n\n{script}\n\n</details>")
    return [*filter(None, paragraphs)]


_NO_MENTION = (
    "@&#8203;"  # a space without width, written out: invisible characters are removed on output
)


def _escape(text: str) -> str:
    """Return foreign text as one paragraph without headings, HTML, mentions and secrets."""
    folded = collapse_whitespace(redact(text)).replace("<", "&lt;").replace("@", _NO_MENTION)
    return f"\\{folded}" if folded[:1] in "#>-+*=|" and folded else folded


def _fence(code: str, language: str = "") -> str:
    """Return code in a fence longer than any inside, with secrets redacted."""
    return fence(redact(code), language)
