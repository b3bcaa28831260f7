"""Turns without a screen. Nothing is approved that the configuration does not allow, and the exit code is that of the
last failed turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing
from typing import TYPE_CHECKING

from swecli.headless.prompts import Prompt
from swecli.headless.signals import until_signal
from swecli.llm.base import BUDGET_HINT, budget_problem
from swecli.models.approval import AskRequest, Decision
from swecli.models.errors import BadInput, BusyElsewhere, LimitReached, SchemaUnmet, SwecliError
from swecli.models.json_value import JsonObject
from swecli.values import dataclass

if TYPE_CHECKING:  # the first prompt is read, and sent, before these are loaded
    from swecli.actions.goal import Goal
    from swecli.agent.request_builder import Turn
    from swecli.app import Runtime
    from swecli.config.settings import Settings
    from swecli.headless.answer_schema import AnswerSchema
    from swecli.headless.writers.base import Writer
    from swecli.llm.base import ChatModel

HEADLESS_REASON = (
    "nobody can be asked in this run; allow it beforehand with a rule (for example "
    'allow = ["run(pytest*)"] in the configuration) or --mode edits|auto'
)
_LIMITS = ("max_turns", "max_budget", "loop", "length")
_REFUSALS = ("refusal", "content_filter")
_WAIT_INTERVAL = 0.5  # seconds between two looks at what another process does
_log = logging.getLogger(__name__)


def refuse_unpriced(model: ChatModel, settings: Settings) -> None:
    """Raise BadInput for a cost limit that cannot be kept: nobody could stop the run."""
    if problem := budget_problem(model, settings):
        raise BadInput(problem, BUDGET_HINT)


async def refuse(request: AskRequest) -> Decision:
    """Deny the request: there is nobody to ask."""
    reason = HEADLESS_REASON
    if request.remedy:
        cause = request.why.rstrip(".")
        reason = (
            f"nobody can be asked in this run, and every mode asks here: {cause}; {request.remedy}"
        )
    return Decision(False, reason=reason, by="headless")


async def run_prompts(
    runtime: Runtime,
    prompts: AsyncIterator[Prompt],
    writer: Writer,
    prefetched: Turn | None = None,
    schema: AnswerSchema | None = None,
    goal: Goal | None = None,
) -> int:
    """Run and write a turn for each prompt, also after one that failed; with a `goal` instead the turns of that.

    `prefetched` is the first turn; with a `schema` every answer follows it, or its turn fails. Returns the exit code of
    the last turn that did not end well, else 0; 128 plus the signal's number if SIGINT, SIGTERM or SIGHUP ended the
    run.
    """
    run = _Run(runtime, writer, schema)
    turns = run.take_turns(prompts, prefetched) if goal is None else run.pursue(goal)
    code, signal_code = await until_signal(run.finish(turns))
    if code is None:
        writer.close(signal_code)
    return signal_code or code or 0


@dataclass(frozen=True, slots=True)
class _Run:
    """The turns of one process."""

    runtime: Runtime
    writer: Writer
    schema: AnswerSchema | None

    async def take_turns(self, prompts: AsyncIterator[Prompt], prefetched: Turn | None) -> int:
        """Run a turn for each prompt. Returns the exit code."""
        writer = self.writer
        code = 0
        is_first = True
        try:
            async for prompt in prompts:
                writer.begin()
                # before anything is awaited: it must survive a kill
                await self._store(prompt.text)
                await self.runtime.agent.admit(prompt.text)
                if is_first:
                    await self._check_anchors()
                turn = prefetched if is_first else None
                is_first = False
                code = await self._answer(prompt, turn) or code
                writer.begin()  # an error while the next prompt is awaited is not of this turn
        except SwecliError as error:
            if isinstance(error, BadInput):  # the waiting prompt was not sent
                self.runtime.sessions.drop_query()
            writer.refuse(error)
            code = error.exit_code
        return code

    async def pursue(self, goal: Goal) -> int:
        """Run the turns of a goal, and write them as one. Returns the exit code."""
        # late: few runs have a goal
        from swecli.headless.goal import WriterGoalFace, pursue

        face = WriterGoalFace(self.writer, self._store, self._end_goal_turn)
        try:
            if goal.prompt:
                await self.runtime.agent.admit(goal.prompt)
            await self._check_anchors()
            code = await pursue(self.runtime, goal, face)
        except SwecliError as error:  # it did not begin
            self.writer.refuse(error)
            return error.exit_code
        self.writer.close(code)
        return code

    async def _end_goal_turn(self) -> None:
        await self._close_jobs()
        self._learn()

    async def finish(self, turns: Awaitable[int]) -> int:
        """Run the turns, then reflect. Returns the exit code."""
        writer = self.writer
        writer.begin()
        code = await turns
        if reason := self.runtime.lost_sandbox:
            writer.note(f"there is no sandbox, so commands ran as you: {reason}")
        # not after an interrupt, nor with a provider that has just failed
        await _reflect(self.runtime, writer, ask=code == 0)
        await self._end_session()
        return code

    async def _end_session(self) -> None:
        hooks = self.runtime.agent.toolkit.hooks
        if hooks is None:
            return
        await hooks.end_session("other")
        for line in hooks.take_notices():
            self.writer.note(line)

    async def _store(self, query: str, **fields: str) -> None:
        """Store a query behind the turns of other processes in the session, if there are any. Its message may have
        other `fields`. Raises StoreError."""
        reported: set[str] = set()

        async def wait(busy: BusyElsewhere) -> None:
            if busy.message not in reported:
                reported.add(busy.message)
                self.writer.note(f"{busy.message} Waiting for its end.")
            await asyncio.sleep(_WAIT_INTERVAL)

        async def load() -> None:
            for line in self.runtime.load_again():
                self.writer.note(line)

        await self.runtime.store_query(query, wait, load, **fields)

    async def _check_anchors(self) -> None:
        if not self.runtime.session.playbook.bullets:  # learning is loaded after the first answer
            return
        for event in await self.runtime.learning.check_anchors():
            self.writer.write(event)

    async def _answer(self, prompt: Prompt, turn: Turn | None) -> int:
        """Run the turn of a prompt and write its end. Returns the exit code."""
        if self.schema is not None:
            return await self._answer_by_schema(prompt, self.schema)
        turn = turn or self.runtime.agent.prepare(prompt.text, prompt.tagged_attachment)
        code = await self._run_turn(turn)
        if self.writer.answers_last:
            self._learn()
            self.writer.close(code)
            return code
        try:
            self.writer.close(code)
        finally:  # also if nobody reads the answer
            self._learn()
        return code

    async def _answer_by_schema(self, prompt: Prompt, schema: AnswerSchema) -> int:
        """As `_answer`; an answer that does not follow the schema is asked for once more."""
        # late: most runs have no schema
        from swecli.headless.writers.base import StructuredAnswer
        from swecli.llm.model_json import ask_again

        agent, writer = self.runtime.agent, self.writer
        attachment = "\n".join(filter(None, (prompt.tagged_attachment, schema.instruction)))
        code = await self._run_turn(agent.prepare(prompt.text, attachment), schema.schema)
        self._learn()
        answer = schema.check(writer.turn.answer)
        if code == 0 and answer.fault:
            writer.ask_again(answer.fault)
            question = ask_again(answer.fault)
            await self._store(question)
            code = await self._run_turn(agent.prepare(question), schema.schema)
            self._learn()
            answer = schema.check(writer.turn.answer)
        if code == 0 and answer.fault:
            problem = f"The answer does not follow the schema: {answer.fault}."
            error = SchemaUnmet(
                problem, "It was asked for twice; what it says is stored: swecli -c"
            )
            writer.reject(error)
            return error.exit_code
        if code == 0:
            writer.turn.structured = StructuredAnswer(answer.value)
        writer.close(code)
        return code

    async def _run_turn(self, prepared: Turn, schema: JsonObject | None = None) -> int:
        """Run one turn, whose answer follows the `schema`, and write its events; return its exit code."""
        runtime, writer = self.runtime, self.writer
        try:
            async with aclosing(runtime.agent.run(prepared, schema)) as events:
                async for event in events:
                    writer.write(event)
        finally:
            await self._close_jobs()
        return _exit_code(writer)

    async def _close_jobs(self) -> None:
        """End the background commands of a turn, which nobody could see or stop."""
        if report := await self.runtime.agent.ctx.commands.jobs.close():
            self.writer.note(report)

    def _learn(self) -> None:
        """Learn from the turn by rules, and write what was learned. The model reflects at the end."""
        for event in self.runtime.learning.after_turn().events:
            self.writer.write(event)


def _exit_code(writer: Writer) -> int:
    turn = writer.turn
    if turn.failed:
        return turn.failed.exit_code
    reason = turn.finished.reason if turn.finished else "done"
    if reason in _LIMITS:
        return LimitReached.exit_code
    return 1 if reason in _REFUSALS else 0


async def _reflect(runtime: Runtime, writer: Writer, *, ask: bool) -> None:
    """Reflect on this run's turns at the end of the process, within the budget; the rest is noted and stays queued."""
    session, learning = runtime.sessions.current_session, runtime.learning
    if session is None or not runtime.settings.learn:
        return
    try:
        pending = runtime.sessions.turns.pending(session.id)
        numbers = [turn.interaction for turn in pending]
        learning.settle(numbers)
        if ask and runtime.settings.reflect_at_end:
            for event in await learning.reflect(*numbers, has_ended=True):
                writer.write(event)
        pending_turns = runtime.sessions.turns.pending(session.id)
    except Exception:  # noqa: BLE001 - a boundary
        _log.exception("reflecting failed")  # the answer is written: the exit code must not change
        return
    if pending_turns:
        turns = "1 turn waits" if len(pending_turns) == 1 else f"{len(pending_turns)} turns wait"
        writer.note(
            f"{turns} to be reflected on: start swecli in a terminal, or run swecli learn --from here"
        )
