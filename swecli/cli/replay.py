"""A replay in words and cells: the rows of its tables, and the lines that say under which conditions they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from swecli.context.replay.history import History
from swecli.context.replay.policies import Assumed
from swecli.context.replay.run import MINIMUM_PREFIX, Replayed

HEAD = ("policy", "requests", "input tokens", "cached", "cost", "mean visible", "peak tokens")
TURN_HEAD = ("turn", "policy", "requests", "input tokens", "cached", "cost", "visible", "peak tokens")


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """The replays of one session, and what was assumed for them."""

    history: History
    replays: Sequence[Replayed]
    assumed: Assumed

    def rows(self) -> list[tuple[str, ...]]:
        """Each policy's figures for the whole session, under `HEAD`."""
        rows: list[tuple[str, ...]] = []
        for replayed in self.replays:
            total = replayed.totals()
            numbers = (f"{total.requests:,}", f"{total.input:,}", f"{total.cached_share:.1%}", self._money(total.cost))
            rows.append((replayed.policy, *numbers, f"{total.visible:.1f}", f"{total.peak:,}"))
        return rows

    def turn_rows(self) -> list[tuple[str, ...]]:
        """The same for each turn, the policies one below the other, under `TURN_HEAD`."""
        rows: list[tuple[str, ...]] = []
        for figures in zip(*(replayed.turns for replayed in self.replays), strict=True):
            for replayed, turn in zip(self.replays, figures, strict=True):
                numbers = (f"{turn.requests:,}", f"{turn.input:,}", f"{turn.cached_share:.1%}", self._money(turn.cost))
                rows.append((f"T{turn.turn}", replayed.policy, *numbers, f"{turn.visible:g}", f"{turn.peak:,}"))
        return rows

    def notes(self) -> list[str]:
        """How ours compares with each of the others, and what was assumed, a line each."""
        turns = self.replays[0].turns
        cold = sum(turn.cold for turn in turns[1:])
        counter, assumed = self.history.counter, self.assumed
        how = f"counted with {counter.encoding}" if not counter.estimated else "estimated from characters"
        totals = {replayed.policy: replayed.totals() for replayed in self.replays}
        over = ", ".join(f"{name} {total.over:,}" for name, total in totals.items() if total.over)
        return [
            *_savings({name: total.cost for name, total in totals.items()}),
            f"A simulation over the {len(turns):,} stored turns of {self.history.session.id}: nothing was sent to a "
            f"model. Tokens are {how}.",
            self._priced(),
            f"Cache: kept {assumed.ttl:g} s after a request, from {MINIMUM_PREFIX:,} tokens on; "
            f"{cold:,} turns began later.",
            f"Model's window {assumed.context_window:,} tokens; reflection window {assumed.window}; "
            f"a summary is assumed to have {assumed.summary_tokens:,} tokens.",
            *([f"Requests larger than the model's window, which it would refuse: {over}."] if over else []),
            "Left out: project instructions, and what learning costs. full and compact90 carry no playbook.",
        ]

    def _money(self, cost: float) -> str:
        return f"${cost:,.4f}" if self.assumed.prices.unit == "USD" else f"{cost:,.0f} units"

    def _priced(self) -> str:
        prices = self.assumed.prices
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
            own = {name: value for name, value in asdict(totals).items() if name not in ("turn", "cold", "visible")}
            own |= {"mean_visible": totals.visible, "cached_share": totals.cached_share}
            found.append({"policy": replayed.policy, **own, **turns})
        prices = self.assumed.prices
        return {
            "simulation": True,
            "session_id": self.history.session.id,
            "turns": len(self.replays[0].turns),
            "window": str(self.assumed.window),
            "model": prices.model,
            "cost_unit": prices.unit,
            "prices": prices.per_million() if prices.unit == "USD" else prices.row,
            "context_window": self.assumed.context_window,
            "ttl": self.assumed.ttl,
            "tokens_estimated": self.history.counter.estimated,
            "policies": found,
        }


def _savings(costs: dict[str, float]) -> list[str]:
    """How ours compares with the others, and which part of the layout saves what against compacting."""
    own = costs.get("ours")
    others = {name: cost for name, cost in costs.items() if name != "ours" and cost}
    if own is None or not others:
        return []
    less = (f"{abs(1 - own / c):.1%} {'less' if own <= c else 'more'} than {name}" for name, c in others.items())
    lines = [f"ours costs {', '.join(less)}."]
    if {"compact90", "exact", "slack"} <= set(others):
        whole, exact, slack = (others[name] for name in ("compact90", "exact", "slack"))
        shares = {
            "the window": exact - whole,
            "the prefix kept by slack": slack - exact,
            "snapshot and ladder": own - slack,
        }
        parts = ", ".join(f"{name} {share / whole:+.1%}" for name, share in shares.items())
        lines.append(f"Parts of the difference to compact90, in its cost: {parts}.")
    return lines
