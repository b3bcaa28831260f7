"""What a review's model is sent: a system message that is the same for every part and push, a message a part, and the
tools, which only read, with the one that reports; and how far the review is."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import Field

from swecli.agent.turn import TurnState
from swecli.context.budget import ModelLimits, RequestLimits, measure
from swecli.context.fit import fit
from swecli.context.system_message import cache_marks
from swecli.context.tokens import TokenCounter
from swecli.llm.base import ChatModel
from swecli.models.errors import ContextOverflow
from swecli.models.events import ContextMeasured, ContextReduced, Event
from swecli.models.finding import SMELLS, Finding, ReviewEnd, pluralize
from swecli.models.message import ApiMessage, Display, ModelReply, ModelRequest, ToolResult, ToolSpec
from swecli.review.judge.grounding import normalize_code
from swecli.review.read.extract import REPORT_TOOL, Extraction
from swecli.review.target.plan import Part, Plan
from swecli.tools.base import READ, Params, Tool, ToolContext, ToolPlan
from swecli.tools.execute import ToolRegistry

_MOST_KNOWN = 40  # findings named in one message
_PROMPT = Path(__file__).parent / "prompts" / "review.md"
_ITEM: dict[str, Any] = json.loads(Path(__file__).with_name(f"{REPORT_TOOL}.json").read_text(encoding="utf-8"))
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
_LEFT_OUT = frozenset({"todo", "search_session", "skill", "task"})  # a review is of the code, not of what was said


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the project. `severity` is what its findings have where nothing else is said."""

    name: str
    text: str
    severity: str = "medium"


def system_prompt(rules: Sequence[Rule]) -> str:
    """The system message, which no window moves. Its length does not grow with the number of files."""
    smells = "\n".join(f"- {name}: {what}" for name, what in SMELLS.items())
    text = _PROMPT.read_text(encoding="utf-8").strip().replace("{smells}", smells)
    if not rules:
        return text
    own = "\n\n".join(f"### {rule.name} (severity {rule.severity})\n{rule.text}" for rule in rules)
    return f'{text}\n\n## The project\'s own checks (kind "check", code_smell_type its name)\n{own}'


def build_part_message(part: Part, of: int, label: str, leads: Sequence[str], known: Sequence[Finding]) -> str:
    """The message that asks for a part: its lines, what was measured in its files, and what is known of them."""
    text = [f"Part {part.number} of {of} of the review of {label}. Review these lines; read around them where needed."]
    for path, hunks in groupby(part.hunks, key=lambda hunk: hunk.path):
        listed = list(hunks)
        text.append(f"## {path}{f' (renamed from {listed[0].old_path})' if listed[0].old_path else ''}")
        text += [f"{hunk.id}, {hunk.text}" for hunk in listed]
    texts = ["\n".join(text)]
    if leads:
        head = "Leads from tools, not from a reviewer; look at each before you report it:"
        texts.append("\n".join([head, *(f"- measured: {lead}" for lead in leads)]))
    if known:
        head = "Known, not to be reported again; where a reason no longer holds, report it with same_as:"
        texts.append("\n".join([head, *map(_line, known[:_MOST_KNOWN])]))
    texts.append(f"End this part with report_findings(part={part.number}, done=true, findings=[...]).")
    return "\n\n".join(texts)


def _line(finding: Finding) -> str:
    reason = f" ({finding.reason[:160]})" if finding.reason else ""
    words = " ".join(finding.message.split())[:120]
    return f"- {finding.id} {finding.place} {finding.code_smell_type} {finding.state}{reason}: {words}"


class _ReportParams(Params):
    """Parameters of report_findings; the entries are not checked here, so that one bad entry costs no other."""

    part: Any = Field(None, description="The number of the part this is about.", json_schema_extra={"type": "integer"})
    done: Any = Field(None, description="Whether the part is read to its end.", json_schema_extra={"type": "boolean"})
    findings: Any = Field(description="The findings.", json_schema_extra={"type": "array", "items": _ITEM})
    withdraw: Any = Field(
        None,
        description="Ids of findings that were wrong.",
        json_schema_extra={"type": "array", "items": {"type": "string"}},
    )


def read_only(tools: ToolRegistry, answer: Callable[[], str]) -> ToolRegistry:
    """The tools of a review: those that only read, and the one that reports. What that is given is read before it runs;
    `answer` gives what the model reads once its findings are stored."""

    def plan(params: _ReportParams, ctx: ToolContext) -> ToolPlan:
        count = len(params.findings) if isinstance(params.findings, list) else 1
        return ToolPlan(f"Report {pluralize(count, 'finding')}")

    async def run(params: _ReportParams, ctx: ToolContext, plan: ToolPlan) -> ToolResult:
        text = answer()
        return ToolResult(True, text, Display(title="Findings", body=text))

    text = Path(__file__).with_name(f"{REPORT_TOOL}.md").read_text(encoding="utf-8").strip()
    kept = [tool for tool in tools if tool.kind.is_read_only and tool.name not in _LEFT_OUT]
    return ToolRegistry([*kept, Tool(REPORT_TOOL, text, _ReportParams, READ, run, plan)])


class ReviewRequest:
    """Makes requests of the whole or windowed conversation. `sent` is the size of the last one, in tokens."""

    def __init__(
        self, model: ChatModel, specs: list[ToolSpec], counter: TokenCounter, max_tokens: int | None = None
    ) -> None:
        self.model, self.specs, self.counter, self.max_tokens = model, specs, counter, max_tokens
        self._tools = counter.count_tools(specs)
        self._known, self._shape = ModelLimits(), (model.name, self._tools, max_tokens)
        self.sent = 0

    def make(
        self, messages: list[ApiMessage], left: str, part: str = "", *, report_only: bool = False
    ) -> tuple[list[ApiMessage], ModelRequest, list[Event]]:
        """The conversation to go on with, the request, and the events to emit about it. Where its beginning left by the
        window, it opens with `left`, how far the review is, and with `part`, the text of the running part, where that
        has left too; neither is stored. Raises ContextFull."""
        output, allowed = self._output, self._known.limits.get(self._shape)
        limits = RequestLimits(self.model.profile.window, output, allowed=allowed, tools_tokens=self._tools)
        opened = opening(messages, left, part)
        fitted, reduced = fit(opened, limits, self.counter)
        size = measure(fitted, limits, self.counter)
        self.sent = size.tokens
        specs = [spec for spec in self.specs if spec.name == REPORT_TOOL or not report_only]
        events: list[Event] = [ContextReduced(r.how, r.before, r.after, r.detail) for r in reduced]
        events.append(ContextMeasured(size.tokens, size.limit, self.counter.estimated))
        if reduced:  # what was taken out stays out
            added = opened[1] if opened != messages else None
            messages = [message for message in fitted if message != added]
        request = ModelRequest(self.model.name, fitted, specs, output, "review", marks=cache_marks(fitted))
        return messages, request, events

    def refused(self, error: ContextOverflow) -> None:
        """The last request was too long after all: the next is smaller, by what the provider said or by a part."""
        self._known = self._known.record_refusal(self._shape, self.sent, self._output, error)

    @property
    def _output(self) -> int:
        return self._known.answer_tokens(self.model.name, self.model.profile.reserve(self.max_tokens))


def opening(messages: list[ApiMessage], left: str, part: str = "") -> list[ApiMessage]:
    """The same with a user message in front, where the window took the one that was there or the running part."""
    missing = bool(part) and all(part not in str(message.get("content")) for message in messages)
    if len(messages) < 2 or (messages[1]["role"] == "user" and not missing):
        return messages
    note = f"(Earlier messages of this review were left out to save room; every finding is stored.) {left}"
    texts, rest = [note, *([part] if missing else [])], messages[1:]
    if rest[0]["role"] == "user":  # two of them in a row are more than some services take
        texts, rest = [*texts, str(rest[0]["content"])], rest[1:]
    return [messages[0], {"role": "user", "content": "\n\n".join(texts)}, *rest]


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
    code: str = ""  # of the running part, without white space
    looked: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_CODE))  # what tools have shown, newest last
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
        self.part, self.text, self.steps, self.repair = part, text, 0, False
        self.code = normalize_code(text)

    def add_user_message(self, text: str) -> None:
        """Add it to the conversation; to the last message where that is the user's too, as some services ask."""
        *before, last = self.messages
        if last["role"] == "user":
            self.messages, text = before, f"{last['content']}\n\n{text}"
        self.messages = [*self.messages, {"role": "user", "content": text}]

    def advance(self, reply: ModelReply, read: Extraction, part: Part) -> str | None:
        """Take a reply into account: close the part where its report came; the message to send, where one is due. A
        missing or unreadable report is asked for once; a part without one is given up, and counts as shown."""
        self.steps += 1
        alone = all(call.name == REPORT_TOOL for call in reply.calls)
        for number, done in read.reports:
            if done or (done is None and alone):
                self._close(next((other for other in self.plan.parts if other.number == number), part))
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
