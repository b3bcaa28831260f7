"""What leaving something out does, by pairs: each turn that went without it beside a turn like it that had it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from swecli.playbook.effect import ENOUGH, UNKNOWN, Z, in_words
from swecli.store.records import TurnRecord

Is = Callable[[TurnRecord], bool]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of turns with and without something: in `helped` only the turn with it went well, in `harmed` only the one
    without it; in all others both went alike."""

    count: int = 0
    helped: int = 0
    harmed: int = 0

    @property
    def difference(self) -> tuple[float, float, float]:
        """(difference, low, high) of the two shares of good turns, -1 to 1, with a 95 % interval.

        The adjusted Wald interval for matched pairs: Agresti and Min, Statistics in Medicine 24, 729 (2005), which adds
        half a pair to each of the four kinds.
        """
        size, apart = self.count + 2, self.helped - self.harmed
        middle = apart / size
        spread = Z * math.sqrt(max(0.0, self.helped + self.harmed + 1 - apart * apart / size)) / size
        mean = apart / self.count if self.count else 0.0
        return (mean, max(-1.0, middle - spread), min(1.0, middle + spread))

    @property
    def verdict(self) -> str:
        """The difference in words, or that there is too little to say."""
        return in_words(*self.difference) if self.count >= ENOUGH else UNKNOWN

    def told(self) -> str:
        """`12 pairs: +8 points (-20 to +36): no clear effect`."""
        return f"{self.count} pair{'s' * (self.count != 1)}: {self.verdict}"

    def to_json(self) -> dict[str, Any]:
        """Counts and verdict; the interval is null where there is not enough data."""
        mean, *interval = self.difference
        enough = self.count >= ENOUGH
        return {
            "pairs": self.count,
            "helped": self.helped,
            "harmed": self.harmed,
            "difference": mean if enough else None,
            "interval": interval if enough else None,
            "verdict": self.verdict,
        }


def paired(records: Sequence[TurnRecord], without: Is, having: Is) -> Pairs:
    """Pair each turn `without` it with the nearest one `having` it; turns whose outcome is not known take no part.

    The partner is the last one before it that has none yet, of its own session if there is one there, else the first
    one after it.

    Args:
        records: the turns of a project, the oldest first.
    """
    known = [(at, record) for at, record in enumerate(records) if record.good is not None]
    if not any(without(record) for _, record in known):
        return Pairs()
    free = {at: record for at, record in known if having(record)}
    count = helped = harmed = 0
    for at, record in known:
        if not without(record) or (partner := _nearest(at, record, free)) is None:
            continue
        other = free.pop(partner)
        count += 1
        helped += bool(other.good) and not record.good
        harmed += bool(record.good) and not other.good
    return Pairs(count, helped, harmed)


def _nearest(at: int, record: TurnRecord, free: dict[int, TurnRecord]) -> int | None:
    own = [place for place, other in free.items() if other.session_id == record.session_id]
    places = own or list(free)
    return max((place for place in places if place < at), default=min(places, default=None))


def without_playbook(records: Sequence[TurnRecord]) -> Pairs:
    """What the whole playbook does: turns that an ablation left without any strategy, beside turns with some."""
    return paired(records, lambda r: r.ablation == "off", lambda r: bool(r.shown) and r.ablation != "off")


def without_bullet(records: Sequence[TurnRecord], bullet_id: str) -> Pairs:
    """What one strategy does: turns in which it alone was withheld, beside turns in which it was shown."""

    def withheld(record: TurnRecord) -> bool:
        return record.ablation == "withheld" and bullet_id in record.withheld

    return paired(records, withheld, lambda record: bullet_id in record.shown)
