"""A review: requests with read-only tools, every response's findings stored before anything else happens to it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from swecli.agent.calls import CallRunner
from swecli.agent.step import ModelStep
from swecli.agent.turn import TurnState
from swecli.agent.unfinished import stored_as_it_comes
from swecli.context.truncate import loop_window
from swecli.models.errors import BadInput, ContextOverflow, StoreError, SwecliError
from swecli.models.events import Event, Notice, StepStarted, ToolFinished, UsageReported
from swecli.models.finding import Finding, ReviewEnd
from swecli.models.message import INTERRUPTED_RESULT, ApiMessage, ChatMessage, RequestRecord, Role, Usage
from swecli.models.review_events import (
    FindingsAccumulated,
    LoopWindowApplied,
    ReviewFinished,
    ReviewProgressed,
    ReviewStarted,
)
from swecli.review.judge.grounding import ground
from swecli.review.judge.sources import Sources
from swecli.review.read.extract import extract
from swecli.review.read.job import Collaborators, ReviewJob, nobody
from swecli.review.read.prompt import not_read
from swecli.review.read.report_findings import read_only
from swecli.review.read.requests import ReviewRequest

OVERFLOWS = 3
IDLE = 2  # replies in a row without a call and without a new finding end a review
BEGIN = "Review it now. Read what you need, and report findings as you go."
CUT = "Your answer reached its length limit. Report the findings in smaller parts, and go on."
LAST = "This is the last loop: report everything you have not reported yet."
GO_ON = "Go on: read the files that were not read yet, and report what you find in them."


@dataclass(slots=True)
class _Progress:
    """Where the running review is."""

    messages: list[ApiMessage]
    state: TurnState
    left: str = ""  # what was left when the window last moved: it stays, so that the beginning does not change
    idle: int = 0
    news: int = 0
    end: ReviewEnd | None = None
    ended: ReviewFinished | None = field(default=None)


class Review:
    """One review. Consume `run`; when that is cancelled, `finish` gives the sum of what was found."""

    def __init__(self, job: ReviewJob, parts: Collaborators) -> None:
        self.job, self.parts, self.record = job, parts, job.record
        self.root: Path = parts.ctx.root
        tools = read_only(parts.tools, self._left)
        ctx = replace(parts.ctx, results=parts.sessions, seen={}, todos=[], page_limit=parts.result_limit * 4 // 5)
        self.request = ReviewRequest(parts.model, tools.specs(), parts.counter, parts.max_tokens)
        self.calls = CallRunner(
            tools, ctx, parts.permissions, nobody, parts.sessions, parts.result_limit, parts.counter
        )
        self._at = _Progress([], TurnState("", 0, []))

    async def run(self) -> AsyncGenerator[Event, None]:
        """Do it; the last event is `ReviewFinished`.

        Raises:
            SwecliError: the model's service or the store failed for good; `ReviewFinished` came before it.
        """
        job, at = self.job, self._at
        yield ReviewStarted(
            self.record.id, self.record.label, len(job.files), job.most_loops, self.record.loops, job.leads, job.checks
        )
        notice = getattr(self.parts.model, "review_notice", "")
        for line in (*job.first, *([notice] if notice else [])):
            yield Notice(line, "warning")
        try:
            for event in await self._open():
                yield event
            at.end = self._over()
            async with stored_as_it_comes(self.parts.sessions, self.calls, at.state):
                while at.end is None:
                    async for event in self._loop():
                        yield event
                    at.end = at.end or self._over()
        except SwecliError:
            at.end = "failed"
            yield self.finish("failed")
            raise
        yield self.finish(at.end or "done")

    def finish(self, end: ReviewEnd) -> ReviewFinished:
        """Commit how it ended, with what a cut answer still held; the sum. The first end stays."""
        at = self._at
        if at.ended is not None:
            return at.ended
        with suppress(StoreError, BadInput):  # the sum is worth more than a last line of the transcript
            self._settle()
        found = self.parts.store.of_review(self.record.id)
        self.record = self.parts.store.end(self.record, end)
        by_type = dict(sorted(Counter(finding.code_smell_type for finding in found).items()))
        at.ended = ReviewFinished(
            self.record.total, len(found), self.record.loops, by_type, self.record.id, end, tuple(found),
            self.record.lost, at.state.usage, at.state.cost,
        )  # fmt: skip
        return at.ended

    # One loop

    async def _loop(self) -> AsyncGenerator[Event, None]:
        at, loop = self._at, self.record.loops + 1
        if loop == self.job.most_loops and loop > 1:
            self._say(LAST)
        at.state.steps = loop
        yield StepStarted(loop)
        step: ModelStep | None = None
        async for happened in self._ask():
            if isinstance(happened, ModelStep):
                step = happened
            else:
                yield happened
        assert step is not None, "a request ends with its step, or raises"
        yield self._save(step, loop)
        if (found := await self._take(step, loop)) is not None:
            yield found
        async for event in self.calls.run(at.state.open_calls, step.reply.malformed):
            self._look(event)
            yield event
        calls, at.state.open_calls = at.state.open_calls, []
        at.messages = [*at.messages, *ChatMessage(Role.ASSISTANT, step.reply.text, calls).to_api()]
        if not calls:
            self._go_on(cut=step.reply.stop == "length")
        elif not await self.calls.going_on():
            yield Notice("the same calls came again and again: the review ends here", "warning")
            at.end = "done"
        if (window := self._window(loop)) is not None:
            yield window
        self.record = self.parts.store.note(self.record, []).review  # how far it is, and what was read
        yield self._progress()

    async def _ask(self) -> AsyncGenerator[Event | ModelStep, None]:
        """One request; the finished `Step` comes last. One that is called too long is sent again, smaller."""
        for left in reversed(range(OVERFLOWS + 1)):
            self._at.messages, request, told = self.request.make(self._at.messages, self._at.left)
            for event in told:
                yield event
            step = self._at.state.step = ModelStep(self.parts.model, request, self.parts.sleep, self.calls.used_ids)
            try:
                async for event in step.run():
                    yield event
            except ContextOverflow as error:
                if not left:
                    raise
                self._at.state.step = None
                self.request.refused(error.limit)
                yield Notice("the provider says the request is too long: it is made smaller and sent again", "warning")
                continue
            yield step
            return

    def _save(self, step: ModelStep, loop: int) -> Event:
        """Commit the reply and its bill."""
        at, reply, parts = self._at, step.reply, self.parts
        message = parts.sessions.append(ChatMessage(Role.ASSISTANT, reply.text, reply.calls, reasoning=reply.reasoning))
        at.state.step, at.state.open_calls = None, message.tool_calls
        usage = reply.usage or Usage(input=self.request.sent, output=parts.counter.count(reply.text))
        record = RequestRecord(
            parts.model.name, "review", message.interaction, loop, usage, reply.cost, step.duration_ms
        )
        parts.sessions.record_request(record)
        at.state.spend(usage, reply.cost)
        return UsageReported(usage, reply.cost, estimated=reply.usage is None)

    async def _take(self, step: ModelStep, loop: int) -> Event | None:
        """Commit the findings of a reply, before its calls run and before any window moves."""
        reply = step.reply
        found = extract(reply.text, reply.calls, loop, reply.malformed)
        grounded = await asyncio.to_thread(ground, found.findings, Sources(self.root))
        event = self._note(grounded, found.lost, loop)
        return event if found.findings else None

    def _note(self, findings: Sequence[Finding], lost: Sequence[str], loop: int) -> FindingsAccumulated:
        said = [f"loop {loop}: {line}" for line in lost]
        noted = self.parts.store.note(
            replace(self.record, loops=max(loop, self.record.loops), lost=(*self.record.lost, *said)), findings
        )
        self.record, self._at.news = noted.review, len(noted.new)
        return FindingsAccumulated(len(noted.new), noted.review.total, loop, tuple(noted.new))

    def _look(self, event: Event) -> None:
        """Note which of the files were read."""
        if isinstance(event, ToolFinished) and event.call.name == "read_file" and event.result.ok:
            path = str(event.call.parameters.get("path", "")).removeprefix("./")
            if path in self.job.files and path not in self.record.seen:
                self.record = replace(self.record, seen=(*self.record.seen, path))

    def _go_on(self, *, cut: bool) -> None:
        """What is said to a reply without calls; nothing where the review is done."""
        at = self._at
        at.idle = 0 if at.news else at.idle + 1
        if cut:
            self._say(CUT)
        elif at.idle >= IDLE or not (left := not_read(self.job.files, self.record.seen)):
            at.end = "done"
        else:
            self._say(f"{GO_ON}\n{left}")

    def _window(self, loop: int) -> LoopWindowApplied | None:
        """Seed 000's window: after loop 5, of more than 15 messages the system message and the last 10 stay."""
        at = self._at
        kept = loop_window(at.messages, loop)
        removed = len(at.messages) - len(kept)
        if not removed:
            return None
        at.messages, at.left = kept, self._left()
        return LoopWindowApplied(loop, removed, len(kept))

    def _over(self) -> ReviewEnd | None:
        cost, most = self._at.state.cost, self.job.max_cost
        if self.record.loops >= self.job.most_loops:
            return "max_loops"
        return "max_budget" if most is not None and cost is not None and cost >= most else None

    def _progress(self) -> ReviewProgressed:
        record, at = self.record, self._at
        files = len(self.job.files)
        return ReviewProgressed(
            record.loops, self.job.most_loops, len(record.seen), files, record.unique, at.state.usage.total,
            at.state.cost,
        )  # fmt: skip

    def _left(self) -> str:
        """What the model is told behind its findings: how many there are, and which files are left."""
        count = f"{self.record.unique} findings are stored."
        return f"{count} {not_read(self.job.files, self.record.seen) or 'Every file was read.'}"

    # Begin, go on, end

    async def _open(self) -> list[Event]:
        """The conversation as it begins, or as a killed run left it; its findings that were not stored yet."""
        at, sessions = self._at, self.parts.sessions
        system: ApiMessage = {"role": "system", "content": self.record.prompt}
        session = sessions.current_session
        if session is None or not session.messages:
            sessions.begin_interaction(self.record.label, BEGIN)
            at.messages = [system, {"role": "user", "content": BEGIN}]
            return []
        replies = [m for m in session.messages if m.role is Role.ASSISTANT and m.status == "complete"]
        told: list[Event] = []
        for loop, message in enumerate(replies[self.record.loops :], self.record.loops + 1):
            found = extract(message.content, message.tool_calls, loop)
            told.append(self._note(ground(found.findings, Sources(self.root)), found.lost, loop))
        at.left = self._left()
        at.messages = loop_window([system, *session.to_api_messages()], max(6, self.record.loops))
        return told

    def _say(self, text: str) -> None:
        self.parts.sessions.append(ChatMessage(Role.USER, text))
        self._at.messages = [*self._at.messages, {"role": "user", "content": text}]

    def _settle(self) -> None:
        """Keep what a cut answer held: its findings, its text, and an answer to each open call."""
        at, sessions = self._at, self.parts.sessions
        session = sessions.current_session
        if session is None or not session.interactions:
            return
        if at.state.partial:
            found = extract(at.state.partial, loop=self.record.loops + 1)
            self.record = self.parts.store.note(self.record, ground(found.findings, Sources(self.root))).review
            sessions.append(ChatMessage(Role.ASSISTANT, at.state.partial, status="partial"))
            at.state.step = None
        for call in at.state.open_calls:
            if call.result is None:
                call.result, call.error = INTERRUPTED_RESULT, "interrupted"
                sessions.record_call(call)
        sessions.finish_interaction("done")
        sessions.playbook.record_reflection(
            session.id, session.interactions, status="skipped", author="", usage=Usage(), cost=0.0, detail="a review"
        )
