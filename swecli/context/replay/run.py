"""What the requests of a session come to: tokens sent, tokens read from the provider's cache, and the price."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from swecli.context.replay.history import History
from swecli.context.replay.policies import Assumed, Sent, SentTurn
from swecli.models.message import ApiMessage, Usage

MINIMUM_PREFIX = 1_024  # tokens; a shorter one is not cached


@dataclass(slots=True)
class Figures:
    """What a turn came to under a policy, or, with `turn` 0, all turns of a session.

    `input` are all tokens sent and `cached` those of them that were read from the cache; `over` counts requests
    larger than the model's window, which a provider would have refused; `visible` are the completed interactions
    that the turn's last request held word for word (the mean over the turns of a session); `cold`: it began when the
    cache was gone.
    """

    turn: int
    cold: bool = False
    requests: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    cost: float = 0.0
    peak: int = 0
    visible: float = 0
    reductions: int = 0
    over: int = 0

    @property
    def cached_share(self) -> float:
        """The part of the input that was read from the cache."""
        return self.cached / self.input if self.input else 0.0


@dataclass(frozen=True, slots=True)
class Replayed:
    """A session under one policy, turn by turn."""

    policy: str
    turns: list[Figures]

    def totals(self) -> Figures:
        """All turns together."""
        total = Figures(0, peak=max((turn.peak for turn in self.turns), default=0))
        for turn in self.turns:
            for name in ("requests", "input", "cached", "output", "cost", "visible", "reductions", "over"):
                setattr(total, name, getattr(total, name) + getattr(turn, name))
        total.visible /= max(1, len(self.turns))
        return total


def account(policy: str, turns: Iterable[SentTurn], history: History, assumed: Assumed) -> Replayed:
    """What the requests of a session come to, in their order.

    A request's cached tokens are those of the messages it begins with that the request before it began with too; none
    where the pause was too long or they are too few.
    """
    meter = _Meter(history, assumed)
    return Replayed(policy, [meter.turn(turn) for turn in turns])


class _Meter:
    """Bills requests; it remembers the last one, message by message."""

    def __init__(self, history: History, assumed: Assumed) -> None:
        self._count, self._fixed, self._assumed = history.counter.count_message, history.fixed, assumed
        self._tools = self._fixed - self._count(history.system())
        self._last: list[ApiMessage] = []
        self._sums: list[int] = []  # tokens of the last request up to each of its messages
        self._at: float | None = None

    def turn(self, turn: SentTurn) -> Figures:
        figures = Figures(turn.number, not self._warm(turn.requests[0].at))
        figures.visible, figures.reductions = turn.visible, turn.reductions
        for sent in turn.requests:
            self._add(figures, sent)
        return figures

    def _warm(self, at: float) -> bool:
        return self._at is not None and at - self._at < self._assumed.ttl

    def _add(self, figures: Figures, sent: Sent) -> None:
        prices, shared = self._assumed.prices, self._shared(sent.messages)
        tokens = self._sums[-1]
        cached = shared if self._warm(sent.at) and shared >= MINIMUM_PREFIX else 0
        written = tokens - cached if prices.writes and tokens >= MINIMUM_PREFIX else 0
        usage = Usage(tokens - cached - written, cache_read=cached, cache_write=written, output=sent.output)
        figures.requests += 1
        figures.input += tokens
        figures.cached += cached
        figures.output += sent.output
        figures.cost += prices.cost(usage)
        figures.peak = max(figures.peak, tokens)
        figures.over += tokens > self._assumed.context_window
        self._at = sent.at

    def _shared(self, messages: list[ApiMessage]) -> int:
        """Tokens of the prefix that these messages have in common with the last ones, which they replace."""
        pairs = enumerate(zip(self._last, messages, strict=False))
        same = next((n for n, (a, b) in pairs if a is not b and a != b), min(len(self._last), len(messages)))
        shared = self._sums[same - 1] if same else self._fixed if self._last else 0
        known = self._sums[:same] or [self._tools + self._count(messages[0])]
        self._sums = list(accumulate((self._count(m) for m in messages[len(known) :]), initial=known[-1]))
        self._sums = [*known[:-1], *self._sums]
        self._last = messages
        return shared
