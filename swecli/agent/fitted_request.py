"""A request that fits its model, its place in the session, and what was done to make it fit."""

from __future__ import annotations

from swecli.context.budget import RequestSize
from swecli.models.context import Reduction
from swecli.models.errors import ContextFull
from swecli.models.message import ApiMessage, ModelRequest, RequestRecord
from swecli.models.request_parts import PartSizes
from swecli.values import dataclass


@dataclass(frozen=True, slots=True)
class StepPosition:
    """The position of a request in its session."""

    interaction: int
    step: int  # of the interaction; 0: between turns
    query: str  # that the interaction answers
    was_refused: bool = False
    """Whether the provider refused the step's last request as too long. Then no summary is requested: that request
    would be refused too."""


Effect = Reduction | RequestRecord | str


@dataclass(frozen=True, slots=True)
class FittedRequest:
    """A request that fits, unless `failure` is set."""

    request: ModelRequest
    keyed_messages: list[
        ApiMessage
    ]  # the turn continues from them, so that later requests only append
    size: RequestSize
    counted_tokens: int  # our own count of the request's tokens, tools included
    parts: PartSizes
    """What it consists of, by our own counts."""
    effects: tuple[Effect, ...] = ()
    """In their order: reductions to store before sending, records of summaries, and warnings for the user."""
    failure: ContextFull | None = None
