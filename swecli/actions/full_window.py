"""What the turns of a session would have cost with a window of all turns: an estimate from stored sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import timedelta

from swecli.llm.price_table import Row, cost_of
from swecli.models.message import Usage
from swecli.models.request_parts import PartSizes, RequestPart
from swecli.store.spending import PaidRequest
from swecli.values import dataclass

_TURN = "turn"
# what a window of all turns has in another form, or whole
_OF_EARLIER_TURNS = (RequestPart.WINDOW, RequestPart.OUTLINE, RequestPart.BROUGHT_BACK)
# what of a turn is in the requests of later turns
_OF_TURN = (RequestPart.QUERY, RequestPart.ANSWERS, RequestPart.RESULTS)


@dataclass(slots=True)
class FullWindow:
    """The cost of turns as they were sent, and as they would have been with every earlier turn in every request. Both
    are of the same requests, in US dollars."""

    requests: int = 0
    cost: float = 0.0
    full_cost: float = 0.0
    sent: int = 0  # tokens
    full_sent: int = 0
    unpriced: int = 0  # requests that are not counted: the price of their model is not known
    unmeasured: int = 0  # requests that are not counted: what they consisted of is not stored
    too_long: int = 0  # of those counted, requests that their model would not have taken


@dataclass(slots=True)
class _Conversation:
    """The tokens of the turns so far, as the provider counts them."""

    stored_tokens: Mapping[int, int]  # of turns without requests, as those of a fork
    before: list[float] = field(default_factory=lambda: [0.0])  # by turn: of all turns before it
    turn: int = 0  # the running one; 0 before the first
    size: float = 0.0  # of the running turn

    def enter(self, turn: int) -> float:
        """Go on with a turn, and return the tokens of all turns before it. One that was undone is replaced."""
        if turn != self.turn:
            if self.turn:
                del self.before[self.turn :]
                self.before.append(self.before[-1] + self.size)
            del self.before[turn:]
            while len(self.before) < turn:
                number = len(self.before)
                self.before.append(self.before[-1] + self.stored_tokens.get(number, 0))
            self.turn = turn
            self.size = 0.0
        return self.before[turn - 1]


@dataclass(frozen=True, slots=True)
class _EarlierRequest:
    """The request before, as a full window would have it."""

    request: PaidRequest
    prompt: float  # tokens


def estimate_full_window(
    requests: Iterable[PaidRequest],
    prices: Mapping[str, Row | None],
    stored_sizes: Mapping[int, int],
    windows: Mapping[str, int | None],
    cache_minutes: int,
) -> FullWindow:
    """Estimate what the requests of turns would have cost with all turns before them, at the prices and by the cache
    rules that they were sent by: a request finds the one before it in the cache if the model of both has read from a
    cache in this session, and if no more than `cache_minutes` are between them.

    `stored_sizes` are the tokens of turns by number, for those without requests; `windows` are those of the models."""
    in_order = [request for request in requests if request.purpose == _TURN]
    reading = {request.model for request in in_order if request.usage.cache_read}
    writing = {request.model for request in in_order if request.usage.cache_write}
    estimate = FullWindow()
    conversation = _Conversation(stored_sizes)
    last: _EarlierRequest | None = None
    for request in in_order:
        usage = request.usage
        if not usage.prompt:  # nobody answered
            continue
        earlier = conversation.enter(max(1, request.interaction))
        if not request.parts:
            conversation.size = float(stored_sizes.get(request.interaction, 0))
            estimate.unmeasured += 1
            continue
        scale = usage.prompt / sum(request.parts.values())
        prompt = earlier + scale * _sum(request.parts, without=_OF_EARLIER_TURNS)
        conversation.size = usage.output + scale * _sum(request.parts, only=_OF_TURN)
        cached = 0.0
        if last is not None and _is_cached(request, last.request, reading, cache_minutes):
            cached = min(last.prompt, prompt)
        full_usage = _make_usage(usage, prompt, cached, is_written=request.model in writing)
        last = _EarlierRequest(request, prompt)
        _add(estimate, request, full_usage, prices.get(request.model))
        window = windows.get(request.model)
        estimate.too_long += window is not None and prompt > window
    return estimate


def _sum(
    parts: PartSizes,
    *,
    only: tuple[RequestPart, ...] = tuple(RequestPart),
    without: tuple[RequestPart, ...] = (),
) -> int:
    return sum(tokens for part, tokens in parts.items() if part in only and part not in without)


def _is_cached(
    request: PaidRequest, before: PaidRequest, reading: set[str], cache_minutes: int
) -> bool:
    pause = request.answered_at - before.answered_at
    is_same = request.model == before.model
    return is_same and request.model in reading and pause <= timedelta(minutes=cache_minutes)


def _make_usage(usage: Usage, prompt: float, cached: float, *, is_written: bool) -> Usage:
    new = round(prompt) - round(cached)
    return Usage(
        input=0 if is_written else new,
        cache_read=round(cached),
        cache_write=new if is_written else 0,
        output=usage.output,
        reasoning=usage.reasoning,
    )


def _add(estimate: FullWindow, request: PaidRequest, full_usage: Usage, row: Row | None) -> None:
    """Add a request to the estimate, at the price that was paid for it."""
    full = cost_of(full_usage, row)
    own_cost = cost_of(request.usage, row)
    if request.cost is None or full is None or own_cost is None:
        estimate.unpriced += 1
        return
    estimate.requests += 1
    estimate.sent += request.usage.prompt
    estimate.full_sent += full_usage.prompt
    estimate.cost += request.cost
    # a service may charge more or less than the table says
    estimate.full_cost += full * request.cost / own_cost if own_cost else full
