"""Runs a review, from its plan to its summary: a turn of the one loop with read-only tools, then the verification."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace

from swecli.agent.calls import CallRunner
from swecli.agent.loop import Loop
from swecli.agent.turn import TurnRecord
from swecli.agent.turn_state import TurnState
from swecli.models.errors import BadInput, StoreError
from swecli.models.events import Event, Notice
from swecli.models.finding import ReviewEnd, ReviewRecord
from swecli.models.message import Usage
from swecli.models.review_events import ReviewFinished, ReviewStarted
from swecli.review.judge.verify import Verification
from swecli.review.read.dialogue import ReviewDialogue
from swecli.review.read.job import ReviewJob, read_only_toolkit
from swecli.review.read.report_tool import review_tools

_MAX_RESULT = 30_000  # characters of one result


class Review:
    """One review. Iterate over `run`; if that is cancelled, `finish` returns the summary."""

    def __init__(self, job: ReviewJob) -> None:
        self.job = job
        tools = review_tools(job.agent.tools)
        self._dialogue = ReviewDialogue.begin(job, tools.specs())
        self._turns = TurnRecord(job.sessions, job.agent.counter)
        self._calls = _make_runner(job)
        self._state = TurnState(job.record.label, 0)
        self._verification = Verification()
        self._finished: ReviewFinished | None = None
        self._is_settled = False

    @property
    def record(self) -> ReviewRecord:
        """The stored state of the review."""
        return self._dialogue.record

    async def run(self) -> AsyncGenerator[Event, None]:
        """Run the review and yield its events. The last one is `ReviewFinished`, also before an error is raised, which
        ends the review for good. Raises SwecliError."""
        job = self.job
        yield ReviewStarted(
            self.record.id,
            self.record.label,
            len(job.plan.files),
            self._dialogue.max_loops,
            self.record.loops,
            checks=len(job.rules),
        )
        yield job.plan.to_event(self.record.id, job.rules)
        for line in job.notices:
            yield Notice(line, "warning")
        try:
            dialogue = self._dialogue
            if not dialogue.is_over(self._state):
                loop = self._begin_loop()
                async with aclosing(loop.run(dialogue, self._state)) as events:
                    async for event in events:
                        yield event
            self._settle()
            async for event in self._verify():
                yield event
        except Exception:
            yield self.finish("failed")
            raise
        end = self._dialogue.find_end(self._state)
        assert end is not None, "the loop runs until the dialogue is over"
        yield self.finish(end)

    def _begin_loop(self) -> Loop:
        """Ask for the first part, with a new state, and return the loop that reads all of them."""
        self._dialogue.open_part()
        interaction = self.job.sessions.session.interactions
        self._state = TurnState(self.record.label, interaction, self.record.loops)
        return Loop(self.job.agent.model, self._calls, self._turns)

    async def _verify(self) -> AsyncGenerator[Event, None]:
        """Verify what was found. Raises StoreError."""
        state = self._state
        verdicts, self._verification = await self.job.verify(
            self.record.seen, state.usage.total, state.cost
        )
        for line in self._verification.problems:
            yield Notice(line, "warning")
        if verdicts.findings:
            yield verdicts

    def finish(self, end: ReviewEnd) -> ReviewFinished:
        """Store how the review ended, with the findings and the text of an interrupted reply, and return its summary.
        Later calls return the first one."""
        if self._finished is None:
            self._finished = self._finish(end)
            self.job.verifier.sources.close()
        return self._finished

    def _finish(self, end: ReviewEnd) -> ReviewFinished:
        job = self.job
        dialogue = self._dialogue
        # the summary matters more than the end of the transcript
        with suppress(StoreError, BadInput):
            self._settle()
        usage, cost = self._total()
        parts = job.plan.parts[: self.record.loops]
        spending: dict[str, float] = {
            **self.record.spent,
            "tokens": usage.total,
            "loops": self.record.loops,
            "parts": len(parts),
            "shown": sum(part.tokens for part in parts),
        }
        dialogue.record = job.store.record(
            replace(self.record, spent=spending, status=end), []
        ).review
        findings = job.findings()
        by_type = Counter(
            finding.code_smell_type for finding in findings if finding.state != "refuted"
        )
        unverified = 0
        if job.options.verify:
            severe = [finding for finding in findings if finding.at_least(job.options.fail_on)]
            unverified = sum(finding.is_unchecked and finding.is_open for finding in severe)
        answered = dialogue.progress.answered
        return ReviewFinished(
            self.record.total,
            by_type.total(),
            self.record.loops,
            dict(sorted(by_type.items())),
            self.record.id,
            end,
            tuple(findings),
            self.record.lost,
            usage,
            cost,
            job.plan.measure_coverage(self.record.seen, answered, end, unverified),
            job.plan.estimate,
            dialogue.text,
        )

    def _settle(self) -> None:
        """End the turn of reading, with what an interrupted one left. Later calls do nothing."""
        sessions = self.job.sessions
        if self._is_settled:
            return
        self._is_settled = True
        if self._state.partial:
            self._dialogue.store_partial(self._state.partial)
        session = sessions.session
        if session.interactions:
            self._turns.settle(self._state)
            sessions.finish_interaction("done")
            sessions.turns.skip(session.id, session.interactions)

    def _total(self) -> tuple[Usage, float | None]:
        """Return the usage of reading and verifying, and its cost in US dollars (None: unknown)."""
        reading = self._state
        verified = self._verification
        usage = reading.usage + verified.usage
        if reading.cost is None or verified.cost is None:
            return usage, None
        return usage, reading.cost + verified.cost


def _make_runner(job: ReviewJob) -> CallRunner:
    """Make the runner of the reviewer's calls: its tools see the reviewed tree. What a reply was shown may leave the
    window, so results are repeated."""
    agent = job.agent
    window = agent.model.profile.window
    limit = min(_MAX_RESULT, window * 4 // 10) if window else _MAX_RESULT
    toolkit = read_only_toolkit(agent, job.verifier.sources, job.sessions)
    toolkit = replace(toolkit, tools=review_tools(agent.tools))
    return CallRunner(toolkit, job.sessions, limit, agent.counter, repeats=True)
