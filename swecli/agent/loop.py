"""The loop: ask the model, save what it said, run what it asked for, until it is done. There is no other loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable

from swecli.agent.calls import CallRunner
from swecli.agent.fitting import Fitting
from swecli.agent.step import Sleep, Step
from swecli.agent.stops import Stops
from swecli.agent.turn import Turn, TurnState
from swecli.llm.base import ChatModel
from swecli.models.errors import ContextOverflow, SwecliError
from swecli.models.events import (
    Event,
    FinishReason,
    Notice,
    StepStarted,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    UsageReported,
    WindowApplied,
)
from swecli.models.message import INTERRUPTED_RESULT, ChatMessage, Role
from swecli.models.model_io import ModelReply, RequestRecord, Usage
from swecli.store.session_manager import SessionManager

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
        *,
        sleep: Sleep = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.calls, self.sessions = model, calls, sessions
        self.stops, self.fitting, self.counter = stops, fitting, fitting.counter
        self._sleep, self._clock = sleep, clock

    async def run(self, turn: Turn) -> AsyncGenerator[Event, None]:
        """Do one turn. The last event is `TurnFinished` or `TurnFailed`, unless the consumer is cancelled.

        A cancelled turn keeps its partial answer, answers its open calls, and leaves a valid history.
        """
        message = self.sessions.begin_interaction(turn.query, turn.sent)
        state = TurnState(list(turn.messages), self._clock(), message.interaction)
        session = self.sessions.current_session
        yield TurnStarted(session.id if session else "", message.interaction, turn.query)
        for line in turn.notices:
            yield Notice(line, "warning")
        if turn.prepared.removed:
            first, last = turn.prepared.window
            yield WindowApplied(turn.prepared.removed, last - first + 1)
        outcome = "cancelled"
        try:
            async for event in self._work(state):
                yield event
            outcome = "done"
        except SwecliError as error:
            outcome = "failed"
            retryable = bool(getattr(error, "retryable", False))
            yield TurnFailed(error.message, error.hint, error.exit_code, retryable)
        finally:  # also when cancelled, or when the consumer went away
            self._settle(state)
            self.sessions.finish_interaction(outcome, shown=turn.shown, cited=cited(state.text, turn.shown))

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
            request, told = self.fitting.fit(state.messages)
            state.messages = request.messages
            for event in told:
                yield event
            step = Step(self.model, request, self._sleep)
            try:
                async for event in step.run(state):
                    yield event
            except ContextOverflow as error:
                if not left:
                    raise
                self.fitting.refused(error)
                yield Notice("the provider says the request is too long: it is made smaller and sent again", "warning")
                continue
            yield step
            return

    def _save(self, state: TurnState, step: Step) -> Event:
        """The reply is whole: it is stored, with its bill, before anything else happens."""
        reply = step.reply
        usage = reply.usage or self._guess(state, reply)
        message = ChatMessage(Role.ASSISTANT, reply.text, reply.calls, reasoning=reply.reasoning)
        message.tokens = usage.output or None
        message = self.sessions.append(message)
        state.partial = ""
        state.text = reply.text or state.text
        state.open_calls = message.tool_calls
        record = RequestRecord(
            self.model.name, "turn", state.interaction, state.steps, usage, reply.cost, step.duration_ms
        )
        self.sessions.record_request(record)
        state.spend(usage, reply.cost)
        return UsageReported(
            usage, reply.cost, estimated=reply.usage is None or bool(getattr(self.model, "estimates_usage", False))
        )

    def _guess(self, state: TurnState, reply: ModelReply) -> Usage:
        """Usage by our own count, where the provider did not say."""
        return Usage(input=self.counter.count_messages(state.messages), output=self.counter.count(reply.text))

    def _answered(self, state: TurnState, reply: ModelReply) -> FinishReason | None:
        """Put the calls and their results into the next request; the reason when there is nothing more to ask."""
        calls, state.open_calls = state.open_calls, []
        state.messages = [*state.messages, *ChatMessage(Role.ASSISTANT, reply.text, calls).to_api()]
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


def cited(text: str, shown: list[str]) -> list[str]:
    """The bullets of `shown` that an answer names, `[P-7]`."""
    return [bullet for bullet in shown if f"[{bullet}]" in text]
