"""Count what the exchanges say of a strategy: in how many it helped, hurt, was refuted or ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from swecli.models.playbook import EffectCounts
from swecli.store.tables.playbook import EvidenceRow

VERDICTS = ("outcome", "tag")  # kinds of the evidence rows that judge a strategy
IMPORTED = "before"  # kind of the row with which 0.2.0 stored counts that came with a strategy


def count_effects(evidence: Iterable[EvidenceRow], vouched_at: datetime | None) -> EffectCounts:
    """Count the verdicts on a strategy, oldest first. An exchange counts once, by the newest word on it. What was
    against the strategy before the user said yes to it, at `vouched_at`, does not count."""
    effects = dict[str, str]()  # by exchange
    neutral = Counter[str]()
    imported = EffectCounts()
    for item in evidence:
        is_forgiven = vouched_at is not None and _is_before(item.created_at, vouched_at)
        if item.kind == IMPORTED:
            helped, hurt, others = map(int, item.quote.split())
            imported = EffectCounts(helped, 0 if is_forgiven else hurt, neutral=others)
        elif item.tag == "neutral":
            neutral[item.effect] += 1
        elif item.tag == "helpful":
            effects[_exchange_of(item)] = "helped"
        elif not is_forgiven:
            effects[_exchange_of(item)] = "refuted" if item.effect == "refuted" else "hurt"
    counts = Counter(effects.values())
    return imported + EffectCounts(
        helped=counts["helped"],
        hurt=counts["hurt"],
        refuted=counts["refuted"],
        ignored=neutral["ignored"],
        neutral=neutral.total(),
    )


def _exchange_of(item: EvidenceRow) -> str:
    """Return the exchange that a verdict is about; the verdict itself if it names none."""
    if item.interaction is None:
        return f"evidence {item.id}"
    return f"{item.session_id} {item.interaction}"


def _is_before(moment: datetime | None, other: datetime) -> bool:
    return moment is None or moment <= other
