"""What is known of a strategy's effect, in counts and intervals, and the words "not enough data" where that is true."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from swecli.models.playbook import Bullet
from swecli.store.records import TurnRecord

ENOUGH = 10  # turns with a known outcome, on each side of a comparison
Z = 1.96  # standard deviations of a 95 % interval
UNKNOWN = "not enough data"


@dataclass(frozen=True, slots=True)
class Share:
    """Successes among turns whose outcome is known."""

    good: int = 0
    known: int = 0

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the share, 0 to 1 (Wilson 1927, the score interval); (0, 1) without any turn."""
        return wilson(self.good, self.known)

    def told(self) -> str:
        """`7 of 9, 45 to 94 %`, or that it is too little to say."""
        if self.known < ENOUGH:
            return f"{self.good} of {self.known}, {UNKNOWN}"
        low, high = self.interval
        return f"{self.good} of {self.known}, {100 * low:.0f} to {100 * high:.0f} %"

    def to_json(self) -> dict[str, Any]:
        """Counts and interval; the interval is null where there is not enough data."""
        interval = list(self.interval) if self.known >= ENOUGH else None
        return {"good": self.good, "known": self.known, "interval": interval}


@dataclass(frozen=True, slots=True)
class Effect:
    """What the turns say about one strategy: how often it was shown, cited and withheld, and how those turns went."""

    bullet: Bullet
    shown: int
    cited: int
    withheld: int
    when_cited: Share
    when_shown: Share
    when_withheld: Share

    @property
    def verdict(self) -> str:
        """The difference between turns with and without it, where both are enough; it is no proof of a cause unless
        it was withheld at random."""
        return compared(self.when_shown, self.when_withheld)

    def to_json(self) -> dict[str, Any]:
        """All of it as plain JSON values."""
        shares = {name: getattr(self, name).to_json() for name in ("when_cited", "when_shown", "when_withheld")}
        counts = {name: getattr(self, name) for name in ("shown", "cited", "withheld")}
        return {"id": self.bullet.id, "content": self.bullet.content, **counts, **shares, "verdict": self.verdict}


def wilson(good: int, known: int) -> tuple[float, float]:
    """The Wilson score interval (95 %) of `good` among `known`, 0 to 1."""
    if known <= 0:
        return (0.0, 1.0)
    share = good / known
    spread = Z * math.sqrt(share * (1 - share) / known + Z * Z / (4 * known * known))
    middle, scale = share + Z * Z / (2 * known), 1 + Z * Z / known
    return (max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale))


def difference(one: Share, other: Share) -> tuple[float, float, float]:
    """(difference, low, high) of two shares, -1 to 1: Newcombe's hybrid of two Wilson intervals (1998, method 10)."""
    a, b = (share.good / share.known if share.known else 0.5 for share in (one, other))
    (low_a, high_a), (low_b, high_b) = one.interval, other.interval
    low = a - b - math.hypot(a - low_a, high_b - b)
    high = a - b + math.hypot(high_a - a, b - low_b)
    return (a - b, max(-1.0, low), min(1.0, high))


def compared(one: Share, other: Share) -> str:
    """The difference in words: `+12 points (-3 to +27): no clear effect`."""
    if min(one.known, other.known) < ENOUGH:
        return UNKNOWN
    return in_words(*difference(one, other))


def in_words(mean: float, low: float, high: float) -> str:
    """A difference of shares and its interval, -1 to 1, in words."""
    clear = "helps" if low > 0 else "harms" if high < 0 else "no clear effect"
    return f"{100 * mean:+.0f} points ({100 * low:+.0f} to {100 * high:+.0f}): {clear}"


def share_of(records: Iterable[TurnRecord]) -> Share:
    """How many of the turns went well, among those of which it is known."""
    known = [record.good for record in records if record.good is not None]
    return Share(sum(known), len(known))


def effects(bullets: Iterable[Bullet], records: Sequence[TurnRecord]) -> list[Effect]:
    """For each strategy what the turns say, in order of minting."""
    found = []
    for bullet in sorted(bullets, key=lambda b: b.number):
        shown = [r for r in records if bullet.id in r.shown]
        cited = [r for r in shown if bullet.id in r.cited]
        withheld = [r for r in records if r.ablation == "withheld" and bullet.id in r.withheld]
        shares = (share_of(cited), share_of(shown), share_of(withheld))
        found.append(Effect(bullet, len(shown), len(cited), len(withheld), *shares))
    return found


def with_and_without(records: Sequence[TurnRecord]) -> tuple[Share, Share]:
    """How turns with strategies went, and those that the ablation left without any."""
    off = [r for r in records if r.ablation == "off"]
    return share_of(r for r in records if r.shown and r.ablation != "off"), share_of(off)
