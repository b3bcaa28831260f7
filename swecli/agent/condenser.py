"""Requests a summary of a conversation from a model: the condenser that decides with `swecli.context.truncate`."""

from __future__ import annotations

from swecli.agent.fitted_request import Effect, StepPosition
from swecli.agent.request_builder import RequestBuilder
from swecli.agent.sender import send
from swecli.context import epochs
from swecli.context.budget import RequestLimits
from swecli.context.fit import RequestReducer
from swecli.context.keyed_messages import strip_keys
from swecli.context.system_message import cache_marks, load_prompt, render_withdrawn
from swecli.context.truncate import TruncateOptions, TruncateResponse
from swecli.llm.base import ChatModel
from swecli.models.context import Reduction
from swecli.models.errors import ContextFull, SwecliError
from swecli.models.message import ApiMessage, ModelReply, ModelRequest, ToolSpec
from swecli.models.session import Session
from swecli.values import dataclass

_ATTEMPTS = 2  # the turn waits for them
_WITHDRAWN = "This was said or noted in this session and does not hold any more; leave it out of the summary:"


@dataclass(slots=True)
class CondensedResponse(TruncateResponse):
    """A summarised conversation; its `messages` may have been truncated since."""

    row: Reduction | None = None  # of the summary
    condensed: tuple[ApiMessage, ...] = ()  # the messages that the row leads to


@dataclass(frozen=True, slots=True)
class Condenser:
    """Replaces the messages of `span` by a summary."""

    model: ChatModel
    limits: RequestLimits  # of that model
    reducer: RequestReducer  # to what the conversation is reduced to
    builder: RequestBuilder
    session: Session
    specs: list[ToolSpec]
    span: epochs.SummarySpan
    position: StepPosition
    effects: list[Effect]  # gets a record of the request, whatever becomes of its answer
    in_characters: bool = False  # the unit of the sizes that are returned, in place of tokens
    focus: str = ""  # what the user asks to focus on; "": nothing

    async def condense(self, options: TruncateOptions) -> TruncateResponse:
        """Return the conversation with the summary, or why there is none."""
        try:
            reply = await self._request_summary(options.custom_condensing_prompt)
        except ContextFull:
            return _failed(f"the conversation is too long for {self.model.name}")
        except SwecliError as error:
            return _failed(error.message)
        cost = reply.cost or 0.0
        summary = reply.text.strip()
        if reply.calls:
            return _failed("the model returned tool calls instead of a summary", cost)
        if not summary:
            return _failed("the model returned an empty summary", cost)
        return self._apply(summary, cost)

    def _apply(self, summary: str, cost: float) -> CondensedResponse:
        head = self.builder.head(
            self.position.query,
            self.reducer.counter,
            interaction=self.position.interaction,
            window=self.reducer.limits.window,
        )
        epoch, edits, messages = self.span.apply(self.session, summary, head)
        before = self.reducer.limits.measure(self.span.messages, self.reducer.counter)
        after = self.reducer.limits.measure(messages, self.reducer.counter)
        row = Reduction(
            how=epochs.CONDENSE,
            interaction=self.position.interaction,
            step=self.position.step,
            before=before.tokens,
            after=after.tokens,
            detail=f"{self.span.turns} summarised by {self.model.name}",
            epoch=epoch,
            edits=edits,
        )
        return CondensedResponse(
            messages=messages,
            summary=summary,
            cost=cost,
            new_context_tokens=after.characters if self.in_characters else after.tokens,
            row=row,
            condensed=tuple(messages),
        )

    async def _request_summary(self, prompt: str | None) -> ModelReply:
        """Return the answer. The request extends the last one sent, which the provider has cached. Raises ContextFull
        or ProviderError."""
        question: ApiMessage = {"role": "user", "content": self._instruction(prompt)}
        messages = [*strip_keys(self.span.source), question]
        # truncated last if this model takes less than the session's: removed messages are not summarised
        sent_messages, _ = RequestReducer(self.limits, self.reducer.counter).fit(
            messages, ("clear", "shrink", "truncate")
        )
        request = ModelRequest(
            self.model.name,
            sent_messages,
            self.specs,
            self.limits.reserve,
            "condense",
            marks=cache_marks(sent_messages),
        )
        return await send(
            self.model,
            request,
            self.effects.append,
            interaction=self.position.interaction,
            attempts=_ATTEMPTS,
        )

    def _instruction(self, prompt: str | None) -> str:
        parts = [prompt or load_prompt("condense")]
        withdrawn = self.builder.withdrawn(self.session)
        if withdrawn:
            parts.append(f"{_WITHDRAWN}\n{render_withdrawn(withdrawn)}")
        if self.focus:
            parts.append(f"The user asks to focus on: {self.focus}")
        return "\n\n".join(parts)


def _failed(error: str, cost: float = 0.0) -> TruncateResponse:
    return TruncateResponse(messages=[], cost=cost, error=error)
