"""Run a review: part by part, with read-only tools. Each reply's findings are stored before anything else happens."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import replace

from swecli.agent.calls import CallRunner, Toolkit
from swecli.agent.turn import ModelStep, TurnRecord
from swecli.context.budget import ModelLimits, RequestLimits
from swecli.context.system_message import cache_marks
from swecli.context.truncate import loop_window
from swecli.models.errors import BadInput, ContextOverflow, StoreError, SwecliError
from swecli.models.events import Event, Notice, StepStarted, ToolFinished, UsageReported
from swecli.models.finding import Finding, ReviewEnd
from swecli.models.message import (
    AskRequest,
    ChatMessage,
    Decision,
    ModelReply,
    ModelRequest,
    RequestRecord,
    Role,
    Usage,
)
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
from swecli.review.read.job import ReviewJob
from swecli.review.read.requests import FREE_STEPS, Progress

_MAX_OVERFLOWS = 3
_PARTIAL = "partial"  # the reports of an interrupted reply, in what a review has spent
_MAX_RESULT = 30_000
_LAST = "This is the last loop: report everything you have not reported yet."


async def _deny(request: AskRequest) -> Decision:
    return Decision(False, reason="a review is read-only and asks for no approval", by="headless")


class Review:
    """One review. Iterate over `run`; if that is cancelled, `finish` returns the summary."""

    def __init__(self, job: ReviewJob) -> None:
        self.job, self.record, agent, self._max_loops = (
            job,
            job.record,
            job.agent,
            job.agent.settings.review_loops,
        )
        self._store, self._sessions, self._model, self._counter = (
            job.store,
            job.sessions,
            agent.model,
            agent.counter,
        )
        self._root, window = job.verifier.sources.root, agent.model.profile.window
        limit = min(_MAX_RESULT, window * 4 // 10) if window else _MAX_RESULT
        tools = review_tools(agent.tools)
        ctx = replace(
            agent.ctx,
            root=self._root,
            sessions=job.sessions,
            file_digests={},
            todos=[],
            page_limit=limit * 4 // 5,
        )
        self._specs, self._known, self._reply = tools.specs(), ModelLimits(), ModelReply()
        self._calls = CallRunner(
            Toolkit(tools, agent.permissions, ctx, _deny), job.sessions, limit, agent.counter
        )
        target, self._turns = job.plan.target, TurnRecord(job.sessions, agent.counter)
        self._names = {diff.old_path: path for path, diff in target.diffs.items() if diff.old_path}
        self._names |= {path: path for path in target.files}
        self._at = Progress(job.plan, dict.fromkeys(job.record.seen))
        self._at.messages = [{"role": "system", "content": job.record.prompt}]
        self._text = ""  # the reviewer's last words
        self._finished: ReviewFinished | None = None

    async def run(self) -> AsyncGenerator[Event, None]:
        """Run the review and yield its events. The last one is `ReviewFinished`, also before a SwecliError is raised,
        which ends the review for good."""
        job, at, leads = self.job, self._at, sum(map(len, self.job.plan.leads.values()))
        sizes = (len(job.plan.files), self._max_loops, self.record.loops, leads, len(job.rules))
        yield ReviewStarted(self.record.id, self.record.label, *sizes)
        yield job.plan.to_event(self.record.id, job.rules)
        notice = getattr(self._model, "review_notice", "")
        for line in (*job.notices, *([notice] if notice else [])):
            yield Notice(line, "warning")
        try:
            while (end := self._find_end()) is None:
                async for event in self._run_loop():
                    yield event
            judged, verification = await job.verify(
                self.record.seen, at.state.usage.total, at.state.cost
            )
            at.state.spend(verification.usage, verification.cost)
            for line in verification.problems:
                yield Notice(line, "warning")
            if judged.findings:
                yield judged
        except SwecliError:
            yield self.finish("failed")
            raise
        yield self.finish(end)

    def finish(self, end: ReviewEnd) -> ReviewFinished:
        """Store how the review ended, with the findings and the text of an interrupted reply, and return its summary.
        Later calls return the first one."""
        at, job = self._at, self.job
        if self._finished is not None:
            return self._finished
        with suppress(
            StoreError, BadInput
        ):  # the summary matters more than the end of the transcript
            if text := at.state.partial:
                read = extract(ModelReply(text), self.record.loops + 1, self._names)
                kept = ground(read.findings, Sources(self._root), self._names)
                self._store_findings(kept, (), self.record.loops, partial=True)
            if self._sessions.session.interactions:
                self._turns.settle(at.state)
                self._sessions.finish_interaction("done")
                self._sessions.turns.skip(
                    self._sessions.session.id, self._sessions.session.interactions
                )
        found, parts = job.findings(), job.plan.parts[: self.record.loops]
        spent: dict[str, float] = {
            **self.record.spent,
            "tokens": at.state.usage.total,
            "loops": self.record.loops,
            "parts": len(parts),
        }
        spent["shown"] = sum(part.tokens for part in parts)
        self.record = self._store.record(replace(self.record, spent=spent, status=end), []).review
        by_type = Counter(f.code_smell_type for f in found if f.state != "refuted")
        left = sum(f.is_unchecked and f.is_open and f.at_least(job.options.fail_on) for f in found)
        unverified = left if job.options.verify else 0
        coverage = job.plan.measure_coverage(self.record.seen, at.answered, end, unverified)
        self._finished = ReviewFinished(
            self.record.total, by_type.total(), self.record.loops, dict(sorted(by_type.items())),
            self.record.id, end, tuple(found), self.record.lost, at.state.usage, at.state.cost, coverage,
            job.plan.estimate, self._text,
        )  # fmt: skip
        job.verifier.sources.close()
        return self._finished

    # One loop

    async def _run_loop(self) -> AsyncGenerator[Event, None]:
        job, at, loop = self.job, self._at, self.record.loops + 1
        if (part := at.part) is None:
            part = at.waiting[0]
            known = job.plan.select(self._store.findings(["open", "regressed"], part.paths))
            dismissed = self._store.findings(["dismissed"], part.paths)
            at.start_part(part, self.record.label, [*known, *dismissed])
            self._add_user_message(at.text)
        last = 1 < loop == self._max_loops
        if last and at.steps:
            self._add_user_message(_LAST)
        at.state.steps = loop
        yield StepStarted(loop)
        async for event in self._ask(report_only=last or at.is_repair or at.steps >= FREE_STEPS):
            yield event
        reply = self._reply
        self._text = reply.text.strip() or self._text
        read = extract(reply, loop, self._names, at.shown)
        found = await asyncio.to_thread(ground, read.findings, Sources(self._root), self._names)
        accumulated = self._store_findings(found, read.lost, loop)
        if read.findings:
            yield accumulated
        async for event in self._calls.run(at.state.open_calls, reply.malformed):
            if (
                isinstance(event, ToolFinished)
                and event.result.ok
                and event.call.name != REPORT_TOOL
            ):
                at.shown += normalize_code(event.result.for_model)
            yield event
        calls, at.state.open_calls = at.state.open_calls, []
        at.messages = [*at.messages, *ChatMessage(Role.ASSISTANT, reply.text, calls).to_api()]
        if (text := at.advance(reply, read, part)) is not None:
            self._add_user_message(text)
        lost = tuple(dict.fromkeys([*self.record.lost, *at.lost]))
        self.record = replace(self.record, seen=tuple(at.read), lost=lost)
        kept = loop_window(
            at.messages, loop
        )  # seed 000's: after loop 5, of more than 15 messages the last 10 stay
        if removed := len(at.messages) - len(kept):
            at.messages = kept
            yield LoopWindowApplied(loop, removed, len(kept), self.record.id)
        self.record = self._store.record(
            self.record, []
        ).review  # the loop count, and what was read
        coverage = job.plan.measure_coverage(self.record.seen, at.answered, "")
        whole, counts = sum(file.whole for file in coverage.files), coverage.to_json(files=False)
        yield ReviewProgressed(
            loop, self._max_loops, whole, len(coverage.files), self.record.unique, at.state.usage.total,
            at.state.cost, part.number, len(job.plan.parts), part.paths, counts,
        )  # fmt: skip

    async def _ask(self, *, report_only: bool) -> AsyncGenerator[Event, None]:
        """Send one request, and store its reply and cost; reduce and resend it if it is too long. Raises
        ContextFull."""
        at, model, counter, max_tokens = (
            self._at,
            self._model,
            self._counter,
            self.job.agent.settings.max_tokens,
        )
        shape = model.name, counter.count_tools(self._specs), max_tokens
        specs = [spec for spec in self._specs if spec.name == REPORT_TOOL or not report_only]
        for retries in reversed(range(_MAX_OVERFLOWS + 1)):
            known, window = self._known, model.profile.window
            output = known.answer_tokens(model.name, model.profile.reserve(max_tokens))
            limits = RequestLimits(
                window, output, allowed=known.limits.get(shape), tools_tokens=shape[1]
            )
            sent, tokens, events = at.fit_messages(limits, counter)
            for event in events:
                yield event
            request = ModelRequest(
                model.name, sent, specs, output, "review", marks=cache_marks(sent)
            )
            step = at.state.step = ModelStep(model, request, used_ids=self._calls.used_ids)
            try:
                async for event in step.run():
                    yield event
            except ContextOverflow as error:
                at.state.step = None
                if not retries:
                    raise
                self._known = known.record_refusal(shape, tokens, output, error)
                yield Notice(
                    "the provider rejected the request as too long: reducing and resending it",
                    "warning",
                )
                continue
            if at.part is not None and any(
                at.text in str(message.get("content")) for message in sent
            ):
                at.answered.add(at.part.number)
            self._reply = reply = step.reply
            message = self._turns.store_reply(reply)
            at.state.step, at.state.open_calls = None, message.tool_calls
            usage = reply.usage or Usage(input=tokens, output=counter.count(reply.text))
            spent = (usage, reply.cost, step.duration_ms)
            self._turns.store(
                RequestRecord(model.name, "review", message.interaction, at.state.steps, *spent)
            )
            at.state.spend(usage, reply.cost)
            yield UsageReported(usage, reply.cost, estimated=reply.usage is None)
            return

    def _store_findings(
        self, findings: Sequence[Finding], lost: Sequence[str], loop: int, *, partial: bool = False
    ) -> FindingsAccumulated:
        """Store the findings of a reply. Those of a `partial` one are counted again when its loop is asked again, so
        their number is kept until then."""
        plan = self.job.plan
        lines = [f"loop {loop}: {line}" for line in lost]
        mine = {finding.id for finding in self._store.findings_of(self.record.id)}
        known = (
            self._store.findings(paths={finding.path for finding in findings}) if findings else []
        )
        known += [row for row in self._store.findings(["gone"]) if findings and row not in known]
        old = {(hunk.path, line) for hunk in plan.earlier for line in hunk.lines}
        part = self._at.part or plan.parts[0]
        placed = [
            replace(f, late=(f.path, f.line) in old, hunk=plan.find_hunk(f, part)) for f in findings
        ]
        counted = int(self.record.spent.get(_PARTIAL, 0))
        spent: dict[str, float] = {_PARTIAL: counted + len(findings)} if partial else {}
        record = replace(self.record, loops=loop, lost=(*self.record.lost, *lines), spent=spent)
        reported = len(findings) if partial else max(0, len(findings) - counted)
        recorded = self._store.record(record, identify_all(placed, known, mine), reported)
        self.record = recorded.review
        return FindingsAccumulated(
            len(recorded.new),
            self.record.total,
            loop,
            tuple(recorded.new),
            self.record.id,
            reported,
        )

    def _find_end(self) -> ReviewEnd | None:
        max_cost, cost = self.job.agent.settings.max_budget_usd, self._at.state.cost
        is_spent = max_cost is not None and cost is not None and cost >= max_cost
        limit: ReviewEnd | None = "max_loops" if self.record.loops >= self._max_loops else None
        return self._at.find_end() or limit or ("max_budget" if is_spent else None)

    def _add_user_message(self, text: str) -> None:
        if not self._sessions.session.messages:
            self._sessions.begin_interaction(self.record.label, text)
        else:
            self._sessions.append(ChatMessage(Role.USER, text))
        self._at.add_user_message(text)
