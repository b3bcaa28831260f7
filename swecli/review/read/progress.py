"""The progress of a review through its parts: what was read, what is asked next, and when all is done."""

from __future__ import annotations

import re
from dataclasses import field

from swecli.models.finding import ReviewEnd
from swecli.models.message import ModelReply
from swecli.review.read.extract import Extraction
from swecli.review.read.report_tool import REPORT_TOOL
from swecli.review.target.plan import Part, Plan
from swecli.values import dataclass

_FREE_STEPS = 4  # loops of one part after which only the report tool is offered
_MAX_STEPS = 6  # loops of one part after which the next part is started, if there is one
_MAX_UNREADABLE = 2  # parts in a row without a readable report that end a review
_MAX_FAULTS = 3  # of a report that are named when it is asked for again
_NEARBY = 3  # lines between a place in words and a reported one that are the same
_MAX_REPLY = 2_000  # characters of an unreadable reply that are kept
_CUT_OFF = "Your answer reached its length limit. Report the findings in smaller parts, and go on."
_REPAIR = (
    "No report of this part could be read{faults}. Call report_findings(part={number}, done=true, findings=[...]) now, "
    "with every finding you have named; if there is none, with an empty list."
)
_NAMED_PLACE = (
    "You named {places} in words, and have not reported it. Words are not stored: report it with report_findings, or "
    "say that it is no problem; then end the part."
)
_MAX_NAMED = 5  # places in words that are asked about


def _find_unreported(text: str, extraction: Extraction, part: Part) -> list[str]:
    """Return the places `path:line` in this part's files that a text names beside a report, and that are in none."""
    if not extraction.reports:
        return []
    reported = {(finding.path, finding.line) for finding in extraction.findings}
    paths = "|".join(map(re.escape, part.paths))
    matches = re.findall(rf"(?<![\w./-])({paths}):(\d{{1,7}})", text)
    places = dict.fromkeys((path, int(line)) for path, line in matches)
    return [
        f"{path}:{line}"
        for path, line in places
        if not any(
            path == reported_path and abs(line - reported_line) <= _NEARBY
            for reported_path, reported_line in reported
        )
    ][:_MAX_NAMED]


@dataclass(slots=True)
class Progress:
    """The progress of the running review."""

    plan: Plan
    read_digests: dict[str, None]  # digests of the hunks that were read, in order
    part: Part | None = None  # the running one
    steps: int = 0  # loops of the running part
    is_repair: bool = False  # its one repair request was made
    answered: set[int] = field(default_factory=set)
    """Numbers of the parts whose message was in an answered request."""
    closed: set[int] = field(default_factory=set)  # numbers of parts that are not asked again
    loops_of_read: int = 0  # loops of the parts that were read
    failed: int = 0  # parts in a row without anything readable
    losses: list[str] = field(default_factory=list)  # a line for each part without a report

    def __post_init__(self) -> None:
        self.closed = {
            part.number
            for part in self.plan.parts
            if all(hunk.digest in self.read_digests for hunk in part.hunks)
        }

    @property
    def waiting_parts(self) -> list[Part]:
        """The parts that are not closed, including the running one."""
        return [part for part in self.plan.parts if part.number not in self.closed]

    @property
    def is_report_due(self) -> bool:
        """Whether the running part is to be reported now."""
        return self.is_repair or self.steps >= _FREE_STEPS

    def start_part(self, part: Part) -> None:
        """Make this part the running one."""
        self.part = part
        self.steps = 0
        self.is_repair = False

    def advance(self, reply: ModelReply, extraction: Extraction, part: Part) -> str | None:
        """Process a reply and return the message to send next, None for none. A reported part is closed. A missing or
        unreadable report is requested once; then the part is closed and counts as shown."""
        self.steps += 1
        if reply.calls and not self.is_repair:
            unreported = _find_unreported(reply.text, extraction, part)
            if unreported:
                self.is_repair = True
                return _NAMED_PLACE.format(places=", ".join(unreported))
        calls_only_report = all(call.name == REPORT_TOOL for call in reply.calls)
        for number, is_done in extraction.reports:
            if is_done or (is_done is None and calls_only_report):
                self._close_reported(number, part)
        if self.part is None:
            return None
        if reply.stop == "length" and not reply.calls and self.steps < _MAX_STEPS:
            return _CUT_OFF
        is_unreadable = bool(extraction.losses) and calls_only_report
        is_evaded = self.is_repair and not calls_only_report
        is_due = not reply.calls or is_unreadable or is_evaded
        has_others = any(other is not part for other in self.waiting_parts)
        if (is_due and self.is_repair) or (self.steps >= _MAX_STEPS and has_others):
            self._give_up(reply, extraction, part)
        elif is_due:
            self.is_repair = True
            faults = "".join(f"; {line}" for line in extraction.losses[:_MAX_FAULTS])
            return _REPAIR.format(number=part.number, faults=faults)
        return None

    def _close_reported(self, number: int | None, part: Part) -> None:
        """Close the part with this number, by default the running one. It counts as read only if it was shown."""
        numbered = [other for other in self.plan.parts if other.number == number]
        reported = numbered[0] if numbered else part
        is_running = reported is self.part
        is_shown = reported.number in self.answered
        if is_shown and is_running:
            self.loops_of_read += self.steps
        if is_shown:
            self.read_digests |= dict.fromkeys(hunk.digest for hunk in reported.hunks)
            self.failed = 0
        if is_shown or is_running:
            self.closed.add(reported.number)
        if is_running:
            self.part = None

    def _give_up(self, reply: ModelReply, extraction: Extraction, part: Part) -> None:
        """Close the running part without a report."""
        if self.is_repair and not extraction.findings:
            self.failed += 1
        self.part = None
        self.closed.add(part.number)
        answer = reply.text.strip()[:_MAX_REPLY] or "-"
        self.losses.append(f"part {part.number}: no report could be read. The answer: {answer}")

    def find_end(self) -> ReviewEnd | None:
        """Return how the review has ended, or None while there is a part to read."""
        if self.failed >= _MAX_UNREADABLE:
            return "unreadable"
        if self.waiting_parts:
            return None
        is_read = all(
            hunk.digest in self.read_digests for part in self.plan.parts for hunk in part.hunks
        )
        return "done" if is_read else "unreadable"
