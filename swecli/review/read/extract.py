"""Extracts the findings from a reviewer's reply: from calls of the report tool, and from JSON in its text, whole or
truncated. An answer in words is asked for again (see `Progress.advance`)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from swecli.llm.lenient_json import Found, find_json_values
from swecli.models.counts import pluralize
from swecli.models.finding import Finding
from swecli.models.finding_parser import find_rows, parse_finding
from swecli.models.message import ModelReply
from swecli.review.judge.sources import strip_whitespace
from swecli.review.read.report_tool import REPORT_TOOL

_LISTS = ("findings", "issues", "code_smells", "codeSmells", "results")
_MIN_QUOTATION = 40  # characters of a JSON value that is ignored if the code contains it
_MAX_PROBLEM = 160  # characters of a broken call's problem that are shown
_LOOKS_LIKE = re.compile(r"codeSmellType|code_smell_type|\"(?:path|file)\"\s*:", re.IGNORECASE)


@dataclass(slots=True)
class Extraction:
    """What one reply reported, repetitions included."""

    loop: int = 0
    findings: list[Finding] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """A line for each thing that could not be used."""
    reports: list[tuple[int | None, bool | None]] = field(default_factory=list)
    """(part, done) of each well-formed report; part None is the running part, done None is unspecified."""

    def add(self, value: Any, source: str, *, is_whole: bool) -> int:
        """Add the findings in a value and return their number. A whole value is a report if all entries of its list
        could be parsed."""
        value, is_cut = _decode_lists(value)
        if is_cut:
            source = "cut"
        rows = find_rows(value, self.lost)
        parsed = [parse_finding(row, self.loop, self.lost, source) for row in rows]
        kept = [finding for finding in parsed if finding is not None]
        if source == "cut":  # only the last entry can be truncated
            kept = [replace(finding, source="json") for finding in kept[:-1]] + kept[-1:]
        self.findings += kept
        if is_whole and source != "cut":
            self._add_report(value, len(kept))
        return len(kept)

    def _add_report(self, value: Any, kept: int) -> None:
        if not isinstance(value, dict):
            return
        listed = next((value[name] for name in _LISTS if name in value), None)
        if not isinstance(listed, list) or kept < len(listed):
            return
        part = value.get("part")
        done = value.get("done")
        is_number = isinstance(part, int) and not isinstance(part, bool)
        self.reports.append((part if is_number else None, done if isinstance(done, bool) else None))


def extract(reply: ModelReply, loop: int = 0, shown: str = "") -> Extraction:
    """Return the findings in the text and the calls of a reply; never raises. JSON that `shown`, the normalized code
    that the model was shown, contains is a quotation."""
    out = Extraction(loop)
    for call in reply.calls:
        if call.name != REPORT_TOOL:
            continue
        problem = reply.malformed.get(call.id, "")
        if problem:
            _add_broken_call(out, reply.broken.get(call.id, ""), problem)
        out.add(call.parameters, "call", is_whole=not problem)
    values = find_json_values(reply.text)
    for value in values:
        quoted = strip_whitespace(reply.text[value.start : value.end])
        if len(quoted) < _MIN_QUOTATION or quoted not in shown:
            _add_value(out, value)
    if not values and _LOOKS_LIKE.search(reply.text):
        out.lost.append("a block that looks like findings could not be read at all")
    return out


def _add_broken_call(out: Extraction, arguments: str, problem: str) -> None:
    """Add the findings that can be read of a call whose arguments are not JSON."""
    kept = 0
    for value in find_json_values(arguments):
        kept += out.add(value.value, "cut" if value.cut else "call", is_whole=False)
    out.lost.append(
        f"a call of {REPORT_TOOL} could not be read whole, {kept} of its findings were: "
        f"{problem[:_MAX_PROBLEM]}"
    )


def _add_value(out: Extraction, value: Found) -> None:
    """Add the findings of a JSON value in the text. One that was cut off is a loss if it held findings."""
    count = out.add(value.value, "cut" if value.cut else "json", is_whole=not value.repaired)
    if not value.cut:
        return
    keys = set(map(str, value.value)) if isinstance(value.value, dict) else set[str]()
    if count or keys & set(_LISTS) or _LOOKS_LIKE.search(str(value.value)):
        out.lost.append(f"a block was cut off: {pluralize(count, 'finding')} of it could be read")


def _decode_lists(value: Any) -> tuple[Any, bool]:
    """Decode the lists of an object that are encoded as strings. Return also whether one of them was cut off."""
    if not isinstance(value, dict):
        return value, False
    is_cut = False
    decoded: dict[str, Any] = {}
    for key in (*_LISTS, "raw"):
        text = value.get(key)
        if not isinstance(text, str) or not text.lstrip().startswith(("[", "{")):
            continue
        inner: list[Any] = []
        for found in find_json_values(text):
            part, part_is_cut = _decode_lists(found.value)
            inner.append(part)
            is_cut = is_cut or found.cut or part_is_cut
        if inner:
            decoded[key] = inner[0] if len(inner) == 1 else inner
    return {**value, **decoded} if decoded else value, is_cut
