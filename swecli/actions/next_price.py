"""What the next request will cost at least: its input at the present window, and what is assumed of the cache."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from swecli.agent.context_control import ContextControl, Meter
from swecli.llm.price_table import cost_of
from swecli.models.counts import format_tokens
from swecli.models.json_value import JsonObject
from swecli.models.message import Usage
from swecli.models.money import format_dollars
from swecli.values import dataclass

if TYPE_CHECKING:
    from swecli.agent.agent import Agent
    from swecli.llm.profile import Profile

_FIXED = ("tools", "system", "instructions")  # parts of a request that no reduction changes


@dataclass(frozen=True, slots=True)
class NextPrice:
    """The price of the next request without its answer and without what is typed, in US dollars."""

    model: str
    window: str
    tokens: int  # of the request
    cached: int  # of these, what is taken to be in the provider's cache
    assumption: str  # why so much, or so little, of it is
    is_written: bool  # whether the rest is written to the cache, which may have a price of its own
    cost: float | None  # None if a price is not known
    uncached_cost: float | None  # the same if nothing is in the cache
    output_price: float | None  # of a million tokens of the answer; None if it is not known

    def to_json(self) -> JsonObject:
        """Return the price as plain JSON."""
        return asdict(self)

    @property
    def short(self) -> str:
        """The price as it is shown beside the prompt."""
        if self.cost is None:
            return "next: price not known"
        return f"next at least {format_dollars(self.cost)}"

    @property
    def lines(self) -> tuple[str, ...]:
        """The price and what it is made of."""
        size = f"{format_tokens(self.tokens)} tokens to {self.model}, window {self.window}"
        if self.cost is None:
            return (
                f"The next request: price not known ({size})",
                f'  [models."{self.model}"] price = {{ input = ..., output = ... }} in config.toml sets it',
            )
        new = self.tokens - self.cached
        write_note = " and written to the cache" if self.is_written else ""
        lines = [
            f"The next request: at least {format_dollars(self.cost)} ({size})",
            f"  {format_tokens(self.cached)} from the cache, {format_tokens(new)} new{write_note}: {self.assumption}",
        ]
        if self.cached:
            lines.append(f"  with an empty cache {format_dollars(self.uncached_cost)}")
        answer = "what you type and the answer come on top"
        if self.output_price is not None:
            answer += f", the answer at ${self.output_price:g} for a million tokens"
        return (*lines, f"  {answer}; so does each further request of the turn")


def price_next(agent: Agent) -> NextPrice:
    """Return the price of the next request of the current session. Nothing is sent or stored."""
    profile = agent.model.profile
    meter = ContextControl(agent).meter()
    cached, assumption = _assume_cached(agent, profile, meter)
    is_written = profile.cache == "marks"
    session = agent.sessions.current_session
    return NextPrice(
        model=agent.model.name,
        window=str(session.window if session else agent.settings.window),
        tokens=meter.total,
        cached=cached,
        assumption=assumption,
        is_written=is_written,
        cost=_cost(profile, meter.total, cached, is_written=is_written),
        uncached_cost=_cost(profile, meter.total, 0, is_written=is_written),
        output_price=None if profile.offline else profile.dollars_per_million("output"),
    )


def _assume_cached(agent: Agent, profile: Profile, meter: Meter) -> tuple[int, str]:
    """Return how many tokens are taken to be in the provider's cache, and why."""
    session = agent.sessions.current_session
    minutes = agent.settings.cache_minutes
    if profile.cache == "none":
        return 0, "the service keeps no cache"
    if session is None or session.context.asked_at is None:
        return 0, "nothing was sent yet"
    if session.context.asked_model != agent.model.name:
        return 0, "this model was sent nothing yet"
    turns = agent.sessions.totals().by_purpose.get("turn")
    if turns is not None and turns.requests > 1 and not turns.usage.cache_read:
        return 0, "no request of this session has read from a cache"
    if agent.builder.conditions(session, agent.model).is_cache_cold:
        return (
            0,
            f"the last request was more than {minutes} minutes ago, and the cache is taken to be empty",
        )
    if not meter.cached:
        fixed = sum(tokens for name, tokens in meter.parts if name in _FIXED)
        return fixed, "the window moves, and only tools and system text are as they were"
    return meter.cached, f"what was sent in the last {minutes} minutes is taken to be there"


def _cost(profile: Profile, tokens: int, cached: int, *, is_written: bool) -> float | None:
    if profile.offline:
        return 0.0
    new = tokens - cached
    usage = Usage(
        cache_read=cached, input=0 if is_written else new, cache_write=new if is_written else 0
    )
    return cost_of(usage, profile.price)
