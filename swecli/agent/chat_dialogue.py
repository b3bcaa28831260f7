"""The dialogue with the user: the query, the lines that the user adds, and the limits of a turn."""

from __future__ import annotations

from collections import deque
from dataclasses import field

from swecli.agent.calls import CallRunner
from swecli.agent.context_fitter import ContextFitter
from swecli.agent.fitted_request import FittedRequest, StepPosition
from swecli.agent.sender import Outgoing
from swecli.agent.turn import TurnRecord
from swecli.agent.turn_state import TurnState
from swecli.config.settings import Settings
from swecli.models.context import add_keys
from swecli.models.errors import ContextOverflow, LimitReached
from swecli.models.events import (
    ContextMeasured,
    Event,
    FinishReason,
    Notice,
    TurnContinued,
)
from swecli.models.message import (
    ApiMessage,
    ChatMessage,
    ModelReply,
    RequestRecord,
    ToolCall,
    Usage,
)
from swecli.values import dataclass

_MAX_PAUSES = 3  # times that a reply paused by the service is continued


@dataclass(slots=True)
class ChatDialogue:
    """One turn of the chat."""

    query: str
    interaction: int
    messages: list[ApiMessage]  # of the next request, keyed
    calls: CallRunner
    fitter: ContextFitter
    record: TurnRecord
    settings: Settings  # its limits end the turn
    steering: deque[str]  # lines that the user sends to the running turn, for its next request
    end: FinishReason | None = None
    denied: list[ToolCall] = field(default_factory=list)
    _next_key: int = 1  # number of the next message's key
    _pauses: int = 0
    _has_called: bool = False  # in this turn
    _last: FittedRequest | None = None  # the request that was sent last
    _step: int = 0

    def is_over(self, state: TurnState) -> bool:
        """Return whether the model is done or a limit is reached. Raises LimitReached."""
        if self.end is None:
            self.end = self._reached_limit(state)
        return self.end is not None

    def begin_step(self, state: TurnState) -> None:
        """Note the step: the conversation already ends with what the next request says."""
        self._step = state.steps

    async def prepare(self, *, was_refused: bool) -> Outgoing:
        """Fit the conversation into the model's window. Reductions are stored before the request is sent."""
        position = StepPosition(self.interaction, self._step, self.query, was_refused)
        fitted = await self.fitter.fit(self.messages, position)
        self._last = fitted
        self.messages = fitted.keyed_messages
        reports: list[Event | RequestRecord] = [
            effect if isinstance(effect, RequestRecord) else self.record.store_change(effect)
            for effect in fitted.effects
        ]
        size = fitted.size
        if fitted.failure is None:
            reports.append(ContextMeasured(size.tokens, size.limit, size.estimated))
        return Outgoing(
            request=fitted.request,
            counted_tokens=fitted.counted_tokens,
            parts=fitted.parts,
            reports=tuple(reports),
            failure=fitted.failure,
        )

    def record_refusal(self, error: ContextOverflow) -> None:
        """Lower the limit that requests are fitted to."""
        if self._last is not None:
            self.fitter.record_refusal(error, self._last)

    def check(self, reply: ModelReply, usage: Usage | None) -> list[str]:
        """Compare the provider's token count with ours, and note a call that the model wrote as text."""
        if self._last is None:
            return []
        self._has_called = self._has_called or bool(reply.calls)
        notice = self.fitter.check_usage(usage, self._last, has_called=self._has_called)
        call_notice = self.fitter.record_written_call(reply.written_call)
        return [line for line in (notice, call_notice) if line]

    async def read_reply(self, state: TurnState, reply: ModelReply) -> list[Event]:
        """Do nothing: what a reply says counts when its calls have run."""
        return []

    def take_event(self, event: Event) -> None:
        """The results are read from the calls themselves."""

    async def end_step(
        self, state: TurnState, message: ChatMessage, reply: ModelReply
    ) -> list[Event]:
        """Add the reply, its results and what the user said meanwhile to the next request."""
        self._add(message)
        self.denied += [call for call in message.tool_calls if call.approved is False]
        self.end = self._find_reason(message, reply)
        self.record.store_facts(message)
        if self.end in (None, "done") and self.steering:
            self.end = None
            while self.steering:
                self._add(self.record.store_steering(self.steering.popleft()))
        events = await self._ask_hooks(message)
        if self.end is None and not await self.calls.may_continue():
            self.end = "loop"
        return events

    async def _ask_hooks(self, message: ChatMessage) -> list[Event]:
        """Let hooks end the turn, or send the model on after its answer. Returns what the user is told."""
        hooks = self.calls.hooks
        if hooks is None:
            return []
        events: list[Event] = []
        reason = await hooks.before_stop(message.content) if self.end == "done" else ""
        if reason:
            self.end = None
            self._add(self.record.store_feedback(reason))
            events.append(TurnContinued(reason))
        if self.end in (None, "done") and hooks.end_reason is not None:
            self.end = "hook"
            reason_note = f": {hooks.end_reason}" if hooks.end_reason else ""
            events.append(Notice(f"a hook ended the turn{reason_note}"))
        return [*events, *(Notice(line, "warning") for line in hooks.take_notices())]

    def _add(self, message: ChatMessage) -> None:
        """Append a stored message and the results of its calls to the request."""
        new = add_keys(message.to_api(), self.interaction, self._next_key)
        self.messages = [*self.messages, *new]
        self._next_key += len(new)

    def _find_reason(self, message: ChatMessage, reply: ModelReply) -> FinishReason | None:
        """Return why the turn ends with this reply, or None if another request is needed."""
        self._pauses += reply.stop == "pause"
        if message.tool_calls:
            return None
        if reply.stop == "pause" and self._pauses <= _MAX_PAUSES:
            return None
        if reply.refusal:
            return "refusal"
        if reply.stop in ("length", "refusal", "content_filter"):
            return reply.stop
        return "done"

    def _reached_limit(self, state: TurnState) -> FinishReason | None:
        """Return the limit that stops the turn before the next request, or None. Raises LimitReached if the cost so far
        is unknown, although the model has a price: the user was not told that the limit cannot be kept."""
        if state.steps >= self.settings.max_turns:
            return "max_turns"
        max_cost = self.settings.max_budget_usd
        if max_cost is None:
            return None
        if state.cost is not None:
            return "max_budget" if state.cost >= max_cost else None
        if not self.fitter.model.profile.is_priced():
            return None
        raise LimitReached(
            f"The cost of the turn so far is unknown: the limit of ${max_cost:g} (max_budget_usd) cannot be kept.",
            "Set the prices of the models in [models.NAME] of config.toml, or leave out the limit.",
        )
