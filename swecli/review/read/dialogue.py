"""The dialogue with a reviewer: it is asked part by part, and its findings are stored before its calls run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import field, replace

from swecli.agent.sender import Outgoing
from swecli.agent.turn_state import TurnState
from swecli.context.budget import RequestLimits
from swecli.context.observed_limits import ModelLimits, RequestShape
from swecli.context.system_message import cache_marks
from swecli.models.errors import ContextOverflow
from swecli.models.events import Event, ToolFinished
from swecli.models.finding import LOOPS_OF_READ, Finding, ReviewEnd, ReviewRecord
from swecli.models.message import (
    ApiMessage,
    ChatMessage,
    ModelReply,
    ModelRequest,
    Role,
    ToolSpec,
    Usage,
)
from swecli.models.review_events import FindingsAccumulated, LoopWindowApplied, ReviewProgressed
from swecli.review.judge.grounding import ground, identify_all
from swecli.review.judge.sources import normalize_code
from swecli.review.read.conversation import Conversation, LoopWindow
from swecli.review.read.extract import Extraction, extract
from swecli.review.read.job import ReviewJob
from swecli.review.read.part_message import write_part_message
from swecli.review.read.progress import Progress
from swecli.review.read.report_tool import REPORT_TOOL
from swecli.review.target.plan import Part
from swecli.values import dataclass

_PARTIAL = "partial"  # the reports of an interrupted reply, in what a review has spent
_CLOSED = "its findings are stored, and its messages are left out."
_LAST_LOOP = "This is the last loop: report everything you have not reported yet."


@dataclass(frozen=True, slots=True)
class _SentRequest:
    """What is known of a request, should the provider refuse it as too long."""

    shape: RequestShape
    tokens: int
    reserve: int
    messages: list[ApiMessage]


@dataclass(slots=True)
class ReviewDialogue:
    """One review. `record` is its stored state."""

    job: ReviewJob
    specs: list[ToolSpec]  # the tools of the reviewer
    record: ReviewRecord
    progress: Progress
    conversation: Conversation
    names: dict[str, str]
    """The paths that a finding may name, each with the path of today."""
    text: str = ""  # the reviewer's last words
    _question: str = ""  # the message of the running part
    _part: Part | None = None  # the part of the running step, also after it was closed
    _shown_code: str = ""  # all code that the model was shown, normalized
    _is_report_only: bool = False
    _limits: ModelLimits = field(default_factory=ModelLimits)
    _sent_request: _SentRequest | None = None
    _extraction: Extraction = field(default_factory=Extraction)

    @classmethod
    def begin(cls, job: ReviewJob, specs: list[ToolSpec]) -> ReviewDialogue:
        """Begin the dialogue of a job. Nothing is stored."""
        target = job.plan.target
        names = {diff.old_path: path for path, diff in target.diffs.items() if diff.old_path}
        names |= {path: path for path in target.files}
        read_digests = dict.fromkeys(job.record.seen)
        loops_of_read = job.record.loops - job.record.unread_loops
        progress = Progress(job.plan, read_digests, loops_of_read=loops_of_read)
        return cls(job, specs, job.record, progress, Conversation.begin(job.record.prompt), names)

    @property
    def max_loops(self) -> int:
        """The most loops that a part may take. Those of parts that are given up count together."""
        return self.job.agent.settings.review_loops

    @property
    def last_loop(self) -> int:
        """The loop that is the last one unless a part is read in it: the loops of read parts do not count."""
        return self.max_loops + self.progress.loops_of_read

    def is_over(self, state: TurnState) -> bool:
        """Return whether all is read, or a limit is reached."""
        return self.find_end(state) is not None

    def find_end(self, state: TurnState) -> ReviewEnd | None:
        """Return how the review has ended, or None while there is something to ask."""
        if end := self.progress.find_end():
            return end
        if self.record.loops >= self.last_loop:
            return "max_loops"
        max_cost = self.job.agent.settings.max_budget_usd
        if max_cost is not None and state.cost is not None and state.cost >= max_cost:
            return "max_budget"
        return None

    def begin_step(self, state: TurnState) -> None:
        """Ask for the next part if none is running. The last loop is announced."""
        self.open_part()
        is_last = 1 < state.steps == self.last_loop
        if is_last and self.progress.steps:
            self._add_user_text(_LAST_LOOP)
        self._is_report_only = is_last or self.progress.is_report_due

    def open_part(self) -> None:
        """Ask for the next part, unless one is running."""
        progress = self.progress
        plan = self.job.plan
        store = self.job.store
        if progress.part is None:
            part = progress.waiting_parts[0]
            earlier_findings = plan.select(store.findings(["open", "regressed"], part.paths))
            earlier_findings += store.findings(["dismissed"], part.paths)
            progress.start_part(part)
            self._question = write_part_message(plan, part, self.record.label, earlier_findings)
            self._shown_code += normalize_code(self._question)
            self._add_user_text(self._question)
        self._part = progress.part

    async def prepare(self, *, was_refused: bool) -> Outgoing:
        """Fit the conversation into the model's window. Raises ContextFull."""
        agent = self.job.agent
        model = agent.model
        counter = agent.counter
        max_tokens = agent.settings.max_tokens
        shape = RequestShape(model.name, counter.count_tools(self.specs), max_tokens)
        reserve = self._limits.answer_tokens(model.name, model.profile.reserve(max_tokens))
        limits = RequestLimits(
            model.profile.window,
            reserve,
            allowed=self._limits.limits.get(shape),
            tools_tokens=shape.tools_tokens,
        )
        fitted = self.conversation.fit(self._question, limits, counter)
        self._sent_request = _SentRequest(shape, fitted.tokens, reserve, fitted.messages)
        specs = self.specs
        if self._is_report_only:
            specs = [spec for spec in specs if spec.name == REPORT_TOOL]
        marks = cache_marks(fitted.messages)
        request = ModelRequest(model.name, fitted.messages, specs, reserve, "review", marks=marks)
        return Outgoing(request, reports=fitted.events)

    def record_refusal(self, error: ContextOverflow) -> None:
        """Lower the limit that requests are fitted to."""
        sent_request = self._sent_request
        if sent_request is not None:
            self._limits = self._limits.record_refusal(
                sent_request.shape, sent_request.tokens, sent_request.reserve, error
            )

    def check(self, reply: ModelReply, usage: Usage | None) -> list[str]:
        """Do nothing: counts are not compared."""
        return []

    async def read_reply(self, state: TurnState, reply: ModelReply) -> list[Event]:
        """Store the findings of a reply, and return their event if there are any."""
        part = self.progress.part
        sent_messages = self._sent_request.messages if self._sent_request else []
        texts = [str(message.get("content")) for message in sent_messages]
        if part and any(self._question in text for text in texts):
            self.progress.answered.add(part.number)
        if reply.stop != "length":  # the end of what was cut off says nothing
            self.text = reply.text.strip() or self.text
        self._extraction = extract(reply, state.steps, self._shown_code)
        sources = self.job.plan.target.sources.reread()
        reported = self._extraction.findings
        findings = await asyncio.to_thread(ground, reported, sources, self.names)
        event = self._store_findings(findings, self._extraction.losses, state.steps)
        return [event] if findings else []

    def store_partial(self, text: str) -> None:
        """Store the findings of an interrupted reply."""
        extraction = extract(ModelReply(text), self.record.loops + 1)
        sources = self.job.plan.target.sources.reread()
        findings = ground(extraction.findings, sources, self.names)
        self._store_findings(findings, (), self.record.loops, partial=True)

    def take_event(self, event: Event) -> None:
        """Note the code that a tool shows."""
        if not isinstance(event, ToolFinished) or event.call.name == REPORT_TOOL:
            return
        if event.result.ok:
            self._shown_code += normalize_code(event.result.for_model)

    async def end_step(
        self, state: TurnState, message: ChatMessage, reply: ModelReply
    ) -> list[Event]:
        """Continue with the next message, store what was read so far, and return the events about it."""
        progress = self.progress
        part = self._part
        loop = state.steps
        last_loop = self.last_loop  # before a part is read
        assert part is not None, "a step begins with a part"
        self.conversation.hear(reply.text, message.tool_calls)
        text = progress.advance(reply, self._extraction, part)
        if text is not None:
            self._add_user_text(text)
        if progress.part is None:
            count = len(self.job.plan.parts)
            self.conversation.close_part(f"Part {part.number} of {count} is closed: {_CLOSED}")
        losses = tuple(dict.fromkeys([*self.record.lost, *progress.losses]))
        spending = {**self.record.spent, LOOPS_OF_READ: progress.loops_of_read}
        self.record = replace(
            self.record, seen=tuple(progress.read_digests), lost=losses, spent=spending
        )
        events: list[Event] = []
        settings = self.job.agent.settings
        window = LoopWindow(
            settings.review_window_after, settings.review_window_over, settings.review_window_keep
        )
        removed = self.conversation.forget(loop, window)
        if removed:
            kept_count = len(self.conversation.messages)
            events.append(LoopWindowApplied(loop, removed, kept_count, self.record.id))
        self.record = self.job.store.record(self.record, []).review
        events.append(self._measure_progress(state, part, last_loop))
        return events

    def _measure_progress(self, state: TurnState, part: Part, last_loop: int) -> ReviewProgressed:
        plan = self.job.plan
        coverage = plan.measure_coverage(self.record.seen, self.progress.answered, "")
        return ReviewProgressed(
            state.steps,
            last_loop,
            sum(file.whole for file in coverage.files),
            len(coverage.files),
            self.record.unique,
            state.usage.total,
            state.cost,
            part.number,
            len(plan.parts),
            part.paths,
            coverage.to_json(files=False),
        )

    def _store_findings(
        self,
        findings: Sequence[Finding],
        losses: Sequence[str],
        loop: int,
        *,
        partial: bool = False,
    ) -> FindingsAccumulated:
        """Store the findings of a reply. Those of a `partial` one are counted again when its loop is asked again, so
        their number is kept until then."""
        store = self.job.store
        plan = self.job.plan
        reported_ids = {finding.id for finding in store.findings_of(self.record.id)}
        earlier_findings: list[Finding] = []
        if findings:
            earlier_findings = store.findings(paths={finding.path for finding in findings})
            earlier_findings += [
                finding for finding in store.findings(["gone"]) if finding not in earlier_findings
            ]
        part = self.progress.part or plan.parts[0]
        earlier_lines = {(hunk.path, line) for hunk in plan.earlier for line in hunk.lines}
        placed = []
        for finding in findings:
            is_late = (finding.path, finding.line) in earlier_lines
            hunk = plan.find_hunk(finding, part)
            placed.append(replace(finding, late=is_late, hunk=hunk))
        spending = dict(self.record.spent)
        already_counted = int(spending.pop(_PARTIAL, 0))
        reported = max(0, len(findings) - already_counted)
        if partial:
            spending[_PARTIAL] = already_counted + len(findings)
            reported = len(findings)
        lines = [f"request {loop}: {line}" for line in losses]
        record = replace(self.record, loops=loop, lost=(*self.record.lost, *lines), spent=spending)
        recorded = store.record(
            record, identify_all(placed, earlier_findings, reported_ids), reported
        )
        self.record = recorded.review
        new = tuple(recorded.new_findings)
        total = self.record.total
        return FindingsAccumulated(len(new), total, loop, new, self.record.id, reported)

    def _add_user_text(self, text: str) -> None:
        """Add a message of the user's to the conversation, and to the session."""
        sessions = self.job.sessions
        if sessions.session.messages:
            sessions.append(ChatMessage(Role.USER, text))
        else:
            sessions.begin_interaction(self.record.label, text)
        self.conversation.add_user_text(text)
