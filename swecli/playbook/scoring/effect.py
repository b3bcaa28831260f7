"""How turns went with and without a strategy, for who has some withheld: a shrunken difference, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from swecli.store.records import TurnRecord

SHRINK = 40  # turns without a difference that are taken for granted
ENOUGH = 80  # turns with and without it, each, for a difference of 0.2
WIDTH = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True, slots=True)
class Effect:
    """Turns with a known outcome in which a strategy was shown, and in which it was withheld; how many went well."""

    shown: int = 0
    shown_good: int = 0
    withheld: int = 0
    withheld_good: int = 0

    @property
    def difference(self) -> float:
        """Share of turns that went well when shown less that when withheld, shrunken towards 0."""
        if not (self.shown and self.withheld):
            return 0.0
        turns = min(self.shown, self.withheld)
        return (self.shown_good / self.shown - self.withheld_good / self.withheld) * turns / (turns + SHRINK)

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the difference."""
        parts = ((self.shown_good, self.shown), (self.withheld_good, self.withheld))
        shares = [((good + 1) / (count + 2), count + 2) for good, count in parts]
        return WIDTH * math.sqrt(sum(share * (1 - share) / count for share, count in shares))

    def in_words(self) -> str:
        """The difference with its interval, or that there is too little to say."""
        if min(self.shown, self.withheld) < ENOUGH:
            return f"not enough data ({self.shown} shown, {self.withheld} withheld)"
        return f"{self.difference:+.2f} ± {self.half_width:.2f}"


def effect_of(bullet_id: str, records: Sequence[TurnRecord]) -> Effect:
    """The effect of one strategy by the turns with a known outcome."""
    shown = [r.good for r in records if r.good is not None and bullet_id in r.shown]
    withheld = [r.good for r in records if r.good is not None and bullet_id in r.withheld]
    return Effect(len(shown), sum(map(bool, shown)), len(withheld), sum(map(bool, withheld)))
