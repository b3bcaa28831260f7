"""A review: part by part, requests with read-only tools; each response's findings are stored before anything else."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import replace

from swecli.agent.calls import CallRunner, Toolkit
from swecli.agent.turn import ModelStep, TurnRecord, autosave
from swecli.context.truncate import loop_window
from swecli.models.errors import BadInput, ContextOverflow, StoreError, SwecliError
from swecli.models.events import Event, Notice, StepStarted, ToolFinished, UsageReported
from swecli.models.finding import Finding, ReviewEnd
from swecli.models.message import AskRequest, ChatMessage, Decision, ModelReply, RequestRecord, Role, Usage
from swecli.models.review_events import (
    FindingsAccumulated,
    LoopWindowApplied,
    ReviewFinished,
    ReviewProgressed,
    ReviewStarted,
)
from swecli.review.judge.grounding import ground, identify_all, normalize_code
from swecli.review.judge.ledger import withdraw
from swecli.review.judge.sources import Sources
from swecli.review.read.extract import REPORT_TOOL, extract
from swecli.review.read.job import ReviewJob, planned_event, verify_review
from swecli.review.read.requests import Progress, ReviewRequest, build_part_message, read_only
from swecli.review.target.plan import Part, measure_coverage

_OVERFLOWS = 3
_RESULT_LIMIT = 30_000
_LAST = "This is the last loop: report everything you have not reported yet."


async def _nobody(request: AskRequest) -> Decision:
    """A review asks nothing: what would need a question is refused."""
    return Decision(False, reason="a review only reads, and nobody is asked", by="headless")


class Review:
    """One review. Consume `run`; when that is cancelled, `finish` gives the sum."""

    def __init__(self, job: ReviewJob) -> None:
        self.job, self.record, agent = job, job.record, job.agent
        self._store, self._sessions, self._model, self._counter = job.store, job.sessions, agent.model, agent.counter
        self._root, window = job.verifier.sources.root, agent.model.profile.window
        limit = min(_RESULT_LIMIT, window * 4 // 10) if window else _RESULT_LIMIT
        tools = read_only(agent.tools, self._left)
        ctx = replace(agent.ctx, root=self._root, results=job.sessions, seen={}, todos=[], page_limit=limit * 4 // 5)
        self._request = ReviewRequest(agent.model, tools.specs(), agent.counter, agent.settings.max_tokens)
        self._calls = CallRunner(Toolkit(tools, agent.permissions, ctx, _nobody), job.sessions, limit, agent.counter)
        self._files, self._turns = job.plan.target.names, TurnRecord(job.sessions, agent.counter)
        self._at = Progress(job.plan, dict.fromkeys(job.record.seen))
        self._ended: ReviewFinished | None = None

    async def run(self) -> AsyncGenerator[Event, None]:
        """Do it; the last event is `ReviewFinished`, also before SwecliError is raised: the service or the store failed
        for good."""
        job, at, leads = self.job, self._at, sum(map(len, self.job.plan.leads.values()))
        sizes = (len(job.plan.files), job.options.loops, self.record.loops, leads, len(job.rules))
        yield ReviewStarted(self.record.id, self.record.label, *sizes)
        yield planned_event(job.plan, self.record.id, job.rules)
        notice = getattr(self._model, "review_notice", "")
        for line in (*job.first, *([notice] if notice else [])):
            yield Notice(line, "warning")
        try:
            for event in self._open():
                yield event
            at.end = self._over()
            async with autosave(self._sessions, self._calls, at.state):
                while at.end is None:
                    async for event in self._loop():
                        yield event
                    at.end = at.end or self._over()
                checked, taken = await verify_review(job, self.record.id, at.state.usage.total)
                at.state.spend(taken.usage, taken.cost)
                for line in taken.problems:
                    yield Notice(line, "warning")
                if checked.findings:
                    yield checked
        except SwecliError:
            at.end = "failed"
            yield self.finish("failed")
            raise
        yield self.finish(at.end or "done")

    def finish(self, end: ReviewEnd) -> ReviewFinished:
        """Commit how it ended, with what a cut answer still held; the sum. The first end stays."""
        at, job = self._at, self.job
        if self._ended is not None:
            return self._ended
        with suppress(StoreError, BadInput):  # the sum is worth more than a last line of the transcript
            self._settle()
        found, parts = self._store.of_review(self.record.id), job.plan.parts[: self.record.loops]
        spent: dict[str, float] = {"tokens": at.state.usage.total, "loops": self.record.loops, "parts": len(parts)}
        spent["shown"] = sum(part.tokens for part in parts)
        self.record = self._store.end(replace(self.record, spent=spent), end)
        by_type = dict(sorted(Counter(finding.code_smell_type for finding in found).items()))
        left = sum(f.is_unchecked and f.is_open and f.at_least(job.options.fail_on) for f in found)
        unverified = left if job.options.verify else 0
        coverage = measure_coverage(job.plan, self.record.seen, at.shown(), end, unverified)
        self._ended = ReviewFinished(
            self.record.total, len(found), self.record.loops, by_type, self.record.id, end, tuple(found),
            self.record.lost, at.state.usage, at.state.cost, coverage, job.plan.estimate,
        )  # fmt: skip
        job.verifier.sources.close()
        return self._ended

    # One loop

    async def _loop(self) -> AsyncGenerator[Event, None]:
        at, loop = self._at, self.record.loops + 1
        part, last = self._running(), 1 < loop == self.job.options.loops
        if last and at.steps:
            self._say(_LAST)
        at.state.steps = loop
        yield StepStarted(loop)
        async for event in self._ask(report_only=last or at.report_only):
            yield event
        assert at.state.step is not None, "a request ends with its step, or raises"
        reply = at.state.step.reply
        yield self._save(reply, at.state.step.duration_ms, loop)
        read = extract(reply, loop, self._files, "".join([at.code, *at.looked]))
        found = await asyncio.to_thread(ground, read.findings, Sources(self._root), self._files)
        accumulated = self._note(found, read.lost, loop)
        withdraw(self._store, read.withdrawn)
        if read.findings:
            yield accumulated
        async for event in self._calls.run(at.state.open_calls, reply.malformed):
            if isinstance(event, ToolFinished):
                at.looked += (
                    [normalize_code(event.result.for_model)]
                    if event.result.ok and event.call.name != REPORT_TOOL
                    else []
                )
            yield event
        calls, at.state.open_calls = at.state.open_calls, []
        at.messages = [*at.messages, *ChatMessage(Role.ASSISTANT, reply.text, calls).to_api()]
        if (text := at.advance(reply, read, part)) is not None:
            self._say(text)
        lost = [line for line in at.lost if line not in self.record.lost]
        self.record = replace(self.record, seen=tuple(at.read), lost=(*self.record.lost, *lost))
        if calls and at.end is None and not await self._calls.may_continue():
            yield Notice("the same calls came again and again: the review ends here", "warning")
            at.end = "unreadable" if at.part is not None else "done"
        kept = loop_window(at.messages, loop)  # seed 000's: after loop 5, of more than 15 messages the last 10 stay
        if removed := len(at.messages) - len(kept):
            at.messages, at.left = kept, self._left()
            yield LoopWindowApplied(loop, removed, len(kept), self.record.id)
        self.record = self._store.record(self.record, []).review  # how far it is, and what was read
        yield self._progress(part)

    def _running(self) -> Part:
        at = self._at
        if at.part is not None:
            return at.part
        part = at.waiting[0]
        known = self._store.findings(["open", "regressed", "dismissed"], part.paths)
        leads = [lead for path in part.paths for lead in self.job.plan.leads.get(path, ())]
        at.open(part, build_part_message(part, len(self.job.plan.parts), self.record.label, leads, known))
        self._say(at.text)
        return part

    async def _ask(self, *, report_only: bool) -> AsyncGenerator[Event, None]:
        """One request, `state.step`. One that is called too long is sent again, smaller."""
        at = self._at
        for left in reversed(range(_OVERFLOWS + 1)):
            at.messages, request, events = self._request.make(at.messages, at.left, at.text, report_only=report_only)
            for event in events:
                yield event
            step = at.state.step = ModelStep(self._model, request, used_ids=self._calls.used_ids)
            try:
                async for event in step.run():
                    yield event
            except ContextOverflow as error:
                at.state.step = None
                if not left:
                    raise
                self._request.refused(error)
                yield Notice("the provider calls the request too long: it is reduced and sent again", "warning")
                continue
            if at.part is not None and any(at.text in str(message.get("content")) for message in request.messages):
                at.stood.add(at.part.number)
            return

    def _save(self, reply: ModelReply, duration_ms: int, loop: int) -> Event:
        state, name = self._at.state, self._model.name
        message = self._turns.store_reply(reply)
        state.step, state.open_calls = None, message.tool_calls
        usage = reply.usage or Usage(input=self._request.sent, output=self._counter.count(reply.text))
        record = RequestRecord(name, "review", message.interaction, loop, usage, reply.cost, duration_ms)
        self._sessions.record_request(record)
        state.spend(usage, reply.cost)
        return UsageReported(usage, reply.cost, estimated=reply.usage is None)

    def _note(self, findings: Sequence[Finding], lost: Sequence[str], loop: int) -> FindingsAccumulated:
        """Commit findings, before calls run and before any window moves."""
        lines = [f"loop {loop}: {line}" for line in lost]
        mine = {finding.id for finding in self._store.of_review(self.record.id)}
        known = self._store.findings(paths={finding.path for finding in findings}) if findings else []
        old = {(hunk.path, line) for hunk in self.job.plan.earlier for line in hunk.lines}
        candidates = identify_all([replace(f, late=(f.path, f.line) in old) for f in findings], known, mine)
        record = replace(self.record, loops=max(loop, self.record.loops), lost=(*self.record.lost, *lines))
        noted = self._store.record(record, candidates)
        self.record = noted.review
        return FindingsAccumulated(len(noted.new), noted.review.total, loop, tuple(noted.new), self.record.id)

    def _over(self) -> ReviewEnd | None:
        most, cost = self.job.agent.settings.max_budget_usd, self._at.state.cost
        if (end := self._at.over()) is not None:
            return end
        if self.record.loops >= self.job.options.loops:
            return "max_loops"
        return "max_budget" if most is not None and cost is not None and cost >= most else None

    def _progress(self, part: Part) -> ReviewProgressed:
        record, at, parts = self.record, self._at, len(self.job.plan.parts)
        coverage = measure_coverage(self.job.plan, record.seen, at.shown(), "")
        whole, counts = sum(file.whole for file in coverage.files), coverage.to_json(files=False)
        return ReviewProgressed(
            record.loops, self.job.options.loops, whole, len(coverage.files), record.unique, at.state.usage.total,
            at.state.cost, part.number, parts, part.paths, counts,
        )  # fmt: skip

    def _left(self) -> str:
        """How far the review is, behind the model's findings: how many there are, and how many parts are left."""
        parts, left = len(self.job.plan.parts), len(self._at.waiting)
        return f"{self.record.unique} findings are stored. {left} of {parts} parts are not done."

    # Begin, go on, end

    def _open(self) -> list[Event]:
        """The conversation as it begins, or as a killed run left it; its findings that were not stored yet."""
        at, session = self._at, self._sessions.current_session
        at.messages = [{"role": "system", "content": self.record.prompt}]
        if session is None or not session.messages:
            return []
        replies = [m for m in session.messages if m.role is Role.ASSISTANT and m.status == "complete"]
        events: list[Event] = []
        for loop, message in enumerate(replies[self.record.loops :], self.record.loops + 1):
            found = extract(ModelReply(message.content, calls=message.tool_calls), loop, self._files)
            events.append(self._note(ground(found.findings, Sources(self._root), self._files), found.lost, loop))
        at.left = self._left()
        at.messages = loop_window([*at.messages, *session.to_api_messages()], max(6, self.record.loops))
        return events

    def _say(self, text: str) -> None:
        session = self._sessions.current_session
        if session is None or not session.messages:
            self._sessions.begin_interaction(self.record.label, text)
        else:
            self._sessions.append(ChatMessage(Role.USER, text))
        self._at.add_user_message(text)

    def _settle(self) -> None:
        """Keep what a cut answer held: its findings, its text, and an answer to each open call; nothing is learned."""
        at, sessions = self._at, self._sessions
        session = sessions.current_session
        if session is None or not session.interactions:
            return
        if text := at.state.partial:
            found = extract(ModelReply(text), self.record.loops + 1, self._files)
            kept = ground(found.findings, Sources(self._root), self._files)
            self.record = self._store.record(self.record, identify_all(kept, [])).review
        self._turns.settle(at.state)
        at.state.step = None
        sessions.finish_interaction("done")
        sessions.playbook.record_reflection(session.id, session.interactions, "skipped")
