"""A review: part by part, requests with read-only tools; each response's findings are stored before anything else."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from swecli.agent.calls import CallRunner
from swecli.agent.step import ModelStep
from swecli.agent.turn import TurnState
from swecli.agent.unfinished import stored_as_it_comes
from swecli.context.truncate import loop_window
from swecli.models.errors import BadInput, ContextOverflow, StoreError, SwecliError
from swecli.models.events import Event, Notice, StepStarted, UsageReported
from swecli.models.finding import Finding, ReviewEnd
from swecli.models.message import ApiMessage, ChatMessage, RequestRecord, Role, Usage
from swecli.models.review_events import (
    FindingsAccumulated,
    LoopWindowApplied,
    ReviewFinished,
    ReviewProgressed,
    ReviewStarted,
)
from swecli.review.judge.grounding import ground
from swecli.review.judge.identity import identified
from swecli.review.judge.sources import Sources
from swecli.review.read.checking import end_transcript, run_checks, unverified, withdraw
from swecli.review.read.coverage import cover
from swecli.review.read.extract import Extraction, extract
from swecli.review.read.job import Collaborators, ReviewJob, nobody, planned
from swecli.review.read.progress import Progress
from swecli.review.read.prompt import part_message
from swecli.review.read.report_findings import read_only
from swecli.review.read.requests import ReviewRequest
from swecli.review.target.plan import Part

OVERFLOWS = 3
LAST = "This is the last loop: report everything you have not reported yet."


class Review:
    """One review. Consume `run`; when that is cancelled, `finish` gives the sum."""

    def __init__(self, job: ReviewJob, parts: Collaborators) -> None:
        self.job, self.parts, self.record = job, parts, job.record
        self.root: Path = parts.ctx.root
        tools = read_only(parts.tools, self._left)
        ctx = replace(parts.ctx, results=parts.sessions, seen={}, todos=[], page_limit=parts.result_limit * 4 // 5)
        self.request = ReviewRequest(parts.model, tools.specs(), parts.counter, parts.max_tokens)
        self.calls = CallRunner(
            tools, ctx, parts.permissions, nobody, parts.sessions, parts.result_limit, parts.counter
        )
        self._at = Progress(job.plan, set(job.record.seen), TurnState("", 0, []))

    async def run(self) -> AsyncGenerator[Event, None]:
        """Do it; the last event is `ReviewFinished`.

        Raises:
            SwecliError: the model's service or the store failed for good; `ReviewFinished` came before it.
        """
        job, at = self.job, self._at
        sizes = (len(job.plan.files), job.most_loops, self.record.loops, len(job.hints), len(job.rules))
        yield ReviewStarted(self.record.id, self.record.label, *sizes)
        yield planned(job.plan, job.estimate, self.record.id, job.rules)
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
                for checked in await run_checks(job, self.parts, self.record.id, at.state):
                    yield checked
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
        self.record = self.parts.store.end(replace(self.record, spent=self._spent()), end)
        by_type = dict(sorted(Counter(finding.code_smell_type for finding in found).items()))
        coverage = cover(self.job.plan, self.record.seen, at.shown(), end, unverified(found, self.job.options))
        at.ended = ReviewFinished(
            self.record.total, len(found), self.record.loops, by_type, self.record.id, end, tuple(found),
            self.record.lost, at.state.usage, at.state.cost, coverage, self.job.estimate,
        )  # fmt: skip
        return at.ended

    def _spent(self) -> dict[str, float]:
        parts = self.job.plan.parts[: self.record.loops]
        shown = sum(part.tokens for part in parts)
        return {"tokens": self._at.state.usage.total, "loops": self.record.loops, "shown": shown, "parts": len(parts)}

    # One loop

    async def _loop(self) -> AsyncGenerator[Event, None]:
        at, loop = self._at, self.record.loops + 1
        part = self._running()
        last = loop == self.job.most_loops and loop > 1
        if last and at.steps:
            self._say(LAST)
        at.state.steps = loop
        yield StepStarted(loop)
        step: ModelStep | None = None
        async for happened in self._ask(report_only=last or at.report_only):
            if isinstance(happened, ModelStep):
                step = happened
            else:
                yield happened
        assert step is not None, "a request ends with its step, or raises"
        yield self._save(step, loop)
        read = self._read(step, loop)
        found = await asyncio.to_thread(ground, read.findings, Sources(self.root))
        accumulated = self._note(found, read.lost, loop)
        withdraw(self.parts, read.withdrawn)
        if read.findings:
            yield accumulated
        async for event in self.calls.run(at.state.open_calls, step.reply.malformed):
            at.look(event)
            yield event
        calls, at.state.open_calls = at.state.open_calls, []
        at.messages = [*at.messages, *ChatMessage(Role.ASSISTANT, step.reply.text, calls).to_api()]
        if (text := at.advance(step.reply, read, part)) is not None:
            self._say(text)
        lost = [line for line in at.lost if line not in self.record.lost]
        self.record = replace(self.record, seen=tuple(at.read), lost=(*self.record.lost, *lost))
        if calls and at.end is None and not await self.calls.going_on():
            yield Notice("the same calls came again and again: the review ends here", "warning")
            at.end = "unreadable" if at.part is not None else "done"
        if (window := self._window(loop)) is not None:
            yield window
        self.record = self.parts.store.note(self.record, []).review  # how far it is, and what was read
        yield self._progress(part)

    def _running(self) -> Part:
        """The part that is asked for; the next one where that was closed."""
        at = self._at
        if at.part is None:
            part = next(part for part in self.job.plan.parts if part.number not in at.closed)
            known = self.parts.store.findings(["open", "regressed", "dismissed"], part.paths)
            at.open(part, part_message(part, at.of, self.record.label, self.job.hints, known))
            self._say(at.text)
            return part
        return at.part

    async def _ask(self, *, report_only: bool) -> AsyncGenerator[Event | ModelStep, None]:
        """One request; the finished `Step` comes last. One that is called too long is sent again, smaller."""
        at = self._at
        for left in reversed(range(OVERFLOWS + 1)):
            at.messages, request, events = self.request.make(at.messages, at.left, at.text, report_only=report_only)
            for event in events:
                yield event
            step = at.state.step = ModelStep(self.parts.model, request, self.parts.sleep, self.calls.used_ids)
            try:
                async for event in step.run():
                    yield event
            except ContextOverflow as error:
                if not left:
                    raise
                at.state.step = None
                self.request.refused(error)
                yield Notice("the provider calls the request too long: it is made smaller and sent again", "warning")
                continue
            if at.part is not None and any(at.text in str(message.get("content")) for message in request.messages):
                at.stood.add(at.part.number)
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

    def _read(self, step: ModelStep, loop: int) -> Extraction:
        """What a reply reported."""
        reply = step.reply
        return extract(
            reply.text, reply.calls, loop, reply.malformed,
            broken=reply.broken, paths=set(self.job.target.files), shown="".join(self._at.code.values()),
        )  # fmt: skip

    def _note(self, findings: Sequence[Finding], lost: Sequence[str], loop: int) -> FindingsAccumulated:
        """Commit findings, before calls run and before any window moves."""
        lines = [f"loop {loop}: {line}" for line in lost]
        store, mine = self.parts.store, {finding.id for finding in self.parts.store.of_review(self.record.id)}
        known = store.findings(paths={finding.path for finding in findings}) if findings else []
        old = {(hunk.path, line) for hunk in self.job.plan.earlier for line in hunk.lines}
        candidates = identified([replace(f, late=(f.path, f.line) in old) for f in findings], known, mine)
        record = replace(self.record, loops=max(loop, self.record.loops), lost=(*self.record.lost, *lines))
        noted = store.note(record, candidates)
        self.record = noted.review
        return FindingsAccumulated(len(noted.new), noted.review.total, loop, tuple(noted.new), self.record.id)

    def _window(self, loop: int) -> LoopWindowApplied | None:
        """Seed 000's window: after loop 5, of more than 15 messages the system message and the last 10 stay."""
        at = self._at
        kept = loop_window(at.messages, loop)
        removed = len(at.messages) - len(kept)
        if not removed:
            return None
        at.messages, at.left = kept, self._left()
        return LoopWindowApplied(loop, removed, len(kept), self.record.id)

    def _over(self) -> ReviewEnd | None:
        state, most = self._at.state, self.job.max_cost
        if (end := self._at.over()) is not None:
            return end
        if self.record.loops >= self.job.most_loops:
            return "max_loops"
        return "max_budget" if most is not None and state.cost is not None and state.cost >= most else None

    def _progress(self, part: Part) -> ReviewProgressed:
        record, at = self.record, self._at
        coverage = cover(self.job.plan, record.seen, at.shown(), "")
        return ReviewProgressed(
            record.loops, self.job.most_loops, sum(file.whole for file in coverage.files), len(coverage.files),
            record.unique, at.state.usage.total, at.state.cost, part.number, at.of, part.paths,
            coverage.to_json(files=False),
        )  # fmt: skip

    def _left(self) -> str:
        """How far the review is, behind the model's findings: how many there are, and how many parts are left."""
        left = sum(part.number not in self._at.closed for part in self.job.plan.parts)
        return f"{self.record.unique} findings are stored. {left} of {len(self.job.plan.parts)} parts are not done."

    # Begin, go on, end

    async def _open(self) -> list[Event]:
        """The conversation as it begins, or as a killed run left it; its findings that were not stored yet."""
        at, sessions = self._at, self.parts.sessions
        system: ApiMessage = {"role": "system", "content": self.record.prompt}
        at.messages = [system]
        session = sessions.current_session
        if session is None or not session.messages:
            return []
        replies = [m for m in session.messages if m.role is Role.ASSISTANT and m.status == "complete"]
        events: list[Event] = []
        for loop, message in enumerate(replies[self.record.loops :], self.record.loops + 1):
            found = extract(message.content, message.tool_calls, loop, paths=set(self.job.target.files))
            events.append(self._note(ground(found.findings, Sources(self.root)), found.lost, loop))
        at.left = self._left()
        at.messages = loop_window([system, *session.to_api_messages()], max(6, self.record.loops))
        return events

    def _say(self, text: str) -> None:
        sessions = self.parts.sessions
        if sessions.current_session is None or not sessions.current_session.messages:
            sessions.begin_interaction(self.record.label, text)
        else:
            sessions.append(ChatMessage(Role.USER, text))
        self._at.add_user_message(text)

    def _settle(self) -> None:
        """Keep what a cut answer held: its findings, its text, and an answer to each open call."""
        at, sessions = self._at, self.parts.sessions
        session = sessions.current_session
        if session is None or not session.interactions:
            return
        if at.state.partial:
            found = extract(at.state.partial, loop=self.record.loops + 1, paths=set(self.job.target.files))
            self.record = self.parts.store.note(self.record, ground(found.findings, Sources(self.root))).review
            sessions.append(ChatMessage(Role.ASSISTANT, at.state.partial, status="partial"))
            at.state.step = None
        end_transcript(sessions, at.state)
