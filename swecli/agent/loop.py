"""The loop: send a request, store the reply, run its calls, until the turn is done. There is no other loop."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from swecli.agent.calls import CallRunner
from swecli.agent.context_fitter import ContextFitter
from swecli.agent.request_builder import Turn
from swecli.agent.turn import FittedRequest, ModelStep, StepPlace, TurnRecord, TurnState
from swecli.config.settings import Settings
from swecli.llm.base import ChatModel
from swecli.llm.price_table import cost_of
from swecli.models import events
from swecli.models.errors import ContextOverflow, LimitReached, SwecliError
from swecli.models.message import ChatMessage, ModelReply, RequestRecord, Usage

_TOO_LONG = "the provider says the request is too long"
_MAX_PAUSES = 3  # times that a reply paused by the service is continued
_MAX_OVERFLOWS = 3  # times that a request refused as too long is reduced
_Sent = tuple[ModelStep, FittedRequest, Usage]


@dataclass(frozen=True, slots=True)
class Loop:
    """Runs turns with one model. Every message and result is stored before it is reported. `settings` limit a turn;
    `steering` holds lines that the user sends to the running turn, for its next request."""

    model: ChatModel
    calls: CallRunner
    fitter: ContextFitter
    record: TurnRecord
    settings: Settings
    steering: deque[str]

    async def run(self, turn: Turn) -> AsyncGenerator[events.Event, None]:
        """Run one turn. The last event is `TurnFinished` or `TurnFailed`; a cancelled turn stores its partial answer
        and a result for every open call, so that the history stays valid."""
        record, calls = self.record, self.calls
        state, opening = record.begin(turn)
        yield events.TurnStarted(
            record.sessions.session.id, state.interaction, turn.query, self.model.name
        )
        for image in turn.images:
            yield events.Notice(f"{image['label']} {image['name']}")
        for line in turn.notices:
            yield events.Notice(line, "warning")
        if turn.found:
            yield events.Notice(f"found in {', '.join(f'T{number}' for number in turn.found)}")
        outcome = "cancelled"
        try:
            for event in opening:
                yield event
            async with record.autosave(calls, state):
                async for event in self._run_steps(state):
                    yield event
            outcome = "done"
        except SwecliError as error:
            outcome = "failed"
            retryable: bool = getattr(error, "retryable", False)
            yield events.TurnFailed(error.message, error.hint, error.exit_code, retryable)
        finally:  # also when cancelled, or when the consumer stops iterating
            record.settle(state)
            record.finish(outcome, turn, state.text)

    async def _run_steps(self, state: TurnState) -> AsyncGenerator[events.Event, None]:
        """Run steps until the model is done or a limit is reached."""
        reason: events.FinishReason | None = None
        calls, record = self.calls, self.record
        started = time.monotonic()
        waited_before = calls.user_seconds
        while reason is None:
            if reason := self._reached_limit(state):
                break
            state.steps += 1
            yield events.StepStarted(state.steps)
            async for item in self._send(state):
                if isinstance(item, tuple):
                    step, fitted, usage = item
                else:
                    yield item
            message = record.store_reply(step.reply)
            state.step, state.text, state.open_calls = (
                None,
                message.content or state.text,
                message.tool_calls,
            )
            yield events.UsageReported(
                usage, step.reply.cost, estimated=not self._is_counted(step.reply)
            )
            if step.reply.note:
                yield events.Notice(step.reply.note, "warning")
            async for event in calls.run(
                state.open_calls, step.reply.malformed, fitted.request.messages
            ):
                if isinstance(event, events.UsageReported):  # of a task
                    state.spend(event.usage, event.cost)
                yield event
            reason = self._add_reply(state, message, step.reply)
            record.store_facts(message)
            if reason in (None, "done") and self.steering:
                reason = None
                while self.steering:
                    state.add(record.store_steering(self.steering.popleft()))
            if reason is None and not await calls.may_continue():
                reason = "loop"
        waited = calls.user_seconds - waited_before
        worked = round((time.monotonic() - started - waited) * 1000)
        denied = tuple(state.denied)
        yield events.TurnFinished(
            reason, state.text, state.usage, state.cost, state.steps, worked, denied
        )

    def _reached_limit(self, state: TurnState) -> events.FinishReason | None:
        """Return the limit that stops the turn before the next request, or None. Raises LimitReached if the cost so far
        is unknown, although the model has a price: the user was not told that the limit cannot be kept."""
        if state.steps >= self.settings.max_turns:
            return "max_turns"
        most = self.settings.max_budget_usd
        if most is None:
            return None
        if state.cost is None:
            if not self.model.profile.is_priced():
                return None
            raise LimitReached(
                f"The cost of the turn so far is unknown: the limit of ${most:g} (max_budget_usd) cannot be kept.",
                "Set the prices of the models in [models.NAME] of config.toml, or leave out the limit.",
            )
        return "max_budget" if state.cost >= most else None

    async def _send(self, state: TurnState) -> AsyncGenerator[events.Event | _Sent, None]:
        """Send one request; the finished step with its request and usage is yielded last. A request that is too long
        for the provider is reduced and sent again."""
        refused = False
        for left in reversed(range(_MAX_OVERFLOWS + 1)):
            at = StepPlace(state.interaction, state.steps, state.query, refused)
            fitted = await self.fitter.fit(state.messages, at)
            state.messages = fitted.keyed
            for summary in (
                effect for effect in fitted.effects if isinstance(effect, RequestRecord)
            ):
                state.spend(summary.usage, summary.cost)
            for event in [
                reported
                for one in fitted.effects
                if (reported := self.record.store(one)) is not None
            ]:
                yield event
            if fitted.failure is not None:
                raise fitted.failure
            yield events.ContextMeasured(
                fitted.size.tokens, fitted.size.limit, fitted.size.estimated
            )
            step = state.step = ModelStep(self.model, fitted.request, self.calls.used_ids)
            was_answered = False
            try:
                async for event in step.run():
                    yield event
                usage = self._record_usage(state, step, fitted)
                was_answered = step.reply.stop == "window_full"
                if was_answered:
                    raise ContextOverflow("The answer reached the end of the model's window.")
                has_called = bool(step.reply.calls)
                notice = self.fitter.check_usage(step.reply.usage, fitted, has_called=has_called)
                if notice:
                    yield events.Notice(notice, "warning")
                if step.reply.wrote_calls and (line := self.fitter.record_written_calls()):
                    yield events.Notice(line, "warning")
            except ContextOverflow as error:
                # an answer is paid for: one more, not three
                if not left or (was_answered and refused):
                    raise
                self.fitter.record_refusal(error, fitted)
                refused, state.step = True, None
                if step.partial:
                    why = "the answer was made without all of the request"
                    yield events.StepRetried(_MAX_OVERFLOWS - left + 1, 0.0, why, True)
                yield events.Notice(
                    f"{error.reported or _TOO_LONG}: retrying with a smaller request", "warning"
                )
                continue
            yield step, fitted, usage
            return

    def _record_usage(self, state: TurnState, step: ModelStep, fitted: FittedRequest) -> Usage:
        """Store the usage of a request, with our own token count if the provider counted too."""
        reply, model, counter = step.reply, self.model, self.record.counter
        written = [reply.text, reply.reasoning, *(str(call.parameters) for call in reply.calls)]
        usage = reply.usage or Usage(input=fitted.counted, output=counter.count("".join(written)))
        is_exact = self._is_counted(reply) and not counter.estimated
        extra = {"counted": fitted.counted, "encoding": counter.encoding} if is_exact else {}
        if (
            reply.cost is None
        ):  # estimated too, so that a cost limit is kept without usage of the service
            reply.cost = cost_of(usage, model.profile.price)
        place = (state.interaction, state.steps)
        self.record.store(
            RequestRecord(model.name, "turn", *place, usage, reply.cost, step.duration_ms, extra)
        )
        state.spend(usage, reply.cost)
        return usage

    def _is_counted(self, reply: ModelReply) -> bool:
        return reply.usage is not None and not self.model.profile.estimates

    def _add_reply(
        self, state: TurnState, message: ChatMessage, reply: ModelReply
    ) -> events.FinishReason | None:
        """Append a reply and its results to the next request; return the finish reason if none is needed."""
        calls, state.open_calls = state.open_calls, []
        state.add(message)
        state.denied += [call for call in calls if call.approved is False]
        state.pauses += reply.stop == "pause"
        if calls or (reply.stop == "pause" and state.pauses <= _MAX_PAUSES):
            return None
        withheld = "refusal" if reply.refusal else reply.stop
        return withheld if withheld in ("length", "refusal", "content_filter") else "done"
