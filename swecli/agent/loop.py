"""The loop: send a request, store the reply, run its calls, until the dialogue is over. There is no other loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Protocol

from swecli.agent.calls import CallRunner
from swecli.agent.fallback import Fallback
from swecli.agent.sender import MAX_ATTEMPTS, Keep, RequestSource, Sending
from swecli.agent.turn import TurnRecord
from swecli.agent.turn_state import TurnState
from swecli.llm.base import ChatModel
from swecli.models.errors import ProviderError
from swecli.models.events import Event, Notice, StepRetried, StepStarted, UsageReported
from swecli.models.message import ChatMessage, ModelReply, RequestRecord
from swecli.values import dataclass


class Dialogue(RequestSource, Protocol):
    """What one kind of turn says to the model, what it makes of the answers, and when it is over.

    In each step the loop calls `is_over`, `begin_step`, the methods of a request's source, `read_reply`, and when the
    reply's calls have run `end_step`. The events that these return are already stored.
    """

    def is_over(self, state: TurnState) -> bool:
        """Return whether no further request is to be made. Raises SwecliError."""

    def begin_step(self, state: TurnState) -> None:
        """Add what the next request says to the conversation."""

    async def read_reply(self, state: TurnState, reply: ModelReply) -> Sequence[Event]:
        """Take what a stored reply says, before its calls run."""

    def take_event(self, event: Event) -> None:
        """Take an event of the running calls."""

    async def end_step(
        self, state: TurnState, message: ChatMessage, reply: ModelReply
    ) -> Sequence[Event]:
        """Continue the conversation with a stored reply, whose calls have run."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Runs turns with one model, or goes on with another one where it is overloaded. Every message and result is stored
    before it is reported."""

    model: ChatModel
    calls: CallRunner
    record: TurnRecord
    fallback: Fallback | None = None  # None: no other model is asked

    async def run(self, dialogue: Dialogue, state: TurnState) -> AsyncGenerator[Event, None]:
        """Run steps until the dialogue is over. Raises SwecliError."""

        def keep(record: RequestRecord) -> None:
            self.record.store(record)
            state.add(record.usage, record.cost)

        model = self.model
        while not dialogue.is_over(state):
            state.steps += 1
            dialogue.begin_step(state)
            yield StepStarted(state.steps)

            while True:
                sending = self._make_sending(model, keep, state)
                failure: ProviderError | None = None
                try:
                    async with aclosing(sending.run(dialogue)) as sending_events:
                        async for event in sending_events:
                            yield event
                except ProviderError as error:
                    failure = error
                if failure is None:
                    break
                if self.fallback is None:
                    raise failure
                go_on = await self.fallback.after(model, failure)
                if sending.partial and go_on.model is not None:
                    yield StepRetried(1, 0.0, failure.message, restart=True)
                for event in go_on.events:
                    yield event
                if go_on.model is None:
                    raise go_on.failure
                model = go_on.model
            if self.fallback is not None:
                self.fallback.note_answer(model)

            reply = sending.reply
            message = self.record.store_reply(reply)
            state.take_reply(message)
            yield UsageReported(sending.usage, reply.cost, estimated=sending.estimated)
            if reply.note:
                yield Notice(reply.note, "warning")
            for event in await dialogue.read_reply(state, reply):
                yield event

            request = sending.outgoing.request.messages if sending.outgoing else ()
            running = self.calls.run(state.open_calls, reply.malformed, request)
            async with aclosing(running) as call_events:
                async for event in call_events:
                    if isinstance(event, UsageReported):  # of a task
                        state.add(event.usage, event.cost)
                    dialogue.take_event(event)
                    yield event
            state.open_calls = []
            for event in await dialogue.end_step(state, message, reply):
                yield event

    def _make_sending(self, model: ChatModel, keep: Keep, state: TurnState) -> Sending:
        """Return a request of the running step, before it is sent."""
        attempts = MAX_ATTEMPTS
        if self.fallback is not None:
            attempts = self.fallback.attempts(model, attempts)
        sending = Sending(
            model,
            self.record.counter,
            keep,
            state.interaction,
            state.steps,
            used_ids=self.calls.used_ids,
            session_calls=self.record.sessions.call_ids,
            attempts=attempts,
        )
        state.sending = sending
        return sending
