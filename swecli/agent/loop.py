"""The loop: ask the model, save what it said, run what it asked for, until it is done. There is no other loop."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from swecli.agent.calls import CallRunner
from swecli.agent.context_fitter import ContextFitter
from swecli.agent.request_builder import Turn
from swecli.agent.turn import Fitted, ModelStep, StepPlace, TurnState
from swecli.agent.turn_record import TurnRecord, stored_as_it_comes
from swecli.config.settings import Settings
from swecli.llm.base import ChatModel
from swecli.models.errors import ContextOverflow, SwecliError
from swecli.models.events import (
    ContextMeasured,
    Event,
    FinishReason,
    Notice,
    StepRetried,
    StepStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from swecli.models.message import ChatMessage, ModelReply, RequestRecord, Usage

_TOO_LONG = "the provider says the request is too long"
_PAUSES = 3  # how often a reply that a service pauses is sent back to go on
_OVERFLOWS = 3  # how often a request is made smaller because the provider refused it


@dataclass(frozen=True, slots=True)
class Loop:
    """Runs turns with one model. Every message and result is stored before it is shown. `settings` limit a turn;
    `steering` are lines that the user puts into the running turn: they go with its next request."""

    model: ChatModel
    calls: CallRunner
    fitter: ContextFitter
    record: TurnRecord
    settings: Settings
    steering: deque[str]

    async def run(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Do one turn. The last event is `TurnFinished` or `TurnFailed`, unless the consumer is cancelled: that keeps
        the partial answer, answers open calls, and leaves a valid history."""
        record, calls = self.record, self.calls
        state, moved = record.open(turn)
        yield TurnStarted(record.session.id, state.interaction, turn.query, self.model.name)
        for image in turn.images:
            yield Notice(f"{image['label']} {image['name']}")
        for line in turn.notices:
            yield Notice(line, "warning")
        if turn.found:
            yield Notice(f"found in {', '.join(f'T{number}' for number in turn.found)}")
        outcome = "cancelled"
        try:
            for event in moved:
                yield event
            async with stored_as_it_comes(record.sessions, calls, state):
                async for event in self._work(state):
                    yield event
            outcome = "done"
        except SwecliError as error:
            outcome = "failed"
            retryable = bool(getattr(error, "retryable", False))
            yield TurnFailed(error.message, error.hint, error.exit_code, retryable)
        finally:  # also when cancelled, or when the consumer went away
            record.settle(state)
            record.finish(outcome, turn, state.text)

    async def _work(self, state: TurnState) -> AsyncGenerator[Event, None]:
        """Steps until the model is done or a limit is reached."""
        reason: FinishReason | None = None
        calls, record, started = self.calls, self.record, time.monotonic()
        while reason is None:
            if reason := self._limit(state):
                break
            state.steps += 1
            yield StepStarted(state.steps)
            async for happened in self._ask(state):
                if isinstance(happened, tuple):
                    step, fitted, usage = happened
                else:
                    yield happened
            message = record.reply(step.reply)
            state.step, state.text, state.open_calls = None, message.content or state.text, message.tool_calls
            yield UsageReported(usage, step.reply.cost, estimated=not self._is_counted(step.reply))
            if step.reply.note:
                yield Notice(step.reply.note, "warning")
            async for event in calls.run(state.open_calls, step.reply.malformed, fitted.request.messages):
                if isinstance(event, UsageReported):  # of a task
                    state.spend(event.usage, event.cost)
                yield event
            reason = self._answered(state, message, step.reply)
            record.keep_facts(message)
            if reason in (None, "done") and self._steer(state):
                reason = None
            if reason is None and not await calls.going_on():
                reason = "loop"
        spent = round((time.monotonic() - started) * 1000)
        yield TurnFinished(reason, state.text, state.usage, state.cost, state.steps, spent, tuple(state.denied))

    def _limit(self, state: TurnState) -> FinishReason | None:
        """The reason to stop before the next request, or None. An unknown cost cannot stop anything."""
        if state.steps >= self.settings.max_turns:
            return "max_turns"
        most = self.settings.max_budget_usd
        return "max_budget" if most is not None and state.cost is not None and state.cost >= most else None

    async def _ask(self, state: TurnState) -> AsyncGenerator[Event | tuple[ModelStep, Fitted, Usage], None]:
        """One request; the finished step comes last, with the request and its bill. One that is too long for the
        provider is sent again, smaller."""
        refused = False
        for left in reversed(range(_OVERFLOWS + 1)):
            at = StepPlace(state.interaction, state.steps, state.query, refused)
            fitted = await self.fitter.fit(state.messages, at)
            for event in self._take(state, fitted):
                yield event
            if fitted.failure is not None:
                raise fitted.failure
            yield ContextMeasured(fitted.measured.tokens, fitted.measured.limit, fitted.measured.estimated)
            step = ModelStep(self.model, fitted.request, self.calls.used_ids)
            state.step = step
            try:
                async for event in step.run():
                    yield event
                usage = self._bill(state, step, fitted)
                if step.reply.stop == "window_full":
                    raise ContextOverflow("The answer reached the end of the model's window.")
                counted = self.fitter.counted(step.reply.usage, fitted)
                if counted.cut:
                    few = f"{counted.cut:,} of about {fitted.counted:,} tokens"
                    error = ContextOverflow(f"The provider read {few} and did not report it.")
                    error.limit, error.reported = counted.cut, f"the provider read only {few} of the request"
                    raise error
                if counted.notice:
                    yield Notice(counted.notice, "warning")
            except ContextOverflow as error:
                if not left:
                    raise
                self.fitter.refused(error, fitted)
                refused, state.step = True, None
                if step.partial:
                    why = "the answer was made without all of the request"
                    yield StepRetried(_OVERFLOWS - left + 1, 0.0, why, True)
                yield Notice(f"{error.reported or _TOO_LONG}: it is reduced and sent again", "warning")
                continue
            yield step, fitted, usage
            return

    def _take(self, state: TurnState, fitted: Fitted) -> list[Event]:
        """Go on with a request that fits, and pay for what made it so; what there is to report."""
        state.messages = fitted.keyed
        for bill in fitted.happened:
            if isinstance(bill, RequestRecord):
                state.spend(bill.usage, bill.cost)
        return self.record.take(fitted)

    def _bill(self, state: TurnState, step: ModelStep, fitted: Fitted) -> Usage:
        """Store what a request took, with our own count of it where it can be compared."""
        reply, model, counter = step.reply, self.model, self.record.counter
        usage = reply.usage or Usage(input=fitted.counted, output=counter.count(reply.text))
        extra = {"counted": fitted.counted, "encoding": counter.encoding} if self._is_counted(reply) else {}
        place, spent = (state.interaction, state.steps), step.duration_ms
        self.record.store(RequestRecord(model.name, "turn", *place, usage, reply.cost, spent, extra))
        state.spend(usage, reply.cost)
        return usage

    def _is_counted(self, reply: ModelReply) -> bool:
        """Whether the provider itself counted the tokens."""
        return reply.usage is not None and not self.model.profile.estimates

    def _answered(self, state: TurnState, message: ChatMessage, reply: ModelReply) -> FinishReason | None:
        """Put the calls and their results into the next request; the reason when there is nothing more to ask."""
        calls, state.open_calls = state.open_calls, []
        state.add(message)
        state.denied += [call for call in calls if call.approved is False]
        state.pauses += reply.stop == "pause"
        if calls or (reply.stop == "pause" and state.pauses <= _PAUSES):
            return None
        withheld = "refusal" if reply.refusal else reply.stop
        return withheld if withheld in ("length", "refusal", "content_filter") else "done"

    def _steer(self, state: TurnState) -> bool:
        """Put in what the user has sent to the running turn; whether there was anything."""
        steered = bool(self.steering)
        while self.steering:
            state.add(self.record.steer(self.steering.popleft()))
        return steered
