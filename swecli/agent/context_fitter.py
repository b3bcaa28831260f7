"""The ladder, once a step: the next request made to fit what the model takes. It stores nothing: what it did is told by
what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from swecli.agent.condense import Condensed, CondenseRequest, Summariser, condense
from swecli.agent.request_builder import RequestBuilder
from swecli.context.budget import MAX_CHARACTERS, MAX_CONDENSE_THRESHOLD
from swecli.context.condense import TruncateOptions, TruncateResponse, try_condensing
from swecli.context.edits import changes, edited, lawful, plain
from swecli.context.fit import CLEAR, SHRINK, TRUNCATE, Measured, Reduced, RequestLimits, measure, reduce, require_fit
from swecli.context.model_limits import ModelLimits, allowed_by, in_vain
from swecli.context.prepare import without_old_strategies
from swecli.context.reductions import (
    CONDENSE,
    cut_for_summary,
    present_epoch,
    recomposed,
    row_of,
    summed_up,
    turns,
    with_system,
)
from swecli.context.tokens import TokenCounter, estimate_token_count
from swecli.context.truncate import loop_window, truncate_conversation_if_needed
from swecli.llm.base import ChatModel
from swecli.models.context import ContextState, Epoch, Reduction
from swecli.models.errors import ContextFull, ContextOverflow
from swecli.models.events import Notice
from swecli.models.message import ApiMessage, ModelRequest, RequestRecord, ToolSpec, Usage
from swecli.models.session import Session

LOOP = "loop"
OFF = Notice("condensing is off for the rest of this session: it failed three times", "warning")


@dataclass(frozen=True, slots=True)
class FitRules:
    """When the ladder is climbed: `threshold` in percent of the model's window; `condense`: whether a model may be
    asked for a summary; `max_tokens` of one answer; `loop`: the profile of a loop, which goes on with the system
    message and the newest messages only (seed 000: after loop 5, of more than 15 messages, the last 10)."""

    threshold: int = MAX_CONDENSE_THRESHOLD
    condense: bool = True
    max_tokens: int | None = None
    loop: bool = False


@dataclass(frozen=True, slots=True)
class StepPlace:
    """Where a request is made: a step of an interaction (0: between turns), which is about `query`. `refused`: the
    request before it was too long after all; it is made smaller by rules alone: a summary would be asked for in vain.
    """

    interaction: int
    step: int
    query: str
    refused: bool = False


Happened = Reduction | RequestRecord | Notice


@dataclass(frozen=True, slots=True)
class Fitted:
    """A request that fits. A turn goes on from `keyed`: what was taken out stays out, so that later requests only add.

    `happened` holds, in their order, the reductions to store before it is sent, the bills of summaries, and lines for
    the user. With `failure` there is no such request. `counted` is the whole by our own count, tools included.
    """

    request: ModelRequest
    keyed: list[ApiMessage]
    measured: Measured
    counted: int
    happened: tuple[Happened, ...] = ()
    failure: ContextFull | None = None

    @property
    def bills(self) -> list[RequestRecord]:
        """What summaries took."""
        return [one for one in self.happened if isinstance(one, RequestRecord)]


@dataclass(slots=True)
class _Climb:
    """The way up the ladder: the session as it would be if all rows so far were stored, and the request so far."""

    session: Session
    messages: list[ApiMessage]
    at: StepPlace
    happened: list[Happened] = field(default_factory=list)

    def add(self, row: Reduction) -> None:
        self.session.context.add(row)
        self.happened.append(row)

    def take(self, taken: Reduced | None, epoch: Epoch | None = None) -> None:
        if taken is not None:
            self.add(row_of(self.session, taken, self.at.interaction, self.at.step, epoch))
            self.messages = lawful(edited(self.messages, [taken.edits]))


@dataclass(slots=True)
class ContextFitter:
    """Makes the requests of one session's turns. `known` is what it has learned of the models: it outlives a turn."""

    model: ChatModel
    specs: list[ToolSpec]
    counter: TokenCounter
    session: Session
    builder: RequestBuilder
    summariser: Summariser
    rules: FitRules
    known: ModelLimits = field(default_factory=ModelLimits)

    async def fit(self, messages: list[ApiMessage], at: StepPlace) -> Fitted:
        """Make the next request of a turn's keyed messages."""
        climb = self._climb(lawful(messages), at)
        if self.rules.loop:
            self._loop_window(climb)
        before, failure = self._size(climb), None
        if before.over:
            climb.take(self._reduced(climb, climb.messages, CLEAR))
            try:
                await self._make_room(climb)
            except ContextFull as error:
                failure = error
        measured = self._size(climb)
        if failure is None and measured.tokens < before.tokens:
            self.known = self.known.reduced(before.tokens, measured.tokens)
            failure = in_vain(before.tokens, measured.tokens) if self.known.in_vain else None
        request = ModelRequest(self.model.name, plain(climb.messages), self.specs, self.rules.max_tokens)
        counted = self.counter.count_messages(request.messages) + self.counter.count_tools(self.specs)
        return Fitted(request, climb.messages, measured, counted, tuple(climb.happened), failure)

    async def compact(self, messages: list[ApiMessage], at: StepPlace, wish: str = "") -> tuple[Happened, ...] | None:
        """Have keyed messages summed up now; None when there is nothing in them that a summary could stand for.

        `wish` is what the summary should dwell on.
        """
        climb = self._climb(messages, at)
        if cut_for_summary(messages, at.interaction, self.session.context.pins) is None:
            return None
        made: list[Reduction] = []
        measured = self._size(climb)
        answer = await try_condensing(self._options(climb, measured, made, wish), _pressure(measured))
        self._conclude(climb, answer, made)
        return tuple(climb.happened)

    def measure(self, messages: list[ApiMessage]) -> Measured:
        """The size of a request of this session."""
        return measure(messages, self._limits(self.session.context), self.counter)

    def reduced(self, messages: list[ApiMessage], rung: str) -> Reduced | None:
        """One rung taken as far as needed; None when it is not, or brings nothing."""
        return reduce(messages, rung, self._limits(self.session.context), self.counter)

    def may_condense(self, measured: Measured) -> bool:
        """Whether a model is asked for a summary of a request of that size."""
        if not (measured.over and self.rules.condense) or self.known.gave_up:
            return False
        return measured.tokens >= self.known.retry_at

    def refused(self, error: ContextOverflow, sent: Fitted) -> None:
        """A request was too long after all: the next one is smaller, by what the provider said or by a part."""
        named = allowed_by(error, self.rules.max_tokens or self.model.profile.max_output)
        self.known = self.known.refused(self.model.name, sent.measured.tokens, named)

    def counted(self, usage: Usage | None, sent: Fitted) -> bool:
        """Take the provider's count of a request; False when it cut the request without a word."""
        if self.model.profile.offline or usage is None:
            return True
        known = self.known.counted(self.model.name, usage, sent.counted)
        self.known = known or self.known
        return known is not None

    def _climb(self, messages: list[ApiMessage], at: StepPlace) -> _Climb:
        return _Climb(replace(self.session, context=replace(self.session.context)), messages, at)

    def _limits(self, context: ContextState) -> RequestLimits:
        """What a request is held to."""
        name = self.model.name
        return RequestLimits(
            window=self.model.profile.window,
            max_output=self.rules.max_tokens or self.model.profile.max_output,
            threshold=self.rules.threshold,
            allowed=self.known.limits.get(name),
            scale=self.known.scales.get(name, 1.0),
            hold=context.hold_tokens,
            pins=context.pins,
            tools_tokens=self.counter.count_tools(self.specs),
        )

    def _size(self, climb: _Climb, messages: list[ApiMessage] | None = None) -> Measured:
        return measure(
            climb.messages if messages is None else messages, self._limits(climb.session.context), self.counter
        )

    def _reduced(self, climb: _Climb, messages: list[ApiMessage], rung: str) -> Reduced | None:
        return reduce(messages, rung, self._limits(climb.session.context), self.counter)

    def _loop_window(self, climb: _Climb) -> None:
        """The window of a loop, where the step is past its beginning."""
        kept, step = loop_window(climb.messages, climb.at.step), climb.at.step
        if len(kept) < len(climb.messages):
            before, after = self._size(climb).tokens, self._size(climb, lawful(kept)).tokens
            detail = f"loop {step}: {len(climb.messages) - len(kept)} messages left out, {len(kept)} kept"
            climb.take(Reduced(LOOP, kept, changes(climb.messages, kept), before, after, detail))

    async def _make_room(self, climb: _Climb) -> None:
        """Old results are cleared: now a summary where one may be asked for, then truncation, as far as needed."""
        measured, made = self._size(climb), list[Reduction]()
        cut = cut_for_summary(climb.messages, climb.at.interaction, self.session.context.pins)
        options = self._options(climb, measured, made)
        options.auto_condense_context = cut is not None and not climb.at.refused and self.may_condense(measured)

        def truncate(answer: TruncateResponse) -> list[ApiMessage]:
            self._conclude(climb, answer, made)
            self._force(climb)
            return climb.messages

        options.truncate = truncate
        answer = await truncate_conversation_if_needed(options)
        self._conclude(climb, answer, made)

    def _options(self, climb: _Climb, measured: Measured, made: list[Reduction], wish: str = "") -> TruncateOptions:
        """The seed's options with this session's figures; the row of a summary is put into `made`."""
        last = estimate_token_count(climb.messages[-1].get("content"), self.counter.count)

        async def summarise(options: TruncateOptions) -> TruncateResponse:
            return await self._summarise(climb, made, wish)

        return TruncateOptions(
            messages=climb.messages,
            total_tokens=_pressure(measured) - last,
            context_window=self.model.profile.window or 0,
            auto_condense_context_percent=0,  # whether the threshold is reached is measured already
            count_tokens=self.counter.count,
            condense=summarise,
            allowed=measured.limit or MAX_CHARACTERS,
        )

    async def _summarise(self, climb: _Climb, made: list[Reduction], wish: str) -> TruncateResponse:
        at, session = climb.at, climb.session
        cut = cut_for_summary(climb.messages, at.interaction, session.context.pins)
        assert cut is not None, "it was looked at before"
        asked = CondenseRequest(plain(cut.asked), self.specs, self.rules.max_tokens, at.interaction, wish)
        found = await condense(asked, self.summariser, self.counter)
        climb.happened += [found.record] if found.record else []
        if not isinstance(found, Condensed):
            return TruncateResponse(messages=[], error=found.reason)
        head = self.builder.head(at.query, self.counter)
        epoch, edits, after = summed_up(session, climb.messages, cut, found.summary, head, at.interaction)
        before, size = self._size(climb).tokens, self._size(climb, after)
        detail = f"{turns(cut.asked, at.interaction)} summed up by {self.summariser.model.name}"
        made.append(Reduction(CONDENSE, at.interaction, at.step, before, size.tokens, detail, epoch, edits))
        cost = found.record.cost or 0.0
        return TruncateResponse(after, found.summary, cost, new_context_tokens=_pressure(size))

    def _conclude(self, climb: _Climb, answer: TruncateResponse, made: list[Reduction]) -> None:
        """Take a summary that was accepted, or say once why there is none."""
        if answer.error is not None:
            self.known = self.known.failed(self._size(climb).tokens)
            climb.happened.append(Notice(f"the conversation was not condensed: {answer.error}", "warning"))
            climb.happened += [OFF] if self.known.gave_up and climb.at.step else []
            answer.error = None
            made.clear()  # a summary that was refused leaves no row
        elif made:
            climb.add(made.pop())
            climb.messages = answer.messages
            self.known = self.known.succeeded()

    def _force(self, climb: _Climb) -> None:
        """Truncate and shrink until it fits; what a truncation takes out stays known by the head."""
        at, session, present = climb.at, climb.session, present_epoch(climb.session)
        fresh = recomposed(session, self.builder.head(at.query, self.counter), at.interaction)
        whole = without_old_strategies(with_system(climb.messages, fresh.system), at.interaction + 1)
        for epoch, messages in ((fresh, whole), (present, climb.messages)):
            truncated = self._reduced(climb, messages, TRUNCATE)
            after = truncated.messages if truncated else messages
            shrunk = self._reduced(climb, after, SHRINK)
            after = shrunk.messages if shrunk else after
            if epoch is fresh and not (truncated and self._size(climb, after).fits):
                continue  # the head itself may be what is too much
            require_fit(after, self._limits(session.context), self.counter)
            climb.messages = messages
            climb.take(truncated, epoch)
            climb.take(shrunk)
            return


def _pressure(size: Measured) -> int:
    """Tokens; one more than are allowed where characters decide that it is too long."""
    allowed = size.limit or MAX_CHARACTERS
    return min(size.tokens, allowed) if size.fits else max(size.tokens, allowed + 1)
