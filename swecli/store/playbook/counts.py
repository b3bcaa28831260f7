"""Count what the exchanges say of a strategy: in how many of the newest ones it helped, in how many it hurt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from swecli.store.tables.playbook import EvidenceRow

NEWEST = 20
"""Judged exchanges that count; also the turns for which a strategy is held back until the oldest counts no more. Of 5
to 40 the best compromise of losing helpful strategies and following a change, in a sketch of both worlds of
`lab/learning/simulate`."""
IMPORTED = "before"  # kind of the evidence row that stands for counts that came with a strategy
HELD_BACK = "faded"  # kind of the evidence row that counts turns in which a strategy was held back


@dataclass(slots=True)
class Counts:
    """The counts of a strategy. `judged` says of each exchange that counts, oldest first, whether the strategy helped;
    the newest word on an exchange replaces an earlier one. `neutral` counts verdicts that are no evidence."""

    judged: dict[str, bool] = field(default_factory=dict)
    neutral: int = 0

    @property
    def helpful(self) -> int:
        return sum(self.judged.values())

    @property
    def harmful(self) -> int:
        return len(self.judged) - self.helpful

    @classmethod
    def of(cls, evidence: Iterable[EvidenceRow], vouched_at: datetime | None) -> Counts:
        """Count the verdicts on a strategy, oldest first. What was against it before the user restored it, at
        `vouched_at`, does not count."""
        counts = cls()
        for item in evidence:
            is_forgiven = vouched_at is not None and _is_before(item.created_at, vouched_at)
            if item.kind == IMPORTED:
                helpful, harmful, neutral = map(int, item.quote.split())
                counts._import(helpful, harmful if vouched_at is None else 0, neutral)
            elif item.kind == HELD_BACK:
                counts._forget(turns_of(item) // NEWEST)
            elif item.tag != "harmful" or not is_forgiven:
                counts.add(exchange_of(item), item.tag)
        return counts

    def add(self, exchange: str, tag: str) -> None:
        """Count a verdict on an exchange."""
        if tag == "neutral":
            self.neutral += 1
            return
        self.judged.pop(exchange, None)
        self.judged[exchange] = tag == "helpful"
        self._forget(len(self.judged) - NEWEST)

    def _import(self, helpful: int, harmful: int, neutral: int) -> None:
        """Take over counts, scaled down if they are more than count here."""
        self.neutral = neutral
        total = helpful + harmful
        if total > NEWEST:
            helpful = round(helpful * NEWEST / total)
            harmful = NEWEST - helpful
        self.judged = {
            f"imported {number}": number < helpful for number in range(helpful + harmful)
        }

    def _forget(self, count: int) -> None:
        """Leave out that many of the oldest exchanges, none if `count` is negative."""
        for exchange in list(self.judged)[: max(0, count)]:
            del self.judged[exchange]


def exchange_of(item: EvidenceRow) -> str:
    """Return the exchange that a verdict is about; the verdict itself if it names none."""
    if item.interaction is None:
        return f"evidence {item.id}"
    return f"{item.session_id} {item.interaction}"


def turns_of(item: EvidenceRow) -> int:
    """Return the turns that a row of HELD_BACK counts; its quote is "12 turns"."""
    return int(item.quote.split()[0])


def _is_before(moment: datetime | None, other: datetime) -> bool:
    return moment is None or moment <= other
