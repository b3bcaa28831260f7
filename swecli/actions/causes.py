"""What a session's requests were paid for: the parts of the turns' requests, their answers, and what else was asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from swecli.llm.price_table import Row, token_prices
from swecli.models.message import Usage
from swecli.models.request_parts import RequestPart
from swecli.store.spending import PaidRequest
from swecli.values import dataclass

_TURN = "turn"
_OF_PARTS = {
    RequestPart.TOOLS: "definitions of tools",
    RequestPart.SYSTEM: "system text",
    RequestPart.PLAYBOOK: "playbook",
    RequestPart.OUTLINE: "outline of left-out turns",
    RequestPart.WINDOW: "window: earlier turns",
    RequestPart.QUERY: "your messages",
    RequestPart.BROUGHT_BACK: "turns brought back",
    RequestPart.ANSWERS: "earlier steps of a turn",
    RequestPart.RESULTS: "results of tools",
}
_ANSWERED = "the answers themselves"
_REASONED = "reasoning"
_NOT_SPLIT = "turns of an earlier version"
# what is asked besides the user's queries; any other purpose is named as it is stored
_OF_PURPOSES = {
    "reflect": "reflection",
    "condense": "summaries",
    "review": "reviews",
    "verify": "reviews",
    "task": "tasks",
    "title": "naming of sessions",
    "try": "trials of strategies",
}
_PARTS_OF_PROMPT = ("cache_read", "cache_write", "input")  # in the order in which a prompt has them


@dataclass(frozen=True, slots=True)
class Share:
    """What one request took for one cause."""

    cause: str
    tokens: float
    cost: float | None  # US dollars; None if it is not known


@dataclass(frozen=True, slots=True)
class _Amount:
    """The tokens of one cause in one request, and their weight in its cost."""

    cause: str
    tokens: float
    weight: float


@dataclass(slots=True)
class Cause:
    """What a session's requests took for one cause."""

    name: str
    tokens: int = 0
    known_cost: float = 0.0  # US dollars
    unpriced: int = 0  # requests whose price is not known

    @property
    def cost(self) -> float | None:
        """US dollars, None if a price is not known."""
        return None if self.unpriced else self.known_cost


def group_by_cause(
    requests: Iterable[PaidRequest], prices: Mapping[str, Row | None]
) -> list[Cause]:
    """Return what requests were paid for, most tokens first. `prices` has a row of each model whose prices are known:
    by them the cost of a request, as it is stored, is divided among its parts."""
    causes: dict[str, Cause] = {}
    tokens: dict[str, float] = {}
    for request in requests:
        for share in _divide(request, prices.get(request.model)):
            cause = causes.setdefault(share.cause, Cause(share.cause))
            tokens[share.cause] = tokens.get(share.cause, 0.0) + share.tokens
            cause.known_cost += share.cost or 0.0
            cause.unpriced += share.cost is None and share.tokens > 0
    for name, cause in causes.items():
        cause.tokens = round(tokens[name])
    return sorted(causes.values(), key=lambda cause: -cause.tokens)


def _divide(request: PaidRequest, row: Row | None) -> list[Share]:
    """Divide a request's tokens and cost among its causes."""
    usage = request.usage
    if request.purpose != _TURN:
        name = _OF_PURPOSES.get(request.purpose, request.purpose)
        return [Share(name, usage.total, request.cost)]
    if not request.parts:
        return [Share(_NOT_SPLIT, usage.total, request.cost)]
    weights = _weigh(usage, row)
    amounts = [
        *_divide_prompt(request, weights),
        _Amount(_ANSWERED, usage.output, usage.output * weights["output"]),
        _Amount(_REASONED, usage.reasoning, usage.reasoning * weights["reasoning"]),
    ]
    total = sum(amount.weight for amount in amounts)
    shares: list[Share] = []
    for amount in amounts:
        cost = request.cost
        if cost is not None:
            cost = cost * amount.weight / total if total else 0.0
        if amount.tokens:
            shares.append(Share(amount.cause, amount.tokens, cost))
    return shares


def _weigh(usage: Usage, row: Row | None) -> dict[str, float]:
    """Return the weight of one token of each category: its price, or 1 if a price is not known, or all are 0."""
    prices = token_prices(usage, row)
    weights = {name: price for name, price in prices.items() if price is not None}
    if len(weights) < len(Usage.__slots__) or not any(weights.values()):
        return dict.fromkeys(Usage.__slots__, 1.0)
    return weights


def _divide_prompt(request: PaidRequest, weights: Mapping[str, float]) -> Iterator[_Amount]:
    """Yield what each part of a prompt takes, in tokens as the provider counts. What was read from the cache is the
    beginning of the prompt, and what was written to it follows: an estimate, as providers only report the sums."""
    usage = request.usage
    scale = usage.prompt / sum(request.parts.values())
    tokens_left = {name: float(getattr(usage, name)) for name in _PARTS_OF_PROMPT}
    for part in RequestPart:
        tokens = request.parts.get(part, 0) * scale
        weight = 0.0
        missing_tokens = tokens
        for name in _PARTS_OF_PROMPT:
            share = min(missing_tokens, tokens_left[name])
            tokens_left[name] -= share
            missing_tokens -= share
            weight += share * weights[name]
        yield _Amount(_OF_PARTS[part], tokens, weight)
