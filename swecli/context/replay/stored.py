"""Rebuilds the first request of a past turn from what is stored: messages, and the reductions at that time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from swecli.context.epochs import CONDENSE
from swecli.context.prepare import past_request
from swecli.models.api_message import ApiMessage
from swecli.models.context import UNDO, ContextState, Epoch, Reduction
from swecli.models.session import Session
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """The first request of a turn. Both fields are empty if no reduction is stored that it began with, as of an
    imported session."""

    keyed_messages: list[ApiMessage]
    epoch: Epoch | None  # that it belonged to


def stored_request(session: Session, log: Sequence[Reduction], number: int) -> StoredRequest:
    """Rebuild the first request of turn `number` of a completely loaded session; `log` are all of its reductions, also
    those undone later."""
    undone_at = {row.detail: row.interaction for row in log if row.how == UNDO}
    context = ContextState()
    for row in sorted(log, key=attrgetter("number")):
        if _was_made(row, number) and undone_at.get(row.id, number) >= number:
            context.add(row)
    query = next(message for message in session.messages if message.interaction == number)
    past = [message for message in session.messages if message.interaction < number]
    past_session = replace(session, messages=past, interactions=number - 1, context=context)
    return StoredRequest(past_request(past_session, query), context.epoch)


def _was_made(row: Reduction, number: int) -> bool:
    """Return whether a reduction was made before the first request of turn `number` was sent."""
    if row.how == CONDENSE and row.step == 0:  # by hand, behind the turn
        return row.interaction < number
    return (row.interaction, row.step) <= (number, 1)  # step 1 made the first request fit
