"""Makes the next request fit before each step, by a summary or by the methods of reduction. The effects are returned,
not stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import TYPE_CHECKING

from swecli.agent.fitted_request import Effect, FittedRequest, StepPosition
from swecli.agent.request_builder import RequestBuilder
from swecli.context import budget, epochs, observed_limits
from swecli.context.budget import RequestLimits, RequestSize
from swecli.context.fit import (
    SHARE_LEFT,
    SHARE_LEFT_DEEP,
    ReducedMessages,
    RequestReducer,
    describe_truncation,
)
from swecli.context.keyed_messages import normalize_keyed, strip_keys
from swecli.context.observed_limits import ModelLimits, RequestShape
from swecli.context.request_parts import measure_parts
from swecli.context.system_message import cache_marks
from swecli.context.tokens import TokenCounter, count_text
from swecli.context.truncate import (
    TruncateOptions,
    TruncateResponse,
    condense_checked,
    truncate_conversation_if_needed,
)
from swecli.llm.base import ChatModel
from swecli.models.context import Epoch, Reduction
from swecli.models.errors import BadInput, ContextFull, ContextOverflow
from swecli.models.json_value import JsonObject
from swecli.models.message import ApiMessage, ModelRequest, ToolSpec, Usage, WrittenCall
from swecli.models.session import Session
from swecli.tools.offers import lean_specs
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.agent.condenser import Condenser
    from swecli.tools.hooks.late import Hooks


@dataclass(slots=True)
class _Fitting:
    """The state of fitting one request."""

    session: Session  # with all rows so far
    messages: list[ApiMessage]  # as reduced so far
    position: StepPosition
    reducer: RequestReducer  # to the request's own limits
    target: RequestReducer  # to what a reduction leaves, so that the next one comes later
    is_deep: bool = False  # there were too many reductions
    effects: list[Effect] = field(default_factory=list)
    failure: str = ""  # why there is no summary; "": nothing failed

    @property
    def epoch(self) -> Epoch:
        assert self.session.context.epoch is not None, "nothing is reduced before the first request"
        return self.session.context.epoch

    @property
    def size(self) -> RequestSize:
        return self.target.limits.measure(self.messages, self.target.counter)

    def add(self, row: Reduction) -> None:
        self.session.context.add(row)
        self.effects.append(row)

    def apply(self, reduced: ReducedMessages | None, epoch: Epoch | None = None) -> None:
        """Add a reduction (None: there was nothing to reduce); of a truncation with the `epoch` that begins with it,
        whose head retains the facts of removed messages."""
        if reduced is None:
            return
        edits = reduced.edits
        if epoch is not None:
            edits = self.session.context.merge_edits(epoch.first, edits)
        row = Reduction(
            how=reduced.method,
            interaction=self.position.interaction,
            step=self.position.step,
            before=reduced.before,
            after=reduced.after,
            detail=reduced.detail,
            epoch=epoch,
            edits=edits,
        )
        self.add(row)
        self.messages = normalize_keyed(reduced.edits.apply(self.messages))


@dataclass(slots=True)
class ContextFitter:
    """Fits the requests of a session's turns."""

    model: ChatModel
    specs: list[ToolSpec]
    counter: TokenCounter
    session: Session
    builder: RequestBuilder
    condense_model: ChatModel  # writes summaries
    observed: ModelLimits = field(default_factory=ModelLimits)  # outlives a turn
    thinking: str = ""  # the reasoning effort; "": the model's own
    schema: JsonObject | None = None  # of the answer; None: it is free
    hooks: Hooks | None = None  # asked before a summary; None: none are
    last_request: ModelRequest | None = None  # the newest that fits; None: there is none yet

    def use(self, model: ChatModel, counter: TokenCounter, specs: list[ToolSpec]) -> None:
        """Fit the requests to another model from now on."""
        self.model = model
        self.counter = counter
        self.specs = specs

    def measure_for(
        self, model: ChatModel, messages: list[ApiMessage], specs: list[ToolSpec]
    ) -> RequestSize:
        """Measure a request as another model would get it."""
        counter = TokenCounter(model.profile.encoding, exact=False)
        other = replace(self, model=model, counter=counter, specs=specs)
        return other.measure(messages)

    async def fit(self, messages: list[ApiMessage], position: StepPosition) -> FittedRequest:
        """Make a request that fits of a turn's keyed messages. Tokens are counted exactly unless it fits easily."""
        if (
            self.counter.estimated
            and not self.limits.fit_easily(messages, self.specs)
            and self.counter.load()
        ):
            self.observed = self.observed.forget_counts()
        fitting = self._begin(normalize_keyed(messages), position)
        failure: ContextFull | None = None
        size = fitting.size
        observed = self.observed
        growth = max(0, size.tokens - observed.last_size)
        self.observed = replace(observed, growth_needed=max(0, observed.growth_needed - growth))
        if size.needs_reduction:
            if fitting.is_deep and observed.deep_interaction != position.interaction:
                fitting.effects.append(self._describe_deep_reduction(fitting))
            fitting.apply(fitting.target.reduce(fitting.messages, "clear"))
            try:
                await self._condense_or_truncate(fitting)
            except ContextFull as error:
                needed_specs = lean_specs(self.specs)
                if needed_specs != self.specs:
                    self.specs = needed_specs
                    models = observed.without_room | {self.model.name}
                    self.observed = replace(observed, without_room=models)
                    return await self.fit(messages, position)
                failure = error
        fitted_size = self.measure(fitting.messages)
        self._learn(fitting, fitted_size)
        sent_messages = strip_keys(fitting.messages)
        request = ModelRequest(
            self.model.name,
            sent_messages,
            self.specs,
            self.limits.reserve,
            thinking=self.thinking,
            marks=cache_marks(sent_messages),
            schema=self.schema,
        )
        if failure is None:
            self.last_request = request
        return FittedRequest(
            request=request,
            keyed_messages=fitting.messages,
            size=fitted_size,
            counted_tokens=self.counter.count_messages(sent_messages) + self._tools_tokens(),
            parts=measure_parts(
                fitting.messages,
                fitting.session.context.epoch,
                position.interaction,
                self._tools_tokens(),
                self.counter,
            ),
            effects=tuple(fitting.effects),
            failure=failure,
        )

    async def compact(
        self, messages: list[ApiMessage], position: StepPosition, focus: str = ""
    ) -> tuple[Effect, ...]:
        """Summarise keyed messages now; the user asks to `focus` on something, "" for nothing. Returns () if there is
        nothing to summarise."""
        fitting = self._begin(messages, position)
        span = epochs.SummarySpan.find(messages, position.interaction, self.session.context.pins)
        if span is None:
            return ()
        if self.hooks is not None:
            focus = await self.hooks.before_summary("manual", focus)
        options = self._options(fitting, self._make_condenser(fitting, span, focus))
        assert options.condense is not None, "it is given just above"
        self._store_summary(fitting, await condense_checked(options, options.condense))
        if fitting.failure:
            fitting.effects.append(f"the conversation was not condensed: {fitting.failure}")
        return tuple(fitting.effects)

    def measure(self, messages: list[ApiMessage]) -> RequestSize:
        return self.limits.measure(messages, self.counter)

    def next_reduction(
        self, messages: list[ApiMessage], position: StepPosition
    ) -> ReducedMessages | epochs.SummarySpan | None:
        """Return the first reduction of the next request, or None if it needs none."""
        fitting = self._begin(messages, position)
        if not fitting.size.needs_reduction:
            return None
        reduce = fitting.target.reduce
        return (
            reduce(messages, "clear")
            or self._find_summary_span(fitting)
            or reduce(messages, "truncate")
        )

    def record_refusal(self, error: ContextOverflow, sent_request: FittedRequest) -> None:
        """Lower the limit after a request was too long for the provider."""
        reserve = sent_request.request.max_tokens or 0
        self.observed = self.observed.record_refusal(
            self._shape(self.model), sent_request.size.tokens, reserve, error
        )

    def record_written_call(self, kind: WrittenCall) -> str:
        """Record what became of a call that the model wrote as text; return a line for the user the first time, else
        ""."""
        name = self.model.name
        if not kind or (name, kind) in self.observed.written_calls:
            return ""
        self.observed = replace(
            self.observed, written_calls=self.observed.written_calls | {(name, kind)}
        )
        if kind == "run":
            return f"{name} writes its tool calls as text: they are run like others"
        return f"the answer of {name} has a tool call in its text: it is shown, not run"

    def check_usage(
        self, usage: Usage | None, sent_request: FittedRequest, *, has_called: bool = False
    ) -> str:
        """Compare the provider's token count of a request with ours; return a line for the user, or "". A model that
        `has_called` a tool in this turn sees the tools, whatever the count, and a service always passes them on. Raises
        ContextOverflow if the provider truncated the request without an error."""
        profile = self.model.profile
        if profile.offline or usage is None:
            return ""
        window = profile.window if profile.origins.get("window") == "probe" else None
        check = self.observed.record_usage(
            self.model.name,
            usage,
            sent_request.counted_tokens,
            self._tools_tokens(),
            window,
            has_called=has_called,
            may_hide_tools=profile.server == "local",
        )
        if (check.tokens_read or check.notice) and self.counter.estimated and self.counter.load():
            self.observed = self.observed.forget_counts()  # an estimate is no proof
            counted_tokens = (
                self.counter.count_messages(sent_request.request.messages) + self._tools_tokens()
            )
            return self.check_usage(
                usage, replace(sent_request, counted_tokens=counted_tokens), has_called=has_called
            )
        self.observed = check.observed
        if check.tokens_read:
            share = f"{check.tokens_read:,} of about {sent_request.counted_tokens:,} tokens"
            error = ContextOverflow(f"The provider read {share} and did not report it.")
            error.limit = check.tokens_read
            error.reported = f"the provider read only {share} of the request"
            raise error
        return check.notice

    def _tools_tokens(self) -> int:
        """Count the tokens of the tools; 0 if none are sent, or the server hides them from the model."""
        if not self.model.profile.tools or self.model.name in self.observed.without_tools:
            return 0
        return self.counter.count_tools(self.specs)

    def _shape(self, model: ChatModel) -> RequestShape:
        return RequestShape(model.name, self._tools_tokens(), self.builder.settings.max_tokens)

    def _begin(self, messages: list[ApiMessage], position: StepPosition) -> _Fitting:
        is_deep = self.observed.is_reduced_too_often(position.interaction, position.step)
        reducer = RequestReducer(self.limits, self.counter)
        size = self.measure(messages)
        target = reducer
        if size.needs_reduction and (is_deep or not size.fits):
            target = reducer.lower(messages, SHARE_LEFT_DEEP if is_deep else SHARE_LEFT)
        session = replace(self.session, context=replace(self.session.context))
        return _Fitting(session, messages, position, reducer, target, is_deep)

    @property
    def limits(self) -> RequestLimits:
        """The limits of the session's requests."""
        settings = self.builder.settings
        threshold = budget.effective_threshold(
            settings.auto_condense_context_percent, settings.thresholds, settings.profile
        )
        context = self.session.context
        return replace(
            self._limits_of(self.model),
            threshold=threshold,
            hold_tokens=context.hold_tokens,
            pins=context.pins,
        )

    def _limits_of(self, model: ChatModel) -> RequestLimits:
        """Return a model's limits by its profile and by what was observed."""
        observed = self.observed
        profile = model.profile
        shape = self._shape(model)
        reserve = profile.reserve(self.builder.settings.max_tokens)
        return RequestLimits(
            window=observed.windows.get(model.name, profile.window),
            reserve=observed.answer_tokens(model.name, reserve),
            allowed=observed.limits.get(shape),
            scale=observed.scales.get(model.name, 1.0),
            tools_tokens=shape.tools_tokens,
        )

    def _find_summary_span(self, fitting: _Fitting) -> epochs.SummarySpan | None:
        """Return the messages to summarise; None if a summary is not needed, not allowed, or would gain too little."""
        position = fitting.position
        if not (self.builder.settings.auto_condense_context and fitting.size.needs_reduction):
            return None
        if fitting.is_deep or position.was_refused or self.observed.growth_needed:
            return None
        pins = self.session.context.pins
        span = epochs.SummarySpan.find(fitting.messages, position.interaction, pins)
        if span is None:
            return None
        gain = sum(self.counter.count_message(message) for message in span.replaced)
        keeps_turns = fitting.epoch.first < position.interaction
        is_worthwhile = fitting.reducer.is_summary_worthwhile(
            fitting.messages, gain, keeps_turns=keeps_turns
        )
        return span if is_worthwhile else None

    def _learn(self, fitting: _Fitting, size: RequestSize) -> None:
        """Record failures and reductions for the next steps."""
        position = fitting.position
        if fitting.failure:
            self.observed = self.observed.record_failure(size.tokens)
            failures = self.observed.failures
            line = "the conversation was not condensed"
            if failures > 1:
                line = f"condensing failed {failures} times in a row, and is tried again as the conversation grows"
            if failures in observed_limits.REPORTED_FAILURES:
                fitting.effects.append(f"{line}: {fitting.failure}")
        self.observed = replace(self.observed, last_size=size.tokens)
        if any(isinstance(effect, Reduction) for effect in fitting.effects):
            self.observed = self.observed.record_reduction(
                position.interaction, position.step, deep=fitting.is_deep
            )

    def _describe_deep_reduction(self, fitting: _Fitting) -> str:
        fixed = fitting.reducer.count_fixed(fitting.messages)
        times = observed_limits.MAX_RECENT_REDUCTIONS + 1
        return (
            f"the conversation was reduced {times} times in {observed_limits.RECENT_STEPS} steps: tools and "
            f"system prompt take {fixed:,} of {self.limits.limit or 0:,} tokens; it is now cut to half "
            "without a summary"
        )

    async def _condense_or_truncate(self, fitting: _Fitting) -> None:
        """Do what `truncate_conversation_if_needed` decides, and reduce further what it leaves too long. Raises
        ContextFull."""
        span = self._find_summary_span(fitting)
        condenser = await self._admit_condenser(fitting, span) if span is not None else None
        answer = await truncate_conversation_if_needed(self._options(fitting, condenser))
        self._store_summary(fitting, answer)
        if len(answer.messages) < len(fitting.messages) or not fitting.size.fits:
            self._truncate(fitting, answer.messages)

    async def _admit_condenser(
        self, fitting: _Fitting, span: epochs.SummarySpan
    ) -> Condenser | None:
        """Return what summarises a conversation that is too long, None if a hook refuses a summary."""
        focus = ""
        if self.hooks is not None:
            try:
                focus = await self.hooks.before_summary("auto", "")
            except BadInput as refusal:
                fitting.effects.append(str(refusal))
                return None
        return self._make_condenser(fitting, span, focus)

    def _make_condenser(
        self, fitting: _Fitting, span: epochs.SummarySpan, focus: str = ""
    ) -> Condenser:
        # late: few turns are summarised
        from swecli.agent.condenser import Condenser

        return Condenser(
            model=self.condense_model,
            limits=self._limits_of(self.condense_model),
            reducer=fitting.target,
            builder=self.builder,
            session=fitting.session,
            specs=self.specs,
            span=span,
            position=fitting.position,
            effects=fitting.effects,
            in_characters=_is_counted_in_characters(fitting.size),
            focus=focus,
        )

    def _options(self, fitting: _Fitting, condenser: Condenser | None) -> TruncateOptions:
        """Return the inputs of the decision, in tokens, or in characters if these are what is too long."""
        settings = self.builder.settings
        limits = fitting.target.limits
        size = fitting.size
        total = size.tokens
        count: Callable[[str], int] = self.counter.count
        window = limits.threshold_window or 0
        allowed = size.limit
        if _is_counted_in_characters(size):
            total = size.characters
            count = len
            window = budget.MAX_CHARACTERS
            allowed = budget.MAX_CHARACTERS
        last = count_text(fitting.messages[-1], count)
        return TruncateOptions(
            messages=fitting.messages,
            total_tokens=total - last,
            context_window=window,
            max_tokens=limits.reserve,
            auto_condense_context=settings.auto_condense_context,
            auto_condense_context_percent=settings.auto_condense_context_percent,
            task_id=self.session.id,
            custom_condensing_prompt=settings.custom_condensing_prompt,
            profile_thresholds=settings.thresholds,
            current_profile_id=settings.profile,
            count_tokens=count,
            condense=condenser.condense if condenser is not None else None,
            allowed=allowed,
            pins=limits.pins,
        )

    def _store_summary(self, fitting: _Fitting, answer: TruncateResponse) -> None:
        """Make the summary of an answer, or why there is none, part of the fitting."""
        # late: as above
        from swecli.agent.condenser import CondensedResponse

        if answer.error is not None:
            fitting.failure = answer.error
        if isinstance(answer, CondensedResponse) and answer.row is not None:
            fitting.add(answer.row)
            fitting.messages = list(answer.condensed)
            self.observed = replace(self.observed, failures=0, growth_needed=0)

    def _truncate(self, fitting: _Fitting, kept_messages: list[ApiMessage]) -> None:
        """Reduce to `kept_messages`, or further, until the request fits. The head retains the facts of removed messages
        if there is room for them. Raises ContextFull."""
        head = self.builder.head(
            fitting.position.query,
            self.counter,
            interaction=fitting.position.interaction,
            window=self.limits.window,
        )
        rebuilt = epochs.rebuild_epoch(
            fitting.epoch, fitting.session, head, fitting.position.interaction
        )
        for epoch in (rebuilt, fitting.epoch):
            before = epochs.with_epoch(epoch, fitting.messages)
            after = epochs.with_epoch(epoch, kept_messages)
            if not fitting.target.limits.measure(after, self.counter).fits:
                # from the beginning: the stubs of one truncation are not messages of the next
                truncate_result = fitting.target.reduce(before, "truncate")
                after = truncate_result.messages if truncate_result is not None else after
            shrink_result = fitting.reducer.reduce(after, "shrink")
            final_messages = shrink_result.messages if shrink_result is not None else after
            is_truncated = len(after) < len(before)
            if epoch is rebuilt and not (is_truncated and self.measure(final_messages).fits):
                continue  # the new head itself may be too long
            fitting.reducer.require_fit(final_messages)
            fitting.messages = before
            if is_truncated:
                detail = describe_truncation(before, after)
                fitting.apply(fitting.target.compare(before, after, "truncate", detail), epoch)
            fitting.apply(shrink_result)
            return


def _is_counted_in_characters(size: RequestSize) -> bool:
    """Return whether characters are what is too long: they have a limit of their own, tokens only a known window's."""
    return size.characters > budget.MAX_CHARACTERS
