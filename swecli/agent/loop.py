"""The loop: ask the model, save what it said, run what it asked for, until it is done. There is no other loop."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from swecli.agent.calls import CallRunner
from swecli.agent.context_fitter import ContextFitter
from swecli.agent.fitted import Fitted, StepPlace
from swecli.agent.step import ModelStep, Sleep
from swecli.agent.turn import Turn, TurnLimits, TurnState
from swecli.agent.turn_record import TurnRecord
from swecli.agent.unfinished import stored_as_it_comes
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

TOO_LONG = "the provider says the request is too long"
PAUSES = 3  # how often a reply that a service pauses is sent back to go on
OVERFLOWS = 3  # how often a request is made smaller because the provider refused it


@dataclass(frozen=True, slots=True)
class TurnServices:
    """What a turn works with. `steering` are lines that the user puts into the running turn: they go with its next
    request. `clock` gives seconds."""

    model: ChatModel
    calls: CallRunner
    fitter: ContextFitter
    record: TurnRecord
    limits: TurnLimits
    steering: deque[str]
    sleep: Sleep = asyncio.sleep
    clock: Callable[[], float] = time.monotonic


class Loop:
    """Runs turns with one model. Every message and result is stored before it is shown."""

    def __init__(self, services: TurnServices) -> None:
        self._with = services

    async def run(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Do one turn. The last event is `TurnFinished` or `TurnFailed`, unless the consumer is cancelled.

        A cancelled turn keeps its partial answer, answers its open calls, and leaves a valid history.
        """
        record, calls = self._with.record, self._with.calls
        opened = record.open(turn)
        calls.used_ids |= opened.call_ids
        state = TurnState(turn.query, opened.interaction, opened.messages, self._with.clock())
        yield TurnStarted(opened.session_id, opened.interaction, turn.query, self._with.model.name)
        for notice in (*(Notice(line, "warning") for line in turn.notices), *record.notices()):
            yield notice
        if turn.found:
            yield Notice(f"found in {', '.join(f'T{number}' for number in turn.found)}")
        outcome = "cancelled"
        try:
            for event in opened.events:
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
        calls, record = self._with.calls, self._with.record
        while reason is None:
            if reason := self._with.limits.check(state.steps, state.cost):
                break
            state.steps += 1
            yield StepStarted(state.steps)
            async for happened in self._ask(state):
                if isinstance(happened, tuple):
                    step, fitted = happened
                else:
                    yield happened
            usage = self._bill(state, step, fitted)
            message = record.reply(step.reply)
            state.step, state.text, state.open_calls = None, message.content or state.text, message.tool_calls
            yield UsageReported(usage, step.reply.cost, estimated=not self._said(step.reply))
            if step.reply.note:
                yield Notice(step.reply.note, "warning")
            for notice in record.notices():
                yield notice
            async for event in calls.run(state.open_calls, step.reply.malformed, fitted.request.messages):
                yield event
            reason = self._answered(state, message, step.reply)
            record.keep_facts(message)
            if reason in (None, "done") and self._steer(state):
                reason = None
            if reason is None and not await calls.going_on():
                reason = "loop"
        spent = round((self._with.clock() - state.started) * 1000)
        yield TurnFinished(reason, state.text, state.usage, state.cost, state.steps, spent, tuple(state.denied))

    async def _ask(self, state: TurnState) -> AsyncGenerator[Event | tuple[ModelStep, Fitted], None]:
        """One request; the finished step comes last, with the request. One that the provider calls too long is sent
        again, smaller."""
        fitter, refused = self._with.fitter, False
        for left in reversed(range(OVERFLOWS + 1)):
            at = StepPlace(state.interaction, state.steps, state.query, refused)
            fitted = await fitter.fit(state.messages, at)
            state.messages = fitted.keyed
            for event in self._with.record.take(fitted):
                yield event
            for bill in fitted.bills:
                state.spend(bill.usage, bill.cost)
            if fitted.failure is not None:
                raise fitted.failure
            yield ContextMeasured(fitted.measured.tokens, fitted.measured.limit, fitted.measured.estimated)
            step = ModelStep(self._with.model, fitted.request, self._with.sleep, self._with.calls.used_ids)
            state.step = step
            try:
                async for event in step.run():
                    yield event
                if step.reply.stop == "window_full":
                    self._bill(state, step, fitted)
                    raise ContextOverflow("The answer reached the end of the model's window.")
                counted = fitter.counted(step.reply.usage, fitted)
                if counted.cut:
                    self._bill(state, step, fitted)
                    raise cut_short(counted.cut, fitted.counted)
                if counted.notice:
                    yield Notice(counted.notice, "warning")
            except ContextOverflow as error:
                if not left:
                    raise
                fitter.refused(error, fitted)
                refused, state.step = True, None
                if step.partial:
                    yield StepRetried(OVERFLOWS - left + 1, 0.0, "the answer was made without all of the request", True)
                yield Notice(f"{error.said or TOO_LONG}: it is made smaller and sent again", "warning")
                continue
            yield step, fitted
            return

    def _bill(self, state: TurnState, step: ModelStep, fitted: Fitted) -> Usage:
        """Store what a request took, with our own count of it where it can be compared."""
        reply, model, counter = step.reply, self._with.model, self._with.record.counter
        usage = reply.usage or Usage(input=fitted.counted, output=counter.count(reply.text))
        extra = {"counted": fitted.counted, "encoding": counter.encoding} if self._said(reply) else {}
        place, spent = (state.interaction, state.steps), step.duration_ms
        self._with.record.store(RequestRecord(model.name, "turn", *place, usage, reply.cost, spent, extra))
        state.spend(usage, reply.cost)
        return usage

    def _said(self, reply: ModelReply) -> bool:
        """Whether the provider itself counted the tokens."""
        return reply.usage is not None and not self._with.model.profile.estimates

    def _answered(self, state: TurnState, message: ChatMessage, reply: ModelReply) -> FinishReason | None:
        """Put the calls and their results into the next request; the reason when there is nothing more to ask."""
        calls, state.open_calls = state.open_calls, []
        state.add(message)
        state.denied += [call for call in calls if call.approved is False]
        state.pauses += reply.stop == "pause"
        if calls or (reply.stop == "pause" and state.pauses <= PAUSES):
            return None
        withheld = "refusal" if reply.refusal else reply.stop
        return withheld if withheld in ("length", "refusal", "content_filter") else "done"

    def _steer(self, state: TurnState) -> bool:
        """Put in what the user has sent to the running turn; whether there was anything."""
        steering = self._with.steering
        lines = [steering.popleft() for _ in range(len(steering))]
        for line in lines:
            state.add(self._with.record.steer(line))
        return bool(lines)


def cut_short(read: int, ours: int) -> ContextOverflow:
    """The provider took in much less than was sent, and did not say so."""
    error = ContextOverflow(f"The provider read {read:,} of about {ours:,} tokens and said nothing.")
    error.limit, error.said = read, f"the provider read only {read:,} of about {ours:,} tokens of the request"
    return error
