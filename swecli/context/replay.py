"""Sends a stored session once more, to nobody: what each policy would have sent, had cached, and had to pay."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from swecli.context.replay_history import History, Turn
from swecli.context.replay_policies import POLICIES, Limits, Policy
from swecli.context.replay_prices import Prices
from swecli.models.errors import BadInput
from swecli.models.message import Usage

TTL = 300.0
MINIMUM_PREFIX = 1_024


@dataclass(frozen=True, slots=True)
class Cache:
    """A provider's cache of prefixes: `ttl` in seconds from the last request on, `minimum` in tokens."""

    ttl: float = TTL
    minimum: int = MINIMUM_PREFIX


@dataclass(slots=True)
class Figures:
    """What one turn came to under a policy. All but `visible`, `peak` and `cold` are sums over its requests.

    `input` are all tokens sent and `cached` those of them that were read from the cache; `over` counts requests
    larger than the model's window, which a provider would have refused; `visible` are the completed interactions
    that the turn's last request held word for word; `cold`: it began when the cache was gone.
    """

    turn: int
    cold: bool
    requests: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    cost: float = 0.0
    peak: int = 0
    visible: int = 0
    reductions: int = 0
    over: int = 0


@dataclass(slots=True)
class Totals:
    """The same for a whole session. `cached_share` is 0 to 1, `mean_visible` the mean over its turns."""

    requests: int
    input: int
    cached: int
    output: int
    cost: float
    peak: int
    mean_visible: float
    reductions: int
    over: int

    @property
    def cached_share(self) -> float:
        """The part of the input that was read from the cache."""
        return self.cached / self.input if self.input else 0.0


@dataclass(frozen=True, slots=True)
class Replayed:
    """A session under one policy, turn by turn."""

    policy: str
    turns: list[Figures]

    def totals(self) -> Totals:
        """All turns together."""
        turns = self.turns
        return Totals(
            requests=sum(turn.requests for turn in turns),
            input=sum(turn.input for turn in turns),
            cached=sum(turn.cached for turn in turns),
            output=sum(turn.output for turn in turns),
            cost=sum(turn.cost for turn in turns),
            peak=max((turn.peak for turn in turns), default=0),
            mean_visible=sum(turn.visible for turn in turns) / len(turns) if turns else 0.0,
            reductions=sum(turn.reductions for turn in turns),
            over=sum(turn.over for turn in turns),
        )


def replay(
    history: History,
    policies: Iterable[str],
    prices: Prices,
    limits: Limits | None = None,
    cache: Cache | None = None,
) -> list[Replayed]:
    """Send every request of the session under each policy, in that order. Nothing leaves the process.

    A request's cached tokens are those of the messages it begins with that the session's request before it began
    with too; none where the pause was too long or they are too few.

    Raises:
        BadInput: for a policy that is none.
    """
    limits, replayed = limits or Limits(), []
    for name in policies:
        if name not in POLICIES:
            raise BadInput(f"There is no policy {name!r}.", f"There are {', '.join(POLICIES)}.")
        run = _Run(POLICIES[name](history, limits), prices, limits, cache or Cache())
        replayed.append(Replayed(name, [run.turn(turn) for turn in history.turns]))
    return replayed


@dataclass(slots=True)
class _Run:
    policy: Policy
    prices: Prices
    limits: Limits
    cache: Cache
    last: float | None = field(default=None, init=False)

    def turn(self, turn: Turn) -> Figures:
        figures = Figures(turn.number, cold=not self._warm(turn.steps[0].at))
        before = self.policy.reductions
        self.policy.begin(turn, cold=figures.cold)
        for step in turn.steps:
            for output in self.policy.settle():
                self._send(figures, step.at, output)
            self._send(figures, step.at, step.output)
            self.policy.take(step)
        figures.visible = self.policy.visible
        figures.reductions = self.policy.reductions - before
        return figures

    def _warm(self, at: float) -> bool:
        return self.last is not None and at - self.last < self.cache.ttl

    def _send(self, figures: Figures, at: float, output: int) -> None:
        prompt = self.policy.prompt
        usable = self._warm(at) and prompt.shared >= self.cache.minimum
        cached = prompt.shared if usable else 0
        new = prompt.tokens - cached
        written = new if self.prices.writes and prompt.tokens >= self.cache.minimum else 0
        usage = Usage(input=new - written, cache_read=cached, cache_write=written, output=output)
        figures.requests += 1
        figures.input += prompt.tokens
        figures.cached += cached
        figures.output += output
        figures.cost += self.prices.cost(usage)
        figures.peak = max(figures.peak, prompt.tokens)
        figures.over += prompt.tokens > self.limits.context_window
        prompt.sent()
        self.last = at
