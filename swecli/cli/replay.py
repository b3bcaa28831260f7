"""A replay in words and cells: the rows of its tables, and the lines that say under which conditions they hold."""

from __future__ import annotations

from collections.abc import Sequence

from swecli.context.replay import MINIMUM_PREFIX, Replayed
from swecli.context.replay_policies import Limits
from swecli.context.replay_prices import Prices
from swecli.context.tokens import TokenCounter
from swecli.models.session import Session

HEAD = ("policy", "requests", "input tokens", "cached", "cost", "mean visible", "peak tokens")
TURN_HEAD = ("turn", "policy", "requests", "input tokens", "cached", "cost", "visible", "peak tokens")


def row(replayed: Replayed, prices: Prices) -> tuple[str, ...]:
    """A policy's figures for the whole session."""
    totals = replayed.totals()
    return (
        replayed.policy,
        f"{totals.requests:,}",
        f"{totals.input:,}",
        f"{totals.cached_share:.1%}",
        _money(totals.cost, prices),
        f"{totals.mean_visible:.1f}",
        f"{totals.peak:,}",
    )


def turn_rows(replays: Sequence[Replayed], prices: Prices) -> list[tuple[str, ...]]:
    """The same for each turn, the policies one below the other."""
    rows: list[tuple[str, ...]] = []
    for figures in zip(*(replayed.turns for replayed in replays), strict=True):
        for replayed, turn in zip(replays, figures, strict=True):
            share = turn.cached / turn.input if turn.input else 0.0
            numbers = (f"{turn.requests:,}", f"{turn.input:,}", f"{share:.1%}", _money(turn.cost, prices))
            rows.append((f"T{turn.turn}", replayed.policy, *numbers, str(turn.visible), f"{turn.peak:,}"))
    return rows


def _money(cost: float, prices: Prices) -> str:
    return f"${cost:,.4f}" if prices.unit == "USD" else f"{cost:,.0f} units"


def savings(replays: Sequence[Replayed]) -> list[str]:
    """How ours compares with each of the others."""
    costs = {replayed.policy: replayed.totals().cost for replayed in replays}
    own = costs.pop("ours", None)
    parts = [
        f"{abs(1 - own / cost):.1%} {'less' if own <= cost else 'more'} than {name}"
        for name, cost in costs.items()
        if own is not None and cost
    ]
    return [f"ours costs {', '.join(parts)}."] if parts else []


def conditions(
    session: Session,
    replays: Sequence[Replayed],
    prices: Prices,
    limits: Limits,
    ttl: float,
    counter: TokenCounter,
) -> list[str]:
    """What was assumed, a line each."""
    turns = replays[0].turns
    cold = sum(turn.cold for turn in turns[1:])
    how = "Tokens are estimated from characters" if counter.estimated else f"Tokens are counted with {counter.encoding}"
    over = ", ".join(f"{name} {count:,}" for name, count in _over(replays))
    return [
        f"A simulation over the {len(turns):,} stored turns of {session.id}: nothing was sent to a model. {how}.",
        _priced(prices),
        f"Cache: kept {ttl:g} s after a request, from {MINIMUM_PREFIX:,} tokens on; {cold:,} turns began later.",
        f"Model's window {limits.context_window:,} tokens; reflection window {limits.window}; "
        f"a summary of compact90 is assumed to have {limits.summary_tokens:,} tokens.",
        *([f"Requests larger than the model's window, which it would refuse: {over}."] if over else []),
        "Left out: project instructions, and what learning costs. full and compact90 carry no playbook.",
    ]


def _over(replays: Sequence[Replayed]) -> list[tuple[str, int]]:
    return [(replayed.policy, count) for replayed in replays if (count := replayed.totals().over)]


def _priced(prices: Prices) -> str:
    each = ", ".join(f"{name.replace('_', ' ')} {price:g}" for name, price in prices.per_million().items())
    if prices.unit == "USD":
        return f"Prices of {prices.model} in litellm's local table, USD per million tokens: {each}."
    named = f"No price is known for {prices.model!r}" if prices.model else "The session names no model"
    return f"{named}: cost in relative units, for a token of {each}."
