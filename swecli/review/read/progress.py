"""How far a review is: which part is running, which were shown and read, and what its next message says."""

from __future__ import annotations

from dataclasses import dataclass, field

from swecli.agent.turn import TurnState
from swecli.models.finding import ReviewEnd
from swecli.models.message import ApiMessage, ModelReply, ToolCall, ToolResult
from swecli.review.read.extract import TOOL, Extraction
from swecli.review.target.plan import Part, Plan

_STEPS_OF_PART = 4  # after so many loops of one part only the report is offered
_MOST_STEPS = 6  # after so many the next part is begun, where there is one
_UNREADABLE = 2  # parts in a row without a readable report end a review
_KEPT_TEXT = 2_000  # letters of an unreadable reply that are kept in the result
_KEPT_CODE = 8  # results of tools that are remembered, to tell quotations from findings
_CUT = "Your answer reached its length limit. Report the findings in smaller parts, and go on."
_REPAIR = (
    "No report of this part could be read. Call report_findings(part={number}, done=true, findings=[...]) now, with "
    "every finding you have named; if there is none, with an empty list."
)


@dataclass(slots=True)
class Progress:
    """Where the running review is. `read` has the digests of the hunks that were read, in order."""

    plan: Plan
    read: dict[str, None]
    state: TurnState = field(default_factory=lambda: TurnState("", 0, []))
    messages: list[ApiMessage] = field(default_factory=list)
    left: str = ""  # what was left when the window last moved: it stays, so that the beginning does not change
    part: Part | None = None
    text: str = ""  # of the running part, as it was sent
    steps: int = 0  # loops of the running part
    repair: bool = False  # its one repair request was made
    stood: set[int] = field(default_factory=set)  # parts whose text stood in an answered request
    closed: set[int] = field(default_factory=set)
    failed: int = 0  # parts in a row of whose answers nothing could be read
    unreadable: bool = False
    lost: list[str] = field(default_factory=list)
    code: dict[str, str] = field(default_factory=dict)  # what was shown, without white space
    end: ReviewEnd | None = None

    def __post_init__(self) -> None:
        self.closed = {part.number for part in self.plan.parts if all(hunk.digest in self.read for hunk in part.hunks)}

    @property
    def report_only(self) -> bool:
        """Whether the next request offers the report alone."""
        return self.repair or self.steps >= _STEPS_OF_PART

    @property
    def waiting(self) -> list[Part]:
        """The parts that are not done, the running one included."""
        return [part for part in self.plan.parts if part.number not in self.closed]

    def open(self, part: Part, text: str) -> None:
        """Begin a part, with its message."""
        self.part, self.text, self.steps, self.repair = part, text, 0, False
        self.code["part"] = "".join("".join(hunk.code for hunk in part.hunks).split())

    def add_user_message(self, text: str) -> None:
        """Add it to the conversation; to the last message where that is the user's too, as some services ask."""
        *before, last = self.messages
        if last["role"] == "user":
            self.messages, text = before, f"{last['content']}\n\n{text}"
        self.messages = [*self.messages, {"role": "user", "content": text}]

    def look(self, call: ToolCall, result: ToolResult) -> None:
        """Remember what the model was shown."""
        if result.ok and call.name != TOOL:
            lines = (line.lstrip().lstrip("0123456789").lstrip("\t|: →") for line in result.for_model.split("\n"))
            newest = [pair for pair in self.code.items() if pair[0] != "part"][1 - _KEPT_CODE :]
            shown = "".join("".join(lines).split())
            self.code = {"part": self.code.get("part", ""), **dict(newest), call.id: shown}

    def advance(self, reply: ModelReply, read: Extraction, part: Part) -> str | None:
        """Take a reply into account: close the part where its report came; the message to send, where one is due.

        A missing or unreadable report is asked for once; a part without one is given up, and counts as shown.
        """
        self.steps += 1
        alone = all(call.name == TOOL for call in reply.calls)
        for report in read.reports:
            if report.done or (report.done is None and alone):
                self._close(next((other for other in self.plan.parts if other.number == report.part), part))
        if self.part is None:
            return None
        broken = any(call.id in reply.malformed for call in reply.calls)
        due = not reply.calls or (broken and alone) or (self.repair and not alone)
        if reply.stop == "length" and not reply.calls and self.steps < _MOST_STEPS:
            return _CUT
        others = any(other is not part for other in self.waiting)
        if (due and self.repair) or (self.steps >= _MOST_STEPS and others):
            self.failed += self.repair and not read.findings  # it was asked for, and there was nothing to read
            self.unreadable, self.part = True, None
            answer = reply.text.strip()[:_KEPT_TEXT] or "-"
            self.lost.append(f"part {part.number}: no report could be read. The answer: {answer}")
            self.closed.add(part.number)
        elif due:
            self.repair = True
            return _REPAIR.format(number=part.number)
        return None

    def _close(self, part: Part) -> None:
        """Its report came: it is read, if its text stood in a request that was answered."""
        if part.number in self.stood:
            self.read |= dict.fromkeys(hunk.digest for hunk in part.hunks)
            self.failed = 0
        if part.number in self.stood or part is self.part:
            self.closed.add(part.number)
        if part is self.part:
            self.part = None

    def over(self) -> ReviewEnd | None:
        """How the review has ended, None while there is something to read."""
        if not self.waiting:
            return "unreadable" if self.unreadable else "done"
        return "unreadable" if self.failed >= _UNREADABLE else None

    def shown(self) -> set[str]:
        """Digests of the hunks that stood in an answered request."""
        return {hunk.digest for part in self.plan.parts if part.number in self.stood for hunk in part.hunks}
