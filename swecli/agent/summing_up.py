"""A summary in place of what came before: asked for, judged, and made a row; whatever fails changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from swecli.agent.condensing import CondenseFailed, Condenser
from swecli.agent.reducing import CONDENSE, Heads, cut_for_summary, summed_up
from swecli.context.condense import TruncateOptions, TruncateResponse, try_condensing
from swecli.context.keyed import interaction_of, plain
from swecli.models.context import Reduction
from swecli.models.message import ApiMessage
from swecli.models.model_io import RequestRecord
from swecli.models.session import Session
from swecli.models.tool import ToolSpec


@dataclass(slots=True)
class Outcome:
    """What came of an attempt: the row to store and the messages to go on from, or `error` and neither. `records`
    are the requests that it took, also in vain."""

    row: Reduction | None = None
    messages: list[ApiMessage] = field(default_factory=list)
    records: list[RequestRecord] = field(default_factory=list)
    error: str = ""


class SummingUp:
    """Condenses requests of one model's session. `heads` composes the system message of the epoch that begins."""

    def __init__(self, condenser: Condenser, heads: Heads, specs: list[ToolSpec], max_tokens: int | None) -> None:
        self.condenser, self.heads, self.specs, self.max_tokens = condenser, heads, specs, max_tokens

    async def attempt(
        self,
        session: Session,
        messages: list[ApiMessage],
        interaction: int,
        weigh: Callable[[list[ApiMessage]], int],
        wish: str = "",
    ) -> Outcome | None:
        """Have a request summed up; None when there is nothing in it that a summary could stand for.

        Args:
            messages: keyed; the running turn's too, if there is one.
            interaction: the running one, or the next when none runs.
            weigh: tokens of a whole request.
            wish: what the summary should dwell on.
        """
        cut = cut_for_summary(messages, interaction, session.context.pins)
        if cut is None:
            return None
        outcome, before = Outcome(), weigh(messages)

        async def condense(options: TruncateOptions) -> TruncateResponse:
            try:
                made = await self.condenser.ask(plain(cut.asked), self.specs, self.max_tokens, interaction, wish)
            except CondenseFailed as failure:
                outcome.records += [failure.record] if failure.record else []
                return TruncateResponse(messages=[], error=str(failure))
            outcome.records.append(made.record)
            epoch, edits, after = summed_up(session, messages, cut, made.summary, self.heads, interaction)
            outcome.messages, size = after, weigh(after)
            detail = f"{turns(cut.asked, interaction)} summed up by {self.condenser.model.name}"
            outcome.row = Reduction(CONDENSE, interaction, 0, before, size, detail, epoch, edits)
            return TruncateResponse(after, made.summary, made.record.cost or 0.0, new_context_tokens=size)

        options = TruncateOptions(
            messages=messages, total_tokens=before, context_window=0, count_tokens=lambda text: 0, condense=condense
        )
        answer = await try_condensing(options, before)
        if answer.error is not None:
            outcome.row, outcome.error = None, answer.error
        return outcome


def turns(messages: list[ApiMessage], running: int) -> str:
    """Which interactions these messages are of: `T3 to T9`, or the running one's steps."""
    numbers = sorted({interaction_of(message) for message in messages} - {0, running})
    if not numbers:
        return f"earlier steps of T{running}"
    return f"T{numbers[0]}" if len(numbers) == 1 else f"T{numbers[0]} to T{numbers[-1]}"
