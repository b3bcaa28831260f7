"""The demo model in a review: reads file after file and reports what its rules find, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from swecli.llm.demo.calls import Call
from swecli.llm.demo.outcomes import Outcome
from swecli.llm.demo.smells import smells
from swecli.llm.demo.steps import Step
from swecli.llm.demo.texts import listed, plural
from swecli.llm.demo.view import Made, interactions, text_of
from swecli.models.finding import Finding
from swecli.models.model_io import ModelRequest

AT_ONCE = 4  # files of one step: with the report, what stays readable when room is short
LEFT_OUT = "(Earlier messages"
_FILES = re.compile(r"^The target is .*? \d+ files:\n(?P<names>.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
_NOT_READ = re.compile(r"Not read yet \([^)]*\): (?P<names>.*?)(?: and \d+ more)?\.$", re.MULTILINE)
# what the rules find, in the words of a review; what is not here is no matter of a review
_RULES = {
    "long-function": ("smell", "LONG_METHOD"),
    "duplicate-block": ("smell", "DUPLICATE_CODE"),
    "magic-number": ("smell", "MAGIC_NUMBERS"),
    "bare-except": ("smell", "MISSING_ERROR_HANDLING"),
    "swallowed-exception": ("smell", "MISSING_ERROR_HANDLING"),
    "mutable-default": ("smell", "MUTABLE_SHARED_STATE"),
    "many-parameters": ("smell", "LONG_PARAMETER_LIST"),
    "none-comparison": ("correctness", "NONE_COMPARISON"),
}


def review_step(request: ModelRequest) -> Step:
    """The next reply of a review. Total: it reports what it has just read, and reads on until nothing is left."""
    parts = tuple(interactions(request.messages))
    made = [m for part in parts for m in part.made]
    fresh = list(_newest(request, made))
    found = [finding for m in fresh for finding in _found(m)]
    calls = [Call("report_findings", {"findings": [_row(f, m) for m in fresh for f in _found(m)]})] if found else []
    names = _left(request, {m.call.path for m in made if m.call.name == "read_file"})
    pages = [page for m in fresh if (page := _next_page(m)) is not None][:AT_ONCE]
    reads = [*pages, *(Call("read_file", {"path": name}) for name in names)][:AT_ONCE]
    offered = {spec.name for spec in request.tools}
    calls = [call for call in (*calls, *reads) if call.name in offered]
    if calls:
        what = f"{plural(len(found), 'finding')}. " if fresh else ""
        return Step(f"{what}Reading {listed([c.path for c in reads], 4)}." if reads else what.strip(), tuple(calls))
    return Step("I have read the files with fixed rules, and reported what they found. That is no proof of the rest.")


def _newest(request: ModelRequest, made: Sequence[Made]) -> Iterator[Made]:
    """The files read in the newest step."""
    last = next((m for m in reversed(request.messages) if m.get("role") == "assistant"), {})
    ids = {str(call.get("id")) for call in last.get("tool_calls") or ()}
    return (m for m in made if m.id in ids and m.call.name == "read_file")


def _found(made: Made) -> list[Finding]:
    outcome = Outcome(made.call, made.result or "")
    if not outcome.ok:
        return []
    return [f for f in smells(made.call.path, outcome.lines()) if f.code_smell_type in _RULES]


def _row(finding: Finding, made: Made) -> dict[str, Any]:
    """A finding as the tool takes it, with its line quoted."""
    kind, rule = _RULES[finding.code_smell_type]
    lines = dict(Outcome(made.call, made.result or "").lines())
    row: dict[str, Any] = {
        "path": finding.path, "line": finding.line, "severity": finding.severity, "kind": kind,
        "code_smell_type": rule, "message": finding.message, "evidence": lines.get(finding.line, "").strip(),
    }  # fmt: skip
    more = {"improvement": finding.improvement or None, "end_line": finding.end_line}
    return row | {name: value for name, value in more.items() if value is not None}


def _next_page(made: Made) -> Call | None:
    outcome = Outcome(made.call, made.result or "")
    start = outcome.next_line if outcome.ok else None
    return Call("read_file", {"path": made.call.path, "start_line": start}) if start else None


def _left(request: ModelRequest, read: set[str]) -> list[str]:
    """The next files: those the product names as not read yet, else those of the task."""
    for message in reversed(request.messages[1:]):
        if match := _NOT_READ.search(text_of(message.get("content"))):
            return [name for name in match["names"].split(", ") if name not in read]
    shortened = any(text_of(m.get("content")).startswith(LEFT_OUT) for m in request.messages[1:2])
    match = _FILES.search(text_of(request.messages[0].get("content"))) if request.messages and not shortened else None
    names = match["names"].split("\n") if match else []
    return [name for name in names if name not in read and not name.startswith("… and ")]
