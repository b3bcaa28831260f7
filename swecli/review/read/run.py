"""Run a review: part by part, with read-only tools. Each reply's findings are stored before anything else happens."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import replace

from swecli.agent.calls import CallRunner, Toolkit
from swecli.agent.turn import ModelStep, TurnRecord
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
from swecli.review.judge.grounding import ground, identify_all
from swecli.review.judge.sources import Sources, normalize_code
from swecli.review.read.extract import REPORT_TOOL, extract, review_tools
from swecli.review.read.job import ReviewJob, verify_review
from swecli.review.read.requests import Progress, ReviewRequests
from swecli.review.target.plan import Part, measure_coverage

_MAX_OVERFLOWS = 3
_MAX_RESULT = 30_000
_LAST = "This is the last loop: report everything you have not reported yet."


async def _deny(request: AskRequest) -> Decision:
    return Decision(False, reason="a review only reads, and nobody is asked", by="headless")


class Review:
    """One review. Iterate over `run`; if that is cancelled, `finish` returns the summary."""

    def __init__(self, job: ReviewJob) -> None:
        self.job, self.record, agent = job, job.record, job.agent
        self._store, self._sessions, self._model, self._counter = job.store, job.sessions, agent.model, agent.counter
        self._root, window = job.verifier.sources.root, agent.model.profile.window
        limit = min(_MAX_RESULT, window * 4 // 10) if window else _MAX_RESULT
        tools = review_tools(agent.tools)
        ctx = replace(
            agent.ctx, root=self._root, sessions=job.sessions, file_digests={}, todos=[], page_limit=limit * 4 // 5
        )
        self._requests = ReviewRequests(agent.model, tools.specs(), agent.counter, agent.settings.max_tokens)
        self._calls = CallRunner(Toolkit(tools, agent.permissions, ctx, _deny), job.sessions, limit, agent.counter)
        self._names, self._turns = job.plan.target.files_by_name, TurnRecord(job.sessions, agent.counter)
        self._at = Progress(job.plan, dict.fromkeys(job.record.seen))
        self._finished: ReviewFinished | None = None

    async def run(self) -> AsyncGenerator[Event, None]:
        """Run the review and yield its events. The last one is `ReviewFinished`, also before a SwecliError is raised,
        which ends the review for good."""
        job, at, leads = self.job, self._at, sum(map(len, self.job.plan.leads.values()))
        sizes = (len(job.plan.files), job.options.loops, self.record.loops, leads, len(job.rules))
        yield ReviewStarted(self.record.id, self.record.label, *sizes)
        yield job.plan.to_event(self.record.id, job.rules)
        notice = getattr(self._model, "review_notice", "")
        for line in (*job.notices, *([notice] if notice else [])):
            yield Notice(line, "warning")
        try:
            for event in self._restore():
                yield event
            at.end = self._find_end()
            async with self._turns.autosave(self._calls, at.state):
                while at.end is None:
                    async for event in self._run_loop():
                        yield event
                    at.end = at.end or self._find_end()
                judged, verification = await verify_review(job, self.record.id, at.state.usage.total)
                at.state.spend(verification.usage, verification.cost)
                for line in verification.problems:
                    yield Notice(line, "warning")
                if judged.findings:
                    yield judged
        except SwecliError:
            at.end = "failed"
            yield self.finish("failed")
            raise
        yield self.finish(at.end or "done")

    def finish(self, end: ReviewEnd) -> ReviewFinished:
        """Store how the review ended, with the findings of an interrupted reply, and return its summary. Later calls
        return the first one."""
        at, job = self._at, self.job
        if self._finished is not None:
            return self._finished
        with suppress(StoreError, BadInput):  # the summary matters more than the end of the transcript
            self._settle()
        found, parts = self._store.findings_of(self.record.id), job.plan.parts[: self.record.loops]
        spent: dict[str, float] = {"tokens": at.state.usage.total, "loops": self.record.loops, "parts": len(parts)}
        spent["shown"] = sum(part.tokens for part in parts)
        self.record = self._store.finish(replace(self.record, spent=spent), end)
        by_type = dict(sorted(Counter(finding.code_smell_type for finding in found).items()))
        left = sum(f.is_unchecked and f.is_open and f.at_least(job.options.fail_on) for f in found)
        unverified = left if job.options.verify else 0
        coverage = measure_coverage(job.plan, self.record.seen, at.answered, end, unverified)
        self._finished = ReviewFinished(
            self.record.total, len(found), self.record.loops, by_type, self.record.id, end, tuple(found),
            self.record.lost, at.state.usage, at.state.cost, coverage, job.plan.estimate,
        )  # fmt: skip
        job.verifier.sources.close()
        return self._finished

    # One loop

    async def _run_loop(self) -> AsyncGenerator[Event, None]:
        at, loop = self._at, self.record.loops + 1
        part, last = self._current_part(), 1 < loop == self.job.options.loops
        if last and at.steps:
            self._add_user_message(_LAST)
        at.state.steps = loop
        yield StepStarted(loop)
        async for event in self._ask(report_only=last or at.report_only):
            yield event
        assert at.state.step is not None, "a request ends with its step, or raises"
        reply = at.state.step.reply
        yield self._store_reply(reply, at.state.step.duration_ms, loop)
        read = extract(reply, loop, self._names, at.shown)
        found = await asyncio.to_thread(ground, read.findings, Sources(self._root), self._names)
        accumulated = self._store_findings(found, read.lost, loop)
        if read.findings:
            yield accumulated
        async for event in self._calls.run(at.state.open_calls, reply.malformed):
            if isinstance(event, ToolFinished) and event.result.ok and event.call.name != REPORT_TOOL:
                at.shown += normalize_code(event.result.for_model)
            yield event
        calls, at.state.open_calls = at.state.open_calls, []
        at.messages = [*at.messages, *ChatMessage(Role.ASSISTANT, reply.text, calls).to_api()]
        if (text := at.advance(reply, read, part)) is not None:
            self._add_user_message(text)
        lost = [line for line in at.lost if line not in self.record.lost]
        self.record = replace(self.record, seen=tuple(at.read), lost=(*self.record.lost, *lost))
        if calls and at.end is None and not await self._calls.may_continue():
            yield Notice("the model repeated the same calls, so the review ends", "warning")
            at.end = "unreadable" if at.part is not None else "done"
        kept = loop_window(at.messages, loop)  # seed 000's: after loop 5, of more than 15 messages the last 10 stay
        if removed := len(at.messages) - len(kept):
            at.messages = kept
            yield LoopWindowApplied(loop, removed, len(kept), self.record.id)
        self.record = self._store.record(self.record, []).review  # the loop count, and what was read
        yield self._progressed(part)

    def _current_part(self) -> Part:
        """Return the running part, or start the next one."""
        at = self._at
        if at.part is not None:
            return at.part
        part = at.waiting[0]
        known = self._store.findings(["open", "regressed", "dismissed"], part.paths)
        at.start_part(part, self.record.label, known)
        self._add_user_message(at.text)
        return part

    async def _ask(self, *, report_only: bool) -> AsyncGenerator[Event, None]:
        """Send one request, whose reply is then in `state.step`; reduce and resend it if it is too long."""
        at = self._at
        for retries in reversed(range(_MAX_OVERFLOWS + 1)):
            at.messages, request, events = self._requests.build(at.messages, at.text, report_only=report_only)
            for event in events:
                yield event
            step = at.state.step = ModelStep(self._model, request, used_ids=self._calls.used_ids)
            try:
                async for event in step.run():
                    yield event
            except ContextOverflow as error:
                at.state.step = None
                if not retries:
                    raise
                self._requests.record_overflow(error)
                yield Notice("the provider rejected the request as too long: reducing and resending it", "warning")
                continue
            if at.part is not None and any(at.text in str(message.get("content")) for message in request.messages):
                at.answered.add(at.part.number)
            return

    def _store_reply(self, reply: ModelReply, duration_ms: int, loop: int) -> Event:
        state, name = self._at.state, self._model.name
        message = self._turns.store_reply(reply)
        state.step, state.open_calls = None, message.tool_calls
        usage = reply.usage or Usage(input=self._requests.sent, output=self._counter.count(reply.text))
        record = RequestRecord(name, "review", message.interaction, loop, usage, reply.cost, duration_ms)
        self._sessions.record_request(record)
        state.spend(usage, reply.cost)
        return UsageReported(usage, reply.cost, estimated=reply.usage is None)

    def _store_findings(self, findings: Sequence[Finding], lost: Sequence[str], loop: int) -> FindingsAccumulated:
        lines = [f"loop {loop}: {line}" for line in lost]
        mine = {finding.id for finding in self._store.findings_of(self.record.id)}
        known = self._store.findings(paths={finding.path for finding in findings}) if findings else []
        old = {(hunk.path, line) for hunk in self.job.plan.earlier for line in hunk.lines}
        candidates = identify_all([replace(f, late=(f.path, f.line) in old) for f in findings], known, mine)
        record = replace(self.record, loops=max(loop, self.record.loops), lost=(*self.record.lost, *lines))
        recorded = self._store.record(record, candidates)
        self.record = recorded.review
        return FindingsAccumulated(len(recorded.new), self.record.total, loop, tuple(recorded.new), self.record.id)

    def _find_end(self) -> ReviewEnd | None:
        max_cost, cost = self.job.agent.settings.max_budget_usd, self._at.state.cost
        if (end := self._at.find_end()) is not None:
            return end
        if self.record.loops >= self.job.options.loops:
            return "max_loops"
        return "max_budget" if max_cost is not None and cost is not None and cost >= max_cost else None

    def _progressed(self, part: Part) -> ReviewProgressed:
        record, at, parts = self.record, self._at, len(self.job.plan.parts)
        coverage = measure_coverage(self.job.plan, record.seen, at.answered, "")
        whole, counts = sum(file.whole for file in coverage.files), coverage.to_json(files=False)
        return ReviewProgressed(
            record.loops, self.job.options.loops, whole, len(coverage.files), record.unique, at.state.usage.total,
            at.state.cost, part.number, parts, part.paths, counts,
        )  # fmt: skip

    # Begin, continue, end

    def _restore(self) -> list[Event]:
        """Set up the conversation, of a killed review from its messages, and store findings that it had not stored."""
        at, session = self._at, self._sessions.current_session
        at.messages = [{"role": "system", "content": self.record.prompt}]
        if session is None or not session.messages:
            return []
        replies = [m for m in session.messages if m.role is Role.ASSISTANT and m.status == "complete"]
        events: list[Event] = []
        for loop, message in enumerate(replies[self.record.loops :], self.record.loops + 1):
            read = extract(ModelReply(message.content, calls=message.tool_calls), loop, self._names)
            found = ground(read.findings, Sources(self._root), self._names)
            events.append(self._store_findings(found, read.lost, loop))
        at.messages = loop_window([*at.messages, *session.to_api_messages()], max(6, self.record.loops))
        return events

    def _add_user_message(self, text: str) -> None:
        session = self._sessions.current_session
        if session is None or not session.messages:
            self._sessions.begin_interaction(self.record.label, text)
        else:
            self._sessions.append(ChatMessage(Role.USER, text))
        self._at.add_user_message(text)

    def _settle(self) -> None:
        """Store the findings and the text of an interrupted reply, and answer its open calls."""
        at, sessions = self._at, self._sessions
        session = sessions.current_session
        if session is None or not session.interactions:
            return
        if text := at.state.partial:
            read = extract(ModelReply(text), self.record.loops + 1, self._names)
            kept = ground(read.findings, Sources(self._root), self._names)
            self.record = self._store.record(self.record, identify_all(kept, [])).review
        self._turns.settle(at.state)
        at.state.step = None
        sessions.finish_interaction("done")
        sessions.playbook.record_reflection(session.id, session.interactions, "skipped")
