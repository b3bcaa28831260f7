"""The loop: ask the model, save what it said, run what it asked for, until it is done. There is no other loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable

from swecli.agent.calls import CallRunner
from swecli.agent.fitting import Fitting
from swecli.agent.keeper import Keeper
from swecli.agent.step import Sleep, Step
from swecli.agent.stops import Stops
from swecli.agent.turn import Turn, TurnState
from swecli.llm.base import ChatModel
from swecli.models.errors import ContextOverflow, SwecliError
from swecli.models.events import (
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
from swecli.models.message import INTERRUPTED_RESULT, ChatMessage, Role
from swecli.models.model_io import ModelReply, RequestRecord, Usage
from swecli.store.session_manager import SessionManager

TOO_LONG = "the provider says the request is too long"
OVERFLOWS = 3  # how often a request is made smaller because the provider refused it


class Loop:
    """Runs turns with one model. Every message and result is stored before it is shown."""

    def __init__(
        self,
        model: ChatModel,
        calls: CallRunner,
        sessions: SessionManager,
        stops: Stops,
        fitting: Fitting,
        keeper: Keeper,
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.calls, self.sessions = model, calls, sessions
        self.stops, self.fitting, self.keeper, self.counter = stops, fitting, keeper, fitting.counter
        self._sleep, self._clock = sleep, clock

    async def run(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Do one turn. The last event is `TurnFinished` or `TurnFailed`, unless the consumer is cancelled.

        A cancelled turn keeps its partial answer, answers its open calls, and leaves a valid history.
        """
        message = self.keeper.open(turn)
        messages, told = self.fitting.open(turn, message)
        state = TurnState(messages, self._clock(), message.interaction, taken=self.keeper.begin(message))
        session = self.sessions.current_session
        yield TurnStarted(session.id if session else "", message.interaction, turn.query)
        for line in turn.notices:
            yield Notice(line, "warning")
        outcome = "cancelled"
        try:
            for event in told:
                yield event
            async for event in self._work(state):
                yield event
            outcome = "done"
        except SwecliError as error:
            outcome = "failed"
            retryable = bool(getattr(error, "retryable", False))
            yield TurnFailed(error.message, error.hint, error.exit_code, retryable)
        finally:  # also when cancelled, or when the consumer went away
            self._settle(state)
            named = cited(state.text, turn.shown)
            self.sessions.finish_interaction(outcome, shown=turn.shown, cited=named, choice=turn.choice())

    async def _work(self, state: TurnState) -> AsyncGenerator[Event, None]:
        """Steps until the model is done or a limit says so."""
        reason: FinishReason | None = None
        while reason is None:
            if reason := self.stops.check(state.steps, state.cost):
                break
            state.steps += 1
            yield StepStarted(state.steps)
            async for happened in self._ask(state):
                if isinstance(happened, Step):
                    step = happened
                else:
                    yield happened
            yield self._save(state, step)
            async for event in self.calls.run(state.open_calls, step.reply.malformed):
                yield event
            reason = self._answered(state, step.reply)
            self.keeper.take(state.said)
            if reason is None and not await self.calls.going_on():
                reason = "loop"
        yield TurnFinished(
            reason,
            state.text,
            state.usage,
            state.cost,
            state.steps,
            round((self._clock() - state.started) * 1000),
            tuple(state.denied),
        )

    async def _ask(self, state: TurnState) -> AsyncGenerator[Event | Step, None]:
        """One request; the finished `Step` comes last. One that the provider calls too long is sent again, smaller."""
        for left in reversed(range(OVERFLOWS + 1)):
            async for event in self.fitting.fit(state):
                yield event
            step = Step(self.model, self.fitting.request, self._sleep)
            try:
                async for event in step.run(state):
                    yield event
                if not self.fitting.counted(step.reply.usage):
                    self._bill(state, step)
                    raise cut_short(step.reply.usage, self.fitting.own_count())
            except ContextOverflow as error:
                if not left:
                    raise
                self.fitting.refused(error)
                if state.partial:
                    state.partial = ""
                    yield StepRetried(OVERFLOWS - left + 1, 0.0, "the answer was made without all of the request", True)
                yield Notice(f"{error.said or TOO_LONG}: it is made smaller and sent again", "warning")
                continue
            yield step
            return

    def _save(self, state: TurnState, step: Step) -> Event:
        """The reply is whole: it is stored, with its bill, before anything else happens."""
        reply = step.reply
        usage = self._bill(state, step)
        message = ChatMessage(Role.ASSISTANT, reply.text, reply.calls, reasoning=reply.reasoning)
        self.keeper.weigh(message)
        message = self.sessions.append(message)
        state.partial, state.said = "", message
        state.text = reply.text or state.text
        state.open_calls = message.tool_calls
        return UsageReported(
            usage, reply.cost, estimated=reply.usage is None or bool(getattr(self.model, "estimates_usage", False))
        )

    def _bill(self, state: TurnState, step: Step) -> Usage:
        """Store what a request took, with our own count of it where it can be compared."""
        reply, ours = step.reply, self.fitting.own_count()
        usage = reply.usage or Usage(input=ours, output=self.counter.count(reply.text))
        said = reply.usage is not None and not getattr(self.model, "estimates_usage", False)
        extra = {"counted": ours, "encoding": self.counter.encoding} if said else {}
        record = RequestRecord(
            self.model.name, "turn", state.interaction, state.steps, usage, reply.cost, step.duration_ms, extra
        )
        self.sessions.record_request(record)
        state.spend(usage, reply.cost)
        return usage

    def _answered(self, state: TurnState, reply: ModelReply) -> FinishReason | None:
        """Put the calls and their results into the next request; the reason when there is nothing more to ask."""
        calls, state.open_calls = state.open_calls, []
        state.go_on()
        state.denied += [call for call in calls if call.approved is False]
        if calls:
            return None
        return "length" if reply.stop == "length" else "done"

    def _settle(self, state: TurnState) -> None:
        """Keep what an interrupted or failed turn had: the partial answer, and a result for every open call."""
        if state.partial:
            self.sessions.append(ChatMessage(Role.ASSISTANT, state.partial, status="partial"))
        for call in state.open_calls:
            if call.result is None:
                call.result, call.error = INTERRUPTED_RESULT, "interrupted"
                self.sessions.record_call(call)


def cut_short(usage: Usage | None, ours: int) -> ContextOverflow:
    """The provider took in much less than was sent, and did not say so."""
    read = usage.prompt if usage else 0
    error = ContextOverflow(f"The provider read {read:,} of about {ours:,} tokens and said nothing.")
    error.limit, error.said = read, f"the provider read only {read:,} of about {ours:,} tokens of the request"
    return error


def cited(text: str, shown: list[str]) -> list[str]:
    """The bullets of `shown` that an answer names, `[P-7]`."""
    return [bullet for bullet in shown if f"[{bullet}]" in text]
