"""Makes the next request fit before each step, by the reduction ladder. The effects are returned, not stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from swecli.agent.fitted import Effect, FittedRequest, StepPlace
from swecli.agent.request_builder import RequestBuilder
from swecli.agent.sender import send
from swecli.context import budget, epochs, validate
from swecli.context.budget import ModelLimits, RequestLimits, RequestSize
from swecli.context.fit import CLEAR, LEFT, LEFT_DEEP, SHRINK, TRUNCATE, Ladder, RungResult
from swecli.context.system_message import cache_marks, load_prompt, render_withdrawn
from swecli.context.tokens import TokenCounter, estimate_token_count
from swecli.context.truncate import (
    TruncateOptions,
    TruncateResponse,
    truncate_conversation_if_needed,
)
from swecli.llm.base import ChatModel
from swecli.models.context import Epoch, Reduction
from swecli.models.errors import ContextFull, ContextOverflow, SwecliError
from swecli.models.message import ApiMessage, ModelRequest, ToolSpec, Usage
from swecli.models.session import Session
from swecli.tools.offers import lean_specs

_SUMMARY_ATTEMPTS = 2  # the turn waits for them
_WITHDRAWN = "This was said or noted in this session and does not hold any more; leave it out of the summary:"


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
            at, context, edits = self.at, self.session.context, result.edits
            if (
                epoch is not None
            ):  # a truncation: the head must retain the facts of removed messages
                edits = context.merge_edits(epoch.first, edits)
            sizes = (result.before, result.after)
            self.add(
                Reduction(result.how, at.interaction, at.step, *sizes, result.detail, epoch, edits)
            )
            self.messages = validate.normalize_keyed(result.edits.apply(self.messages))


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

    async def fit(self, messages: list[ApiMessage], at: StepPlace) -> FittedRequest:
        """Make a request that fits of a turn's keyed messages. Tokens are counted exactly unless it fits easily."""
        if (
            self.counter.estimated
            and not self.limits.fit_easily(messages, self.specs)
            and self.counter.load()
        ):
            self.observed = self.observed.forget_counts()
        fitting, failure = self._start(validate.normalize_keyed(messages), at), None
        size, known = fitting.size, self.observed
        self.observed = replace(known, due=max(0, known.due - max(0, size.tokens - known.left)))
        if size.over:
            if fitting.deep and self.observed.deep != at.interaction:
                fixed = fitting.ladder.fixed(fitting.messages)
                line = (
                    f"the conversation was reduced {budget.OFTEN + 1} times in {budget.STEPS} steps: tools and "
                    f"system prompt take {fixed:,} of {self.limits.limit or 0:,} tokens; it is now cut to half "
                    "without a summary"
                )
                fitting.effects.append(line)
            fitting.apply(fitting.target.reduce(fitting.messages, CLEAR))
            try:
                if await self._summarise(fitting, self._find_cut(fitting)):
                    self._truncate(fitting)
            except ContextFull as error:
                if (few := lean_specs(self.specs)) != self.specs:
                    self.specs, self.observed = (
                        few,
                        replace(known, small=known.small | {self.model.name}),
                    )
                    return await self.fit(messages, at)
                failure = error
        final = self.measure(fitting.messages)
        self._learn(fitting, final)
        sent = validate.strip_keys(fitting.messages)
        reserve, marks = self.limits.reserve, cache_marks(sent)
        request = ModelRequest(
            self.model.name, sent, self.specs, reserve, thinking=self.thinking, marks=marks
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
        if (
            cut := epochs.SummaryCut.find(messages, at.interaction, self.session.context.pins)
        ) is None:
            return ()
        await self._summarise(fitting, cut, wish)
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

    def record_written_calls(self) -> str:
        """Record that the model wrote its calls as text; return a line for the user the first time, else ""."""
        name = self.model.name
        if name in self.observed.writing:
            return ""
        self.observed = replace(self.observed, writing=self.observed.writing | {name})
        return f"{name} writes its tool calls as text: they are run like others"

    def check_usage(
        self, usage: Usage | None, sent: FittedRequest, *, has_called: bool = False
    ) -> str:
        """Compare the provider's token count of a request with ours; return a line for the user, or "". A model that
        `has_called` a tool sees the tools, whatever the count. Raises ContextOverflow if the provider truncated the
        request without an error."""
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
        )
        if (check.tokens_read or check.notice) and self.counter.estimated and self.counter.load():
            self.observed = self.observed.forget_counts()  # an estimate is no proof
            counted = self.counter.count_messages(sent.request.messages) + self._tools_tokens()
            return self.check_usage(usage, replace(sent, counted=counted), has_called=has_called)
        self.observed = check.observed
        if check.tokens_read:
            few = f"{check.tokens_read:,} of about {sent.counted:,} tokens"
            error = ContextOverflow(f"The provider read {few} and did not report it.")
            error.limit, error.reported = (
                check.tokens_read,
                f"the provider read only {few} of the request",
            )
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
        deep, ladder = (
            self.observed.is_reduced_too_often(at.interaction, at.step),
            Ladder(self.limits, self.counter),
        )
        size, target = self.measure(messages), ladder
        if size.over and (deep or not size.fits):
            target = ladder.lower(messages, LEFT_DEEP if deep else LEFT)
        session = replace(self.session, context=replace(self.session.context))
        return _Fitting(session, messages, at, ladder, target, deep)

    @property
    def limits(self) -> RequestLimits:
        context, settings = self.session.context, self.builder.settings
        own, percent = (
            (settings.thresholds, settings.profile),
            settings.auto_condense_context_percent,
        )
        percent = budget.effective_threshold(percent, *own)
        return replace(
            self._limits(self.model), threshold=percent, hold=context.hold_tokens, pins=context.pins
        )

    def _limits(self, model: ChatModel) -> RequestLimits:
        """Return a model's limits by its profile and by what was observed."""
        known, profile, shape = self.observed, model.profile, self._shape(model)
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
            if (failures := self.observed.failures) in budget.REPORTED:
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

    async def _summarise(
        self, fitting: _Fitting, cut: epochs.SummaryCut | None, wish: str = ""
    ) -> bool:
        """Replace the messages of `cut`, if any, by a summary. Returns whether the request is still too long."""
        summarised: list[tuple[Reduction, list[ApiMessage]]] = []

        async def condense(options: TruncateOptions) -> TruncateResponse:
            assert cut is not None, "without a cut condensing is disabled"
            at = fitting.at
            summary, failure = await self._request_summary(fitting, cut, wish)
            if failure:
                return TruncateResponse(messages=[], error=failure)
            epoch, edits, after = cut.apply(
                fitting.session, summary, self.builder.head(at.query, self.counter)
            )
            new = fitting.target.limits.measure(after, self.counter)
            detail = f"{cut.turns} summarised by {self.condense_model.name}"
            row = Reduction(
                epochs.CONDENSE,
                at.interaction,
                at.step,
                size.tokens,
                new.tokens,
                detail,
                epoch,
                edits,
            )
            summarised.append((row, after))
            return TruncateResponse(after, summary, new_context_tokens=_effective_tokens(new))

        size = fitting.size
        last = estimate_token_count(fitting.messages[-1].get("content"), self.counter.count)
        options = TruncateOptions(
            messages=fitting.messages,
            total_tokens=_effective_tokens(size) - last,
            context_window=self.model.profile.window or 0,
            auto_condense_context=cut is not None,
            auto_condense_context_percent=0,  # the threshold is checked before
            count_tokens=self.counter.count,
            condense=condense,
            allowed=size.limit or budget.MAX_CHARACTERS,
        )
        answer = await truncate_conversation_if_needed(options)
        if answer.error is not None:  # a rejected summary leaves no row
            fitting.failure = answer.error
        elif summarised:
            row, fitting.messages = summarised[0]
            fitting.add(row)
            self.observed = replace(self.observed, failures=0, due=0)
        return (
            answer.messages is not fitting.messages
        )  # its truncation is repeated as rows, which keep pinned turns

    async def _request_summary(
        self, fitting: _Fitting, cut: epochs.SummaryCut, wish: str
    ) -> tuple[str, str]:
        """Request a summary; return it and "", or "" and why there is none. The request extends the last one sent,
        which the provider has cached. Its usage becomes an effect."""
        model, limits = self.condense_model, self._limits(self.condense_model)
        instruction = self.builder.settings.custom_condensing_prompt or load_prompt("condense")
        if withdrawn := self.builder.withdrawn(self.session):
            instruction += f"\n\n{_WITHDRAWN}\n{render_withdrawn(withdrawn)}"
        instruction += f"\n\nThe user asks to focus on: {wish}" if wish else ""
        try:  # truncated last if this model takes less than the session's: removed messages are not summarised
            messages = [*validate.strip_keys(cut.asked), {"role": "user", "content": instruction}]
            sent, _ = Ladder(limits, self.counter).fit(messages, (CLEAR, SHRINK, TRUNCATE))
            marks = cache_marks(sent)
            request = ModelRequest(
                model.name, sent, self.specs, limits.reserve, "condense", marks=marks
            )
            reply = await send(
                model,
                request,
                fitting.effects.append,
                interaction=fitting.at.interaction,
                attempts=_SUMMARY_ATTEMPTS,
            )
        except ContextFull:
            return "", f"the conversation is too long for {model.name}"
        except SwecliError as error:
            return "", error.message
        if reply.calls:
            return "", "the model returned tool calls instead of a summary"
        text = reply.text.strip()
        return text, "" if text else "the model returned an empty summary"

    def _truncate(self, fitting: _Fitting) -> None:
        """Truncate, then shrink until the request fits. The head retains the facts of removed messages if they fit."""
        head, current = (
            self.builder.head(fitting.at.query, self.counter),
            (fitting.epoch, fitting.messages),
        )
        rebuilt = epochs.rebuild_epoch(
            fitting.epoch, fitting.session, head, fitting.messages, fitting.at.interaction
        )
        for epoch, messages in (rebuilt, current):
            truncated = fitting.target.reduce(messages, TRUNCATE)
            after = truncated.messages if truncated else messages
            shrunk = fitting.ladder.reduce(after, SHRINK)
            after = shrunk.messages if shrunk else after
            if epoch is not fitting.epoch and not (truncated and self.measure(after).fits):
                continue  # the new head itself may be too long
            fitting.ladder.require_fit(after)
            fitting.messages = messages
            fitting.apply(truncated, epoch)
            fitting.apply(shrunk)
            return


def _effective_tokens(size: RequestSize) -> int:
    """Return the tokens, raised above the limit if the request has too many characters."""
    allowed = size.limit or budget.MAX_CHARACTERS
    return min(size.tokens, allowed) if size.fits else max(size.tokens, allowed + 1)
