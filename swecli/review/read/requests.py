"""The messages of a review, and its progress through the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from swecli.agent.turn import TurnState
from swecli.context.budget import RequestLimits
from swecli.context.fit import Ladder
from swecli.context.tokens import TokenCounter
from swecli.models.events import ContextMeasured, ContextReduced, Event
from swecli.models.finding import Finding, ReviewEnd
from swecli.models.message import ApiMessage, ModelReply
from swecli.redact import redact
from swecli.review.judge.sources import normalize_code
from swecli.review.read.extract import REPORT_TOOL, Extraction
from swecli.review.target.plan import Part, Plan

FREE_STEPS = 4  # loops of one part after which only the report tool is offered
_MAX_STEPS = 6  # loops of one part after which the next part is started, if there is one
_MAX_UNREADABLE = 2  # parts in a row without a readable report that end a review
_MAX_REPLY = 2_000  # characters of an unreadable reply that are kept
_MAX_KNOWN = 40  # findings listed in the message of a part
_MAX_INTENT = 1_200  # characters of what the author says
_MAX_FILES = 40  # changed files listed in the message of a part
_CUT = "Your answer reached its length limit. Report the findings in smaller parts, and go on."
_LEFT_OUT = "(Earlier messages of this review were left out to save room; every finding is stored.)"
_REPAIR = (
    "No report of this part could be read. Call report_findings(part={number}, done=true, findings=[...]) now, with "
    "every finding you have named; if there is none, with an empty list."
)


def _describe_change(plan: Plan) -> list[str]:
    """Return what the author says of the change, quoted, and the files that it touches; [] for whole files."""
    target, lines = plan.target, list[str]()
    if target.intent:
        said = redact(target.intent)[:_MAX_INTENT].split("\n")
        lines += ["What its author says it is for:", *(f"> {line}" for line in said)]
    changed = plan.files if target.diffs else ()
    if more := [*changed, *(f"{path} (deleted)" for path in target.deleted)]:
        left = f", and {len(more) - _MAX_FILES} more" if len(more) > _MAX_FILES else ""
        listed = ", ".join(" ".join(path.split()) for path in more[:_MAX_FILES])
        lines.append(f"It changes: {listed}{left}")
    return lines


@dataclass(slots=True)
class Progress:
    """The progress of the running review. `read` has the digests of the hunks that were read, in order."""

    plan: Plan
    read: dict[str, None]
    state: TurnState = field(default_factory=lambda: TurnState("", 0, []))
    messages: list[ApiMessage] = field(default_factory=list)
    part: Part | None = None
    text: str = ""  # the message of the running part
    steps: int = 0  # loops of the running part
    is_repair: bool = False  # its one repair request was made
    answered: set[int] = field(
        default_factory=set
    )  # parts whose message was in an answered request
    closed: set[int] = field(default_factory=set)
    failed: int = 0  # parts in a row without anything readable
    lost: list[str] = field(default_factory=list)
    shown: str = ""  # all code that the model was shown, normalized

    def __post_init__(self) -> None:
        self.closed = {
            part.number
            for part in self.plan.parts
            if all(hunk.digest in self.read for hunk in part.hunks)
        }

    @property
    def waiting(self) -> list[Part]:
        """The parts that are not closed, including the running one."""
        return [part for part in self.plan.parts if part.number not in self.closed]

    def start_part(self, part: Part, label: str, known: Sequence[Finding]) -> None:
        """Set the message that asks to review a part: its lines, measures in its files, and their known findings."""
        head = f"Part {part.number} of {len(self.plan.parts)} of the review of {label}."
        text = [f"{head} Review these lines; read around them where needed."]
        text += _describe_change(self.plan)
        for path, hunks in groupby(part.hunks, key=lambda hunk: hunk.path):
            listed = list(hunks)
            title = (
                f"## {path}{f' (renamed from {listed[0].old_path})' if listed[0].old_path else ''}"
            )
            text.append(title.replace("\n", " "))  # a file's name may contain line breaks
            text += [f"{hunk.id}, {hunk.text}" for hunk in listed]
        if leads := [
            f"- measured: {lead}" for path in part.paths for lead in self.plan.leads.get(path, ())
        ]:
            text += [
                "\nLeads from tools, not from a reviewer; look at each before you report it:",
                *leads,
            ]
        if known:
            text.append(
                "\nKnown, not to be reported again; where a reason no longer holds, report it with same_as:"
            )
        for finding in known[:_MAX_KNOWN]:
            reason = f" ({finding.reason[:160]})" if finding.reason else ""
            words = f"{finding.code_smell_type} {finding.state}{reason}: {' '.join(finding.message.split())[:120]}"
            text.append(f"- {finding.id} {finding.place} {words}")
        text.append(
            f"\nEnd this part with report_findings(part={part.number}, done=true, findings=[...])."
        )
        self.text, self.part, self.steps, self.is_repair = "\n".join(text), part, 0, False
        self.shown += normalize_code(self.text)

    def add_user_message(self, text: str) -> None:
        """Append it to the conversation, or to the last message if that is the user's too."""
        *before, last = self.messages
        if last["role"] == "user":
            self.messages, text = before, f"{last['content']}\n\n{text}"
        self.messages = [*self.messages, {"role": "user", "content": text}]

    def fit_messages(
        self, limits: RequestLimits, counter: TokenCounter
    ) -> tuple[list[ApiMessage], int, list[Event]]:
        """Return the messages to send, their size in tokens and the events about it. The running part's message is
        restored if the window removed it. Raises ContextFull."""
        system, *rest = self.messages
        if all(self.text not in str(message.get("content")) for message in rest):
            same = (
                rest[:1] if rest[:1] and rest[0]["role"] == "user" else []
            )  # some services refuse two in a row
            text = "\n\n".join(
                [_LEFT_OUT, self.text, *(str(message["content"]) for message in same)]
            )
            rest = [{"role": "user", "content": text}, *rest[len(same) :]]
        sent, reduced = Ladder(limits, counter).fit([system, *rest])
        if reduced:  # what was removed does not come back
            self.messages = sent
        size = limits.measure(sent, counter)
        measured = ContextMeasured(size.tokens, size.limit, counter.estimated)
        return (
            sent,
            size.tokens,
            [*(ContextReduced(r.how, r.before, r.after, r.detail) for r in reduced), measured],
        )

    def advance(self, reply: ModelReply, read: Extraction, part: Part) -> str | None:
        """Process a reply and return the message to send next, if any. A reported part is closed. A missing or
        unreadable report is requested once; then the part is closed and counts as shown."""
        self.steps += 1
        alone = all(call.name == REPORT_TOOL for call in reply.calls)
        for number, done in read.reports:
            reported = next((other for other in self.plan.parts if other.number == number), part)
            is_running = reported is self.part
            if not (done or (done is None and alone)):
                continue
            if reported.number in self.answered:  # only then it was read
                self.read |= dict.fromkeys(hunk.digest for hunk in reported.hunks)
                self.failed = 0
            if reported.number in self.answered or is_running:
                self.closed.add(reported.number)
            self.part = None if is_running else self.part
        if self.part is None:
            return None
        broken = any(call.id in reply.malformed for call in reply.calls)
        due = not reply.calls or (broken and alone) or (self.is_repair and not alone)
        if reply.stop == "length" and not reply.calls and self.steps < _MAX_STEPS:
            return _CUT
        others = any(other is not part for other in self.waiting)
        if (due and self.is_repair) or (self.steps >= _MAX_STEPS and others):
            self.failed += self.is_repair and not read.findings
            self.part = None
            answer = reply.text.strip()[:_MAX_REPLY] or "-"
            self.lost.append(f"part {part.number}: no report could be read. The answer: {answer}")
            self.closed.add(part.number)
        elif due:
            self.is_repair = True
            return _REPAIR.format(number=part.number)
        return None

    def find_end(self) -> ReviewEnd | None:
        """Return how the review has ended, or None while there is a part to read."""
        if self.failed >= _MAX_UNREADABLE:
            return "unreadable"
        is_read = all(hunk.digest in self.read for part in self.plan.parts for hunk in part.hunks)
        return None if self.waiting else "done" if is_read else "unreadable"
