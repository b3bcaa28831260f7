"""The ladder, once a step: the next request made to fit what the model takes. What it did is returned, not stored."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from swecli.agent.request_builder import RequestBuilder
from swecli.agent.turn import Fitted, Happened, ModelStep, StepPlace
from swecli.context import fit as ladder
from swecli.context.budget import MAX_CHARACTERS, OFTEN, REPORTED, STEPS, Counted, ModelLimits, effective_threshold
from swecli.context.epochs import (
    CONDENSE,
    Cut,
    cut_for_summary,
    edited,
    lawful,
    plain,
    present_epoch,
    recomposed,
    summed_up,
    turns,
    under,
)
from swecli.context.fit import CLEAR, SHRINK, TRUNCATE, Measured, Reduced, RequestLimits
from swecli.context.system_message import cache_marks, load_prompt
from swecli.context.tokens import TokenCounter, estimate_token_count
from swecli.context.truncate import TruncateOptions, TruncateResponse, truncate_conversation_if_needed
from swecli.llm.base import ChatModel
from swecli.models.context import Epoch, Reduction, merge_edits
from swecli.models.errors import ContextFull, ContextOverflow, SwecliError
from swecli.models.events import Notice
from swecli.models.message import ApiMessage, ModelRequest, RequestRecord, ToolSpec, Usage
from swecli.models.session import Session
from swecli.tools.schemas import lean_specs

_SUMMARY_ATTEMPTS = 2  # the turn waits meanwhile


@dataclass(slots=True)
class _Climb:
    """The way up the ladder: the session as it would be if all rows so far were stored, and the request so far.
    `limits` are those of the request, `work` those that it is reduced to. `failed` says why no summary came."""

    session: Session
    messages: list[ApiMessage]
    at: StepPlace
    limits: RequestLimits
    work: RequestLimits
    deep: bool = False
    happened: list[Happened] = field(default_factory=list)
    failed: str = ""

    def add(self, row: Reduction) -> None:
        self.session.context.add(row)
        self.happened.append(row)

    def take(self, taken: Reduced | None, epoch: Epoch | None = None) -> None:
        if taken is not None:
            at, context, edits = self.at, self.session.context, taken.edits
            if epoch is not None:  # a truncation: messages went whose contents the head must keep
                edits = merge_edits([*context.edits, edits], epoch.first, context.pins)
            sizes = (taken.before, taken.after)
            self.add(Reduction(taken.how, at.interaction, at.step, *sizes, taken.detail, epoch, edits))
            self.messages = lawful(edited(self.messages, [taken.edits]))


@dataclass(slots=True)
class ContextFitter:
    """Makes the requests of a session's turns; `condense_model` sums up. `known` is what it has learned of the models:
    it outlives a turn; `thinking` is how much the model is to think."""

    model: ChatModel
    specs: list[ToolSpec]
    counter: TokenCounter
    session: Session
    builder: RequestBuilder
    condense_model: ChatModel
    known: ModelLimits = field(default_factory=ModelLimits)
    thinking: str = ""

    async def fit(self, messages: list[ApiMessage], at: StepPlace) -> Fitted:
        """Make the next request of a turn's keyed messages."""
        climb, failure = self._climb(lawful(messages), at), None
        size, known = self._size(climb), self.known
        self.known = replace(known, due=max(0, known.due - max(0, size.tokens - known.left)))
        if size.over:
            if climb.deep and self.known.deep != at.interaction:
                self._report_often(climb)
            climb.take(self._reduced(climb, CLEAR))
            try:
                if await self._sum_up(climb, self._cut(climb)):
                    self._force(climb)
            except ContextFull as error:
                if (few := lean_specs(self.specs)) != self.specs:
                    self.specs, self.known = few, replace(known, small=known.small | {self.model.name})
                    return await self.fit(messages, at)
                failure = error
        measured = self.measure(climb.messages)
        self._learn(climb, measured)
        sent, reserve = plain(climb.messages), self.limits.reserve
        marks, thinking = cache_marks(sent), self.thinking
        request = ModelRequest(self.model.name, sent, self.specs, reserve, thinking=thinking, marks=marks)
        counted = self.counter.count_messages(request.messages) + self._tools_tokens()
        return Fitted(request, climb.messages, measured, counted, tuple(climb.happened), failure)

    async def compact(self, messages: list[ApiMessage], at: StepPlace, wish: str = "") -> tuple[Happened, ...] | None:
        """Have keyed messages summed up now, dwelling on `wish`; None when there is nothing that a summary could stand
        for."""
        climb = self._climb(messages, at)
        cut = cut_for_summary(messages, at.interaction, self.session.context.pins)
        if cut is None:
            return None
        await self._sum_up(climb, cut, wish)
        if climb.failed:
            climb.happened.append(Notice(f"the conversation was not condensed: {climb.failed}", "warning"))
        return tuple(climb.happened)

    def measure(self, messages: list[ApiMessage]) -> Measured:
        """The size of a request of this session."""
        return ladder.measure(messages, self.limits, self.counter)

    def next_rung(self, messages: list[ApiMessage], at: StepPlace) -> Reduced | Cut | None:
        """What the next request would take first, a summary of the `Cut` among it; None when it needs nothing."""
        climb = self._climb(messages, at)
        if not self._size(climb).over:
            return None
        return self._reduced(climb, CLEAR) or self._cut(climb) or self._reduced(climb, TRUNCATE)

    def refused(self, error: ContextOverflow, sent: Fitted) -> None:
        """A request was too long after all: the next one is smaller, by what the provider said or by a part."""
        reserve = sent.request.max_tokens or 0
        self.known = self.known.refused(self._shape(self.model), sent.measured.tokens, reserve, error)

    def counted(self, usage: Usage | None, sent: Fitted) -> Counted:
        """Take the provider's count of a request: it may show that the request was cut without a word."""
        if self.model.profile.offline or usage is None:
            return Counted(self.known)
        profile, tools = self.model.profile, self._tools_tokens()
        window = profile.window if profile.origins.get("window") == "probe" else None
        counted = self.known.counted(self.model.name, usage, sent.counted, tools, window)
        self.known = counted.known
        return counted

    def _tools_tokens(self) -> int:
        """What the tools take of a request; nothing where the server does not show them to the model."""
        return 0 if self.model.name in self.known.toolless else self.counter.count_tools(self.specs)

    def _shape(self, model: ChatModel) -> tuple[str, int, int | None]:
        return model.name, self._tools_tokens(), self.builder.settings.max_tokens

    def _climb(self, messages: list[ApiMessage], at: StepPlace) -> _Climb:
        limits, deep = self.limits, self.known.too_often(at.interaction, at.step)
        work, size = limits, ladder.measure(messages, limits, self.counter)
        if size.over and (deep or not size.fits):
            work = ladder.lowered(messages, limits, self.counter, ladder.LEFT_DEEP if deep else ladder.LEFT)
        return _Climb(replace(self.session, context=replace(self.session.context)), messages, at, limits, work, deep)

    @property
    def limits(self) -> RequestLimits:
        """What a request is held to."""
        context, settings = self.session.context, self.builder.settings
        percent = effective_threshold(settings.auto_condense_context_percent, settings.thresholds, settings.profile)
        return replace(self._limits(self.model), threshold=percent, hold=context.hold_tokens, pins=context.pins)

    def _limits(self, model: ChatModel) -> RequestLimits:
        """What that model takes, by its record and by what was learned of it."""
        known, profile, shape = self.known, model.profile, self._shape(model)
        return RequestLimits(
            window=known.windows.get(model.name, profile.window),
            reserve=known.answer(model.name, profile.reserve(self.builder.settings.max_tokens)),
            allowed=known.limits.get(shape),
            scale=known.scales.get(model.name, 1.0),
            tools_tokens=shape[1],
        )

    def _size(self, climb: _Climb) -> Measured:
        return ladder.measure(climb.messages, climb.work, self.counter)

    def _reduced(self, climb: _Climb, rung: str) -> Reduced | None:
        return ladder.reduce(climb.messages, rung, climb.work, self.counter)

    def _cut(self, climb: _Climb) -> Cut | None:
        """What a summary is asked for now; None where it may not be asked for, or would take too little out."""
        wanted = self.builder.settings.auto_condense_context and self._size(climb).over
        if not wanted or climb.deep or climb.at.refused or self.known.due:
            return None
        if (cut := cut_for_summary(climb.messages, climb.at.interaction, self.session.context.pins)) is None:
            return None
        gain = sum(self.counter.count_message(message) for message in cut.gone) * climb.limits.scale
        room = ladder.room(climb.messages, climb.limits, self.counter)
        keeps_turns = present_epoch(climb.session).first < climb.at.interaction
        return cut if gain >= room * ladder.summary_share(climb.limits.window, keeps_turns) else None

    def _report_often(self, climb: _Climb) -> None:
        """Report that the request is reduced all the time, and what takes the room."""
        fixed, limit = ladder.fixed_tokens(climb.messages, climb.limits, self.counter), climb.limits.limit or 0
        line = (
            f"the conversation had to be cut {OFTEN + 1} times in {STEPS} steps: tools and system prompt take "
            f"{fixed:,} of {limit:,} tokens; it is cut to half now, without a summary"
        )
        climb.happened.append(Notice(line, "warning"))

    def _learn(self, climb: _Climb, measured: Measured) -> None:
        """Keep what came of it for the steps to come."""
        at = climb.at
        if climb.failed:
            self.known = self.known.failed(measured.tokens)
            if self.known.failures in REPORTED:
                often = f"{self.known.failures} times in a row, and is tried again as the conversation grows"
                how = f"condensing failed {often}" if self.known.failures > 1 else "the conversation was not condensed"
                climb.happened.append(Notice(f"{how}: {climb.failed}", "warning"))
        self.known = replace(self.known, left=measured.tokens)
        if any(isinstance(one, Reduction) for one in climb.happened):
            self.known = self.known.take_reduction(at.interaction, at.step, deep=climb.deep)

    async def _sum_up(self, climb: _Climb, cut: Cut | None, wish: str = "") -> bool:
        """Let a summary take the place of `cut` (None: none may be asked for); whether it is too long even then."""
        made: list[tuple[Reduction, list[ApiMessage]]] = []

        async def summarise(options: TruncateOptions) -> TruncateResponse:
            assert cut is not None, "without one it is not asked"
            at = climb.at
            summary, failure = await self._summary(climb, cut, wish)
            if failure:
                return TruncateResponse(messages=[], error=failure)
            head = self.builder.head(at.query, self.counter)
            epoch, edits, after = summed_up(climb.session, climb.messages, cut, summary, head, at.interaction)
            size, detail = ladder.measure(after, climb.work, self.counter), turns(cut.asked, at.interaction)
            row = Reduction(CONDENSE, at.interaction, at.step, measured.tokens, size.tokens, "", epoch, edits)
            made.append((replace(row, detail=f"{detail} summarised by {self.condense_model.name}"), after))
            return TruncateResponse(after, summary, new_context_tokens=_pressure(size))

        measured = self._size(climb)
        last = estimate_token_count(climb.messages[-1].get("content"), self.counter.count)
        options = TruncateOptions(
            messages=climb.messages,
            total_tokens=_pressure(measured) - last,
            context_window=self.model.profile.window or 0,
            auto_condense_context=cut is not None,
            auto_condense_context_percent=0,  # whether the threshold is reached is measured already
            count_tokens=self.counter.count,
            condense=summarise,
            allowed=measured.limit or MAX_CHARACTERS,
        )
        answer = await truncate_conversation_if_needed(options)
        if answer.error is not None:  # a summary that was refused leaves no row
            climb.failed = answer.error
        elif made:
            row, climb.messages = made[0]
            climb.add(row)
            self.known = replace(self.known, failures=0, due=0)
        return answer.messages is not climb.messages  # a cut: it is made again in rows, and leaves what is pinned

    async def _summary(self, climb: _Climb, cut: Cut, wish: str) -> tuple[str, str]:
        """A summary, asked for on the very request that was sent last: its cache still holds it; or why there is none.
        What it took is noted. `wish` is what the user wants it to dwell on."""
        model, limits = self.condense_model, self._limits(self.condense_model)
        instruction = self.builder.settings.custom_condensing_prompt or load_prompt("condense")
        instruction += f"\n\nThe user wishes above all: {wish}" if wish else ""
        try:  # smaller where this model takes less than the session's; what is left out whole is in no summary
            messages = [*plain(cut.asked), {"role": "user", "content": instruction}]
            sent, _ = ladder.fit(messages, limits, self.counter, (CLEAR, SHRINK, TRUNCATE))
            marks = cache_marks(sent)
            request = ModelRequest(model.name, sent, self.specs, limits.reserve, "condense", marks=marks)
            step = ModelStep(model, request, attempts=_SUMMARY_ATTEMPTS)
            reply = await step.finish()
        except ContextFull:
            return "", f"the conversation is too long for {model.name}"
        except SwecliError as error:
            return "", error.message
        usage = reply.usage or Usage(self.counter.count_messages(sent), output=0)
        took = (usage, reply.cost, step.duration_ms)
        climb.happened.append(RequestRecord(model.name, "condense", climb.at.interaction, 0, *took))
        if reply.calls:
            return "", "it answered with tool calls instead of a summary"
        text = reply.text.strip()
        return text, "" if text else "it answered with nothing"

    def _force(self, climb: _Climb) -> None:
        """Truncate, and shrink until it fits; what a truncation takes out stays known by the head."""
        head, present = self.builder.head(climb.at.query, self.counter), present_epoch(climb.session)
        fresh = recomposed(climb.session, head, climb.at.interaction)
        for epoch, messages in ((fresh, under(fresh, climb.messages)), (present, climb.messages)):
            truncated = ladder.reduce(messages, TRUNCATE, climb.work, self.counter)
            after = truncated.messages if truncated else messages
            shrunk = ladder.reduce(after, SHRINK, climb.limits, self.counter)
            after = shrunk.messages if shrunk else after
            if epoch is fresh and not (truncated and ladder.measure(after, climb.limits, self.counter).fits):
                continue  # the head itself may be what is too much
            ladder.require_fit(after, climb.limits, self.counter)
            climb.messages = messages
            climb.take(truncated, epoch)
            climb.take(shrunk)
            return


def _pressure(size: Measured) -> int:
    """Tokens; one more than are allowed where characters decide that it is too long."""
    allowed = size.limit or MAX_CHARACTERS
    return min(size.tokens, allowed) if size.fits else max(size.tokens, allowed + 1)
