"""A replay in words and cells: the rows of its tables, and the lines that say under which conditions they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from swecli.context.replay import MINIMUM_PREFIX, Replayed
from swecli.context.replay_policies import Limits
from swecli.context.replay_prices import Prices
from swecli.context.tokens import TokenCounter
from swecli.models.session import Session

HEAD = ("policy", "requests", "input tokens", "cached", "cost", "mean visible", "peak tokens")
TURN_HEAD = ("turn", "policy", "requests", "input tokens", "cached", "cost", "visible", "peak tokens")


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The replays of one session, and what was assumed for them. `ttl` in seconds."""

    session: Session
    replays: Sequence[Replayed]
    prices: Prices
    limits: Limits
    ttl: float
    counter: TokenCounter

    def rows(self) -> list[tuple[str, ...]]:
        """Each policy's figures for the whole session, under `HEAD`."""
        totals = [(replayed.policy, replayed.totals()) for replayed in self.replays]
        return [
            (
                policy,
                f"{total.requests:,}",
                f"{total.input:,}",
                f"{total.cached_share:.1%}",
                self._money(total.cost),
                f"{total.mean_visible:.1f}",
                f"{total.peak:,}",
            )
            for policy, total in totals
        ]

    def turn_rows(self) -> list[tuple[str, ...]]:
        """The same for each turn, the policies one below the other, under `TURN_HEAD`."""
        rows: list[tuple[str, ...]] = []
        for figures in zip(*(replayed.turns for replayed in self.replays), strict=True):
            for replayed, turn in zip(self.replays, figures, strict=True):
                share = turn.cached / turn.input if turn.input else 0.0
                numbers = (f"{turn.requests:,}", f"{turn.input:,}", f"{share:.1%}", self._money(turn.cost))
                rows.append((f"T{turn.turn}", replayed.policy, *numbers, str(turn.visible), f"{turn.peak:,}"))
        return rows

    def notes(self) -> list[str]:
        """How ours compares with each of the others, and what was assumed, a line each."""
        turns = self.replays[0].turns
        cold = sum(turn.cold for turn in turns[1:])
        how = (
            "Tokens are estimated from characters"
            if self.counter.estimated
            else f"Tokens are counted with {self.counter.encoding}"
        )
        totals = {replayed.policy: replayed.totals() for replayed in self.replays}
        over = ", ".join(f"{name} {total.over:,}" for name, total in totals.items() if total.over)
        return [
            *_savings({name: total.cost for name, total in totals.items()}),
            f"A simulation over the {len(turns):,} stored turns of {self.session.id}: nothing was sent to a model. "
            f"{how}.",
            self._priced(),
            f"Cache: kept {self.ttl:g} s after a request, from {MINIMUM_PREFIX:,} tokens on; "
            f"{cold:,} turns began later.",
            f"Model's window {self.limits.context_window:,} tokens; reflection window {self.limits.window}; "
            f"a summary of compact90 is assumed to have {self.limits.summary_tokens:,} tokens.",
            *([f"Requests larger than the model's window, which it would refuse: {over}."] if over else []),
            "Left out: project instructions, and what learning costs. full and compact90 carry no playbook.",
        ]

    def _money(self, cost: float) -> str:
        return f"${cost:,.4f}" if self.prices.unit == "USD" else f"{cost:,.0f} units"

    def _priced(self) -> str:
        prices = self.prices
        each = ", ".join(f"{name.replace('_', ' ')} {price:g}" for name, price in prices.per_million().items())
        if prices.unit == "USD":
            return f"Prices of {prices.model} in litellm's local table, USD per million tokens: {each}."
        named = f"No price is known for {prices.model!r}" if prices.model else "The session names no model"
        return f"{named}: cost in relative units, for a token of {each}."

    def to_json(self, *, each_turn: bool) -> dict[str, Any]:
        """All figures as plain JSON values; with `each_turn` those of each turn too."""
        found = []
        for replayed in self.replays:
            totals = replayed.totals()
            turns = {"by_turn": [asdict(turn) for turn in replayed.turns]} if each_turn else {}
            found.append({"policy": replayed.policy, **asdict(totals), "cached_share": totals.cached_share, **turns})
        prices = self.prices
        return {
            "simulation": True,
            "session_id": self.session.id,
            "turns": len(self.replays[0].turns),
            "window": str(self.limits.window),
            "model": prices.model,
            "cost_unit": prices.unit,
            "prices": prices.per_million() if prices.unit == "USD" else prices.row,
            "context_window": self.limits.context_window,
            "ttl": self.ttl,
            "tokens_estimated": self.counter.estimated,
            "policies": found,
        }


def _savings(costs: dict[str, float]) -> list[str]:
    own = costs.pop("ours", None)
    parts = [
        f"{abs(1 - own / cost):.1%} {'less' if own <= cost else 'more'} than {name}"
        for name, cost in costs.items()
        if own is not None and cost
    ]
    return [f"ours costs {', '.join(parts)}."] if parts else []
