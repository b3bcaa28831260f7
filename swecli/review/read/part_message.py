"""The message that asks to review a part: the change, its lines, and the known findings of its files."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import groupby

from swecli.models.finding import Finding
from swecli.redact import redact
from swecli.review.target.plan import Part, Plan

_MAX_KNOWN = 40  # findings listed
_MAX_INTENT = 1_200  # characters of what the author says
_MAX_FILES = 40  # changed files listed
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)  # of a template, which is not shown on GitHub
_MAX_REASON, _MAX_CLAIM = 160, 120  # characters of a known finding


def write_part_message(
    plan: Plan, part: Part, label: str, earlier_findings: Sequence[Finding]
) -> str:
    """Write the message of one part of the review of `label`. `earlier_findings` are not to be reported again."""
    head = f"Part {part.number} of {len(plan.parts)} of the review of {label}."
    text = [f"{head} Review these lines; read around them where needed."]
    text += describe_change(plan)
    text += _show_lines(part, plan.target.deleted)
    text += _list_earlier(earlier_findings)
    text.append(
        f"\nEnd this part with report_findings(part={part.number}, done=true, findings=[...])."
    )
    return "\n".join(text)


def describe_change(plan: Plan) -> list[str]:
    """Return what the author says of the change, quoted, and the files that it touches; [] for whole files."""
    target = plan.target
    lines: list[str] = []
    if target.intent:
        intent = shorten_intent(target.intent).split("\n")
        lines += ["What its author says it is for:", *(f"> {line}" for line in intent)]
    paths = dict.fromkeys([*(plan.files if target.diffs else ()), *target.deleted])
    file_names = [f"{path} (deleted)" if path in target.deleted else path for path in paths]
    if file_names:
        listed = ", ".join(" ".join(path.split()) for path in file_names[:_MAX_FILES])
        omitted = len(file_names) - _MAX_FILES
        more = f", and {omitted} more" if omitted > 0 else ""
        lines.append(f"It changes: {listed}{more}")
    return lines


def shorten_intent(intent: str) -> str:
    """Return what the author says of a change as a model is told it: without comments of a template and secrets."""
    return redact(_COMMENT.sub("", intent)).strip()[:_MAX_INTENT]


def _show_lines(part: Part, deleted: Collection[str]) -> list[str]:
    text: list[str] = []
    for path, hunks in groupby(part.hunks, key=lambda hunk: hunk.path):
        listed = list(hunks)
        before = listed[0].old_path
        mark = f" (renamed from {before})" if before else ""
        if path in deleted:
            mark = " (deleted)"
        text.append(f"## {path}{mark}".replace("\n", " "))  # a name may contain line breaks
        text += [f"{hunk.id}, {hunk.text}" for hunk in listed]
    return text


def _list_earlier(earlier_findings: Sequence[Finding]) -> list[str]:
    if not earlier_findings:
        return []
    head = (
        "\nKnown, not to be reported again; where a reason no longer holds, report it with same_as:"
    )
    return [head, *(_describe_earlier(finding) for finding in earlier_findings[:_MAX_KNOWN])]


def _describe_earlier(finding: Finding) -> str:
    reason = f" ({finding.reason[:_MAX_REASON]})" if finding.reason else ""
    claim = " ".join(finding.message.split())[:_MAX_CLAIM]
    kind = finding.code_smell_type
    return f"- {finding.id} {finding.place} {kind} {finding.state}{reason}: {claim}"
