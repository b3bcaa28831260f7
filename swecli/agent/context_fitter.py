"""Makes the next request fit before each step, by the reduction ladder. The effects are returned, not stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from swecli.agent.fitted import Effect, FittedRequest, StepPlace
from swecli.agent.request_builder import RequestBuilder
from swecli.context import budget, epochs, observed_limits
from swecli.context.budget import RequestLimits, RequestSize
from swecli.context.fit import (
    CLEAR,
    LEFT,
    LEFT_DEEP,
    SHRINK,
    TRUNCATE,
    Ladder,
    RungResult,
    describe_truncation,
)
from swecli.context.keyed import normalize_keyed, strip_keys
from swecli.context.observed_limits import ModelLimits
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
from swecli.models.errors import ContextFull, ContextOverflow
from swecli.models.json_value import JsonObject
from swecli.models.message import ApiMessage, ModelRequest, ToolSpec, Usage, WrittenCall
from swecli.models.session import Session
from swecli.tools.offers import lean_specs

if TYPE_CHECKING:
    from swecli.agent.condenser import Condenser


@dataclass(slots=True)
class _Fitting:
    """The state of the ladder for one request: the session with all rows so far, and the messages so far. `limits` are
    the request's own, `target` those it is reduced to; `deep`: after too many reductions; `failure`: of the summary."""

    session: Session
    messages: list[ApiMessage]
    at: StepPlace
    ladder: Ladder
    target: Ladder
    deep: bool = False
    effects: list[Effect] = field(default_factory=list)
    failure: str = ""

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

    def apply(self, result: RungResult | None, epoch: Epoch | None = None) -> None:
        if result is not None:
            at = self.at
            context = self.session.context
            edits = result.edits
            if (
                epoch is not None
            ):  # a truncation: the head must retain the facts of removed messages
                edits = context.merge_edits(epoch.first, edits)
            sizes = (result.before, result.after)
            self.add(
                Reduction(result.how, at.interaction, at.step, *sizes, result.detail, epoch, edits)
            )
            self.messages = normalize_keyed(result.edits.apply(self.messages))


@dataclass(slots=True)
class ContextFitter:
    """Fits the requests of a session's turns; `condense_model` writes summaries, `observed` outlives a turn."""

    model: ChatModel
    specs: list[ToolSpec]
    counter: TokenCounter
    session: Session
    builder: RequestBuilder
    condense_model: ChatModel
    observed: ModelLimits = field(default_factory=ModelLimits)
    thinking: str = ""
    schema: JsonObject | None = None  # of the answer

    async def fit(self, messages: list[ApiMessage], at: StepPlace) -> FittedRequest:
        """Make a request that fits of a turn's keyed messages. Tokens are counted exactly unless it fits easily."""
        if (
            self.counter.estimated
            and not self.limits.fit_easily(messages, self.specs)
            and self.counter.load()
        ):
            self.observed = self.observed.forget_counts()
        fitting = self._start(normalize_keyed(messages), at)
        failure: ContextFull | None = None
        size = fitting.size
        known = self.observed
        self.observed = replace(known, due=max(0, known.due - max(0, size.tokens - known.left)))
        if size.over:
            if fitting.deep and self.observed.deep != at.interaction:
                fitting.effects.append(self._too_many_reductions(fitting))
            fitting.apply(fitting.target.reduce(fitting.messages, CLEAR))
            try:
                await self._condense_or_truncate(fitting)
            except ContextFull as error:
                few = lean_specs(self.specs)
                if few != self.specs:
                    self.specs = few
                    self.observed = replace(known, small=known.small | {self.model.name})
                    return await self.fit(messages, at)
                failure = error
        final = self.measure(fitting.messages)
        self._learn(fitting, final)
        sent = strip_keys(fitting.messages)
        reserve = self.limits.reserve
        marks = cache_marks(sent)
        request = ModelRequest(
            self.model.name,
            sent,
            self.specs,
            reserve,
            thinking=self.thinking,
            marks=marks,
            schema=self.schema,
        )
        counted = self.counter.count_messages(sent) + self._tools_tokens()
        return FittedRequest(
            request, fitting.messages, final, counted, tuple(fitting.effects), failure
        )

    async def compact(
        self, messages: list[ApiMessage], at: StepPlace, wish: str = ""
    ) -> tuple[Effect, ...]:
        """Summarise keyed messages now, emphasising the user's `wish`. Returns () if there is nothing to summarise."""
        fitting = self._start(messages, at)
        cut = epochs.SummaryCut.find(messages, at.interaction, self.session.context.pins)
        if cut is None:
            return ()
        options = self._options(fitting, self._condenser(fitting, cut, wish))
        assert options.condense is not None, "it is given just above"
        self._store_summary(fitting, await condense_checked(options, options.condense))
        if fitting.failure:
            fitting.effects.append(f"the conversation was not condensed: {fitting.failure}")
        return tuple(fitting.effects)

    def measure(self, messages: list[ApiMessage]) -> RequestSize:
        return self.limits.measure(messages, self.counter)

    def next_rung(
        self, messages: list[ApiMessage], at: StepPlace
    ) -> RungResult | epochs.SummaryCut | None:
        """Return the first reduction of the next request, or None if it needs none."""
        fitting = self._start(messages, at)
        if not fitting.size.over:
            return None
        reduce = fitting.target.reduce
        return reduce(messages, CLEAR) or self._find_cut(fitting) or reduce(messages, TRUNCATE)

    def record_refusal(self, error: ContextOverflow, sent: FittedRequest) -> None:
        """Lower the limit after a request was too long for the provider."""
        reserve = sent.request.max_tokens or 0
        self.observed = self.observed.record_refusal(
            self._shape(self.model), sent.size.tokens, reserve, error
        )

    def record_written_call(self, kind: WrittenCall) -> str:
        """Record what became of a call that the model wrote as text; return a line for the user the first time, else
        ""."""
        name = self.model.name
        if not kind or (name, kind) in self.observed.writing:
            return ""
        self.observed = replace(self.observed, writing=self.observed.writing | {(name, kind)})
        if kind == "run":
            return f"{name} writes its tool calls as text: they are run like others"
        return f"the answer of {name} has a tool call in its text: it is shown, not run"

    def check_usage(
        self, usage: Usage | None, sent: FittedRequest, *, has_called: bool = False
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
            sent.counted,
            self._tools_tokens(),
            window,
            has_called=has_called,
            may_hide_tools=profile.server == "local",
        )
        if (check.tokens_read or check.notice) and self.counter.estimated and self.counter.load():
            self.observed = self.observed.forget_counts()  # an estimate is no proof
            counted = self.counter.count_messages(sent.request.messages) + self._tools_tokens()
            return self.check_usage(usage, replace(sent, counted=counted), has_called=has_called)
        self.observed = check.observed
        if check.tokens_read:
            few = f"{check.tokens_read:,} of about {sent.counted:,} tokens"
            error = ContextOverflow(f"The provider read {few} and did not report it.")
            error.limit = check.tokens_read
            error.reported = f"the provider read only {few} of the request"
            raise error
        return check.notice

    def _tools_tokens(self) -> int:
        """Count the tokens of the tools; 0 if the server hides them from the model."""
        return (
            0 if self.model.name in self.observed.toolless else self.counter.count_tools(self.specs)
        )

    def _shape(self, model: ChatModel) -> tuple[str, int, int | None]:
        return model.name, self._tools_tokens(), self.builder.settings.max_tokens

    def _start(self, messages: list[ApiMessage], at: StepPlace) -> _Fitting:
        deep = self.observed.is_reduced_too_often(at.interaction, at.step)
        ladder = Ladder(self.limits, self.counter)
        size = self.measure(messages)
        target = ladder
        if size.over and (deep or not size.fits):
            target = ladder.lower(messages, LEFT_DEEP if deep else LEFT)
        session = replace(self.session, context=replace(self.session.context))
        return _Fitting(session, messages, at, ladder, target, deep)

    @property
    def limits(self) -> RequestLimits:
        context = self.session.context
        settings = self.builder.settings
        own = (settings.thresholds, settings.profile)
        percent = settings.auto_condense_context_percent
        percent = budget.effective_threshold(percent, *own)
        return replace(
            self._limits(self.model), threshold=percent, hold=context.hold_tokens, pins=context.pins
        )

    def _limits(self, model: ChatModel) -> RequestLimits:
        """Return a model's limits by its profile and by what was observed."""
        known = self.observed
        profile = model.profile
        shape = self._shape(model)
        return RequestLimits(
            window=known.windows.get(model.name, profile.window),
            reserve=known.answer_tokens(
                model.name, profile.reserve(self.builder.settings.max_tokens)
            ),
            allowed=known.limits.get(shape),
            scale=known.scales.get(model.name, 1.0),
            tools_tokens=shape[1],
        )

    def _find_cut(self, fitting: _Fitting) -> epochs.SummaryCut | None:
        """Return the messages to summarise; None if a summary is not needed, not allowed, or would gain too little."""
        is_needed = self.builder.settings.auto_condense_context and fitting.size.over
        if not is_needed or fitting.deep or fitting.at.refused or self.observed.due:
            return None
        if (
            cut := epochs.SummaryCut.find(
                fitting.messages, fitting.at.interaction, self.session.context.pins
            )
        ) is None:
            return None
        gain = sum(self.counter.count_message(message) for message in cut.replaced)
        keeps_turns = fitting.epoch.first < fitting.at.interaction
        return cut if fitting.ladder.pays(fitting.messages, gain, keeps_turns=keeps_turns) else None

    def _learn(self, fitting: _Fitting, size: RequestSize) -> None:
        """Record failures and reductions for the next steps."""
        at = fitting.at
        if fitting.failure:
            self.observed = self.observed.record_failure(size.tokens)
            if (failures := self.observed.failures) in observed_limits.REPORTED:
                often = f"{failures} times in a row, and is tried again as the conversation grows"
                how = (
                    f"condensing failed {often}"
                    if failures > 1
                    else "the conversation was not condensed"
                )
                fitting.effects.append(f"{how}: {fitting.failure}")
        self.observed = replace(self.observed, left=size.tokens)
        if any(isinstance(effect, Reduction) for effect in fitting.effects):
            self.observed = self.observed.record_reduction(
                at.interaction, at.step, deep=fitting.deep
            )

    def _too_many_reductions(self, fitting: _Fitting) -> str:
        fixed = fitting.ladder.fixed(fitting.messages)
        often = observed_limits.OFTEN + 1
        return (
            f"the conversation was reduced {often} times in {observed_limits.STEPS} steps: tools and "
            f"system prompt take {fixed:,} of {self.limits.limit or 0:,} tokens; it is now cut to half "
            "without a summary"
        )

    async def _condense_or_truncate(self, fitting: _Fitting) -> None:
        """Do what `truncate_conversation_if_needed` decides, and reduce further what it leaves too long. Raises
        ContextFull."""
        cut = self._find_cut(fitting)
        condenser = self._condenser(fitting, cut) if cut is not None else None
        answer = await truncate_conversation_if_needed(self._options(fitting, condenser))
        self._store_summary(fitting, answer)
        if len(answer.messages) < len(fitting.messages) or not fitting.size.fits:
            self._truncate(fitting, answer.messages)

    def _condenser(self, fitting: _Fitting, cut: epochs.SummaryCut, wish: str = "") -> Condenser:
        # late: few turns are summarised
        from swecli.agent.condenser import Condenser

        return Condenser(
            model=self.condense_model,
            limits=self._limits(self.condense_model),
            ladder=fitting.target,
            builder=self.builder,
            session=fitting.session,
            specs=self.specs,
            cut=cut,
            at=fitting.at,
            effects=fitting.effects,
            in_characters=_is_counted_in_characters(fitting.size),
            wish=wish,
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
            self.observed = replace(self.observed, failures=0, due=0)

    def _truncate(self, fitting: _Fitting, kept: list[ApiMessage]) -> None:
        """Reduce to the messages that were `kept`, or further, until the request fits. The head retains the facts of
        removed messages if there is room for them. Raises ContextFull."""
        head = self.builder.head(fitting.at.query, self.counter)
        rebuilt = epochs.rebuild_epoch(fitting.epoch, fitting.session, head, fitting.at.interaction)
        for epoch in (rebuilt, fitting.epoch):
            before = epochs.with_epoch(epoch, fitting.messages)
            after = epochs.with_epoch(epoch, kept)
            if not fitting.target.limits.measure(after, self.counter).fits:
                # from the beginning: the stubs of one truncation are not messages of the next
                further = fitting.target.reduce(before, TRUNCATE)
                after = further.messages if further is not None else after
            shrunk = fitting.ladder.reduce(after, SHRINK)
            final = shrunk.messages if shrunk is not None else after
            is_truncated = len(after) < len(before)
            if epoch is rebuilt and not (is_truncated and self.measure(final).fits):
                continue  # the new head itself may be too long
            fitting.ladder.require_fit(final)
            fitting.messages = before
            if is_truncated:
                detail = describe_truncation(before, after)
                fitting.apply(fitting.target.compare(before, after, TRUNCATE, detail), epoch)
            fitting.apply(shrunk)
            return


def _is_counted_in_characters(size: RequestSize) -> bool:
    """Return whether characters are what is too long: they have a limit of their own, tokens only a known window's."""
    return size.characters > budget.MAX_CHARACTERS
