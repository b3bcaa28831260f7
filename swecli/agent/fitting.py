"""The ladder, once a step: the next request made to fit what the model takes, and every change of it stored."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, replace

from swecli.agent.proved import Proved
from swecli.agent.reducing import Head, noted, present_epoch, truncated, with_head
from swecli.agent.summing_up import SummingUp
from swecli.agent.turn import Turn, TurnState
from swecli.context.budget import DEFAULT_MAX_TOKENS, MAX_CONDENSE_THRESHOLD, request_limit
from swecli.context.fit import CLEAR, SHRINK, TRUNCATE, Fit, Taken, fit
from swecli.context.keyed import changes, edited, interaction_of, lawful, plain
from swecli.context.prepare import untold
from swecli.context.tokens import TokenCounter
from swecli.context.truncate import loop_window
from swecli.llm.base import ChatModel
from swecli.models.context import BEGIN, KEY, Reduction
from swecli.models.errors import ContextFull, ContextOverflow
from swecli.models.events import ContextMeasured, ContextReduced, Event, Notice, WindowApplied
from swecli.models.message import ApiMessage, ChatMessage
from swecli.models.model_io import ModelRequest, Usage
from swecli.models.session import Session
from swecli.models.tool import ToolSpec
from swecli.store.session_manager import SessionManager

LOOP = "loop"


@dataclass(frozen=True, slots=True)
class Rules:
    """When the ladder is climbed: `threshold` in percent of the model's window; `condense`: whether a model may be
    asked for a summary; `max_tokens` of one answer; `loop`: the profile of a loop, which goes on with the system
    message and the newest messages only (seed 000: after loop 5, of more than 15 messages, the last 10)."""

    threshold: int = MAX_CONDENSE_THRESHOLD
    condense: bool = True
    max_tokens: int | None = None
    loop: bool = False


class Fitting:
    """Makes the requests of one turn. `proved` outlives it. `request` is what `fit` ended with."""

    def __init__(
        self,
        model: ChatModel,
        specs: list[ToolSpec],
        counter: TokenCounter,
        sessions: SessionManager,
        summing_up: SummingUp,
        proved: Proved,
        rules: Rules,
    ) -> None:
        self.model, self.specs, self.counter, self.sessions = model, specs, counter, sessions
        self.summing_up, self.proved, self.rules = summing_up, proved, rules
        self.request = ModelRequest(model.name, [])
        self._tools = counter.count_tools(specs)
        self._sent, self._refused = 0, False

    def open(self, turn: Turn, message: ChatMessage) -> tuple[list[ApiMessage], list[Event]]:
        """Store the epoch that the turn begins, if it does; its messages with the user's as it was stored."""
        prepared, told = turn.prepared, list[Event]()
        if prepared.opens is not None:
            self.sessions.context.add(self._session, prepared.opens)
        if prepared.removed:
            first, last = prepared.window
            told.append(WindowApplied(prepared.removed, last - first + 1))
        elif prepared.opens is not None and prepared.opens.how != BEGIN:
            row = prepared.opens
            told.append(ContextReduced(row.how, row.before, row.after, row.detail))
        if prepared.move is not None and prepared.move.left_unlearned:
            names = ", ".join(f"T{number}" for number in prepared.move.left_unlearned)
            told.append(Notice(f"{names} left the window before anything was learned from it", "warning"))
        asked = [api | {KEY: f"{message.interaction}.0"} for api in message.to_api()]
        return [*prepared.keyed[:-1], *asked], told

    async def fit(self, state: TurnState) -> AsyncGenerator[Event, None]:
        """Make `request` of the turn's messages, which become what is sent. Each reduction is stored before it is
        told. Raises ContextFull."""
        state.messages = lawful(state.messages)
        for event in self._loop_window(state) if self.rules.loop else ():
            yield event
        before = fitted = self.measure(state.messages)
        if before.over:
            for event in self._take(state, self.measure(state.messages, CLEAR).reduced):
                yield event
            if self.may_condense(fitted := self.measure(state.messages)):
                async for event in self._condense(state, fitted.tokens):
                    yield event
            if not self.measure(state.messages).fits:
                for event in self._force(state):
                    yield event
            fitted = self.measure(state.messages)
        if fitted.tokens < before.tokens and not self.proved.gained(before.tokens, fitted.tokens):
            raise in_vain(before.tokens, fitted.tokens)
        self._sent, self._refused = fitted.tokens, False
        self.request = ModelRequest(self.model.name, plain(state.messages), self.specs, self.rules.max_tokens)
        yield ContextMeasured(fitted.tokens, fitted.limit, self.counter.estimated)

    def refused(self, error: ContextOverflow) -> None:
        """The last request was too long after all: the next one is smaller, by what the provider said or by a part."""
        said = allowed_by(error, self.rules.max_tokens or self.model.max_output)
        self.proved.refused(self.model.name, self._sent, said)
        self._refused = True

    def counted(self, usage: Usage | None) -> bool:
        """Take the provider's count of the last request; False when it cut the request without a word."""
        if self.model.offline or usage is None:
            return True
        return self.proved.counted(self.model.name, usage, self.own_count())

    def own_count(self) -> int:
        """Tokens of the last request by our own count, tools included."""
        return self.counter.count_messages(self.request.messages) + self._tools

    def may_condense(self, fitted: Fit) -> bool:
        """Whether a model is asked for a summary of a request of that size.

        After a refusal the request is made smaller by rules alone: a summary would be asked for in vain.
        """
        if not (fitted.over and self.rules.condense) or self._refused or self.proved.gave_up:
            return False
        return fitted.tokens >= self.proved.retry_at

    async def _condense(self, state: TurnState, tokens: int) -> AsyncGenerator[Event, None]:
        """Let a model sum up what came before; when it cannot, say why and leave all as it was."""
        outcome = await self.summing_up.attempt(
            self._session, state.messages, state.interaction, lambda messages: self.measure(messages).tokens
        )
        if outcome is None:
            return
        for record in outcome.records:
            self.sessions.record_request(record)
            state.spend(record.usage, record.cost)
        if outcome.row is not None:
            self.proved.succeeded()
            yield self._store(replace(outcome.row, step=state.steps))
            state.messages = outcome.messages
            return
        self.proved.failed(tokens)
        yield Notice(f"the conversation was not condensed: {outcome.error}", "warning")
        if self.proved.gave_up:
            yield Notice("condensing is off for the rest of this session: it failed three times", "warning")

    def _loop_window(self, state: TurnState) -> Iterator[Event]:
        """The window of a loop, where the step is past its beginning."""
        kept = loop_window(state.messages, state.steps)
        if len(kept) < len(state.messages):
            before, after = self.measure(state.messages).tokens, self.measure(lawful(kept)).tokens
            detail = f"loop {state.steps}: {len(state.messages) - len(kept)} messages left out, {len(kept)} kept"
            yield from self._take(state, [Taken(LOOP, before, after, detail, kept)])

    def _force(self, state: TurnState) -> Iterator[Event]:
        """Truncate and shrink until it fits; what a truncation takes out stays known by the head."""
        context, epoch = self._session.context, present_epoch(self._session)
        head: Head | None = (composed := self.summing_up.heads(epoch.summary, {*context.pins, state.interaction}))
        whole = untold(with_head(state.messages, composed), state.interaction + 1)
        try:
            fitted = self.measure(whole, TRUNCATE, SHRINK)
        except ContextFull:  # the head itself may be what is too much
            fitted = None
        if fitted is None or not any(taken.how == TRUNCATE for taken in fitted.reduced):
            head, fitted = None, self.measure(state.messages, TRUNCATE, SHRINK)
        else:
            state.messages = whole
        yield from self._take(state, fitted.reduced, head)

    def _take(self, state: TurnState, reduced: list[Taken], head: Head | None = None) -> Iterator[Event]:
        """Store what the rungs left, and go on from it."""
        for taken in reduced:
            edits = changes(state.messages, taken.messages)
            if taken.how == TRUNCATE:
                row = truncated(self._session, taken, edits, head, state.interaction, state.steps)
            else:
                row = noted(taken, edits, state.interaction, state.steps)
            yield self._store(row)
            state.messages = lawful(edited(state.messages, [edits]))

    def _store(self, row: Reduction) -> Event:
        """Commit a reduction before it is told."""
        self.sessions.context.add(self._session, row)
        return ContextReduced(row.how, row.before, row.after, row.detail)

    def measure(self, messages: list[ApiMessage], *rungs: str) -> Fit:
        """The messages measured, and with these rungs taken as far as needed. Raises ContextFull with the last one."""
        window, output = self.model.context_window, self.rules.max_tokens or self.model.max_output
        if proved := self.proved.limits.get(self.model.name):
            window, output = round(proved / 0.9) + 2, 1  # as a window whose allowed part is what was proved
        context = self._session.context
        return fit(
            messages,
            tools_tokens=self._tools,
            counter=self.counter,
            context_window=window,
            max_output=output,
            threshold=self.rules.threshold,
            rungs=rungs,
            fixed=(lambda message: interaction_of(message) in context.pins) if context.pins else None,
            hold=context.hold_tokens,
            scale=self.proved.scales.get(self.model.name, 1.0),
        )

    @property
    def _session(self) -> Session:
        session = self.sessions.current_session
        assert session is not None, "a turn runs in a session"
        return session


def allowed_by(error: ContextOverflow, output: int | None) -> int | None:
    """Tokens that a request may have after a refusal; None where the provider named no figure.

    What it read in silence is what it reads; a window that it names must hold the answer too.
    """
    if error.limit is None:
        return None
    if error.said:
        return round(error.limit * 0.9)
    return request_limit(error.limit, min(output or DEFAULT_MAX_TOKENS, error.limit // 4))


def in_vain(before: int, after: int) -> ContextFull:
    """The stop when reductions bring almost nothing again and again."""
    return ContextFull(
        f"Making the request smaller brought less than 5 % three times in a row ({before:,} → {after:,} tokens).",
        "Take pins back with /unpin, start a /new session, or choose a model with a larger window.",
    )
