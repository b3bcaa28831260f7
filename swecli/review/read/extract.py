"""Extracts the findings from a reviewer's reply: from calls of the report tool, and from whole JSON values in its text.
An answer in words, or one that was cut off, is asked for again (see `Progress.advance`)."""

from __future__ import annotations

from dataclasses import field, replace

from swecli.context.reported_findings import find_entries, list_entries, parse_finding
from swecli.llm.model_json import find_values
from swecli.models.finding import Finding
from swecli.models.json_value import Json
from swecli.models.message import ModelReply
from swecli.review.judge.sources import strip_whitespace
from swecli.review.read.report_tool import REPORT_TOOL
from swecli.values import dataclass

_MIN_QUOTATION = 40  # characters of a JSON value that is ignored if the code contains it
_MAX_PROBLEM = 160  # characters of a broken call's problem that are shown


@dataclass(slots=True)
class Extraction:
    """What one reply reported, repetitions included."""

    loop: int = 0
    findings: list[Finding] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    """A line for each thing that could not be used."""
    reports: list[tuple[int | None, bool | None]] = field(default_factory=list)
    """(part, done) of each report all of whose entries could be used; part None is the running part, done None is
    unspecified."""

    def add(self, value: Json, source: str) -> None:
        """Add the findings in a value."""
        entries = find_entries(value)
        parsed = [parse_finding(entry, self.loop, self.losses) for entry in entries]
        valid = [replace(finding, source=source) for finding in parsed if finding is not None]
        self.findings += valid
        if list_entries(value) is None or len(valid) < len(entries):
            return
        part = value.get("part")
        is_done = value.get("done")
        is_number = isinstance(part, int) and not isinstance(part, bool)
        self.reports.append(
            (part if is_number else None, is_done if isinstance(is_done, bool) else None)
        )


def extract(reply: ModelReply, loop: int = 0, shown_code: str = "") -> Extraction:
    """Return the findings in the text and the calls of a reply; never raises. JSON that stands in
    `shown_code`, the normalized code that the model was shown, is a quotation."""
    extraction = Extraction(loop)
    losses = extraction.losses
    for call in reply.calls:
        if call.name != REPORT_TOOL:
            continue
        if problem := reply.malformed.get(call.id, ""):
            losses.append(f"a call of {REPORT_TOOL} could not be read: {problem[:_MAX_PROBLEM]}")
        elif list_entries(call.parameters) is None:
            losses.append(f"a call of {REPORT_TOOL} has no list of findings")
        else:
            extraction.add(call.parameters, "call")
    for json_value in find_values(reply.text):
        text = strip_whitespace(reply.text[json_value.start : json_value.end])
        if len(text) < _MIN_QUOTATION or text not in shown_code:
            extraction.add(json_value.value, "json")
    if reply.stop == "length":
        losses.append("the answer was cut off at its length limit")
    return extraction
