"""Why a proposal waits for the user, and what he decides with it, as data beside the sentences that tell it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from swecli.models.playbook import Evidence


class DoubtKind(StrEnum):
    """The kind of a doubt: the `source` of the evidence that holds it."""

    OTHER = "doubt"
    RESTATED = "doubt: restated"  # the user's words are beside it, but it is not what he wrote
    REACHING = "doubt: reaching"  # what he wrote, but it reaches further than a model may decide
    SEEN = "doubt: seen"  # a result says it; another exchange may show it again


ACCEPTED = "accepted"  # source of the evidence that the user said yes to a proposal
REPLACES = "replaces"  # source of the evidence that names the strategy a waiting one is to replace

# Doubts about what the user said: he is asked after the turn.
_ASKED = (DoubtKind.RESTATED, DoubtKind.REACHING)

# How earlier versions, which stored no kind, worded the two that decide something.
_EARLIER = {
    "it says more than you wrote": DoubtKind.RESTATED,
    "seen in a result": DoubtKind.SEEN,
}
_SCORE = "score"  # source of the reason why an earlier version put a strategy into quarantine


@dataclass(frozen=True, slots=True)
class Doubt:
    """A doubt: its kind, and the reason as a clause for the user."""

    kind: DoubtKind
    why: str


RESTATED = Doubt(DoubtKind.RESTATED, "it is not what you wrote, word for word")
SEEN = Doubt(DoubtKind.SEEN, "seen in a result")


def is_doubt(item: Evidence) -> bool:
    """Return True for evidence that is a doubt, and no quotation."""
    return item.source in (*DoubtKind, _SCORE)


def doubt_in(evidence: Iterable[Evidence]) -> Doubt | None:
    """Return the newest doubt of a strategy's evidence, which is oldest first; None without any."""
    found = [item for item in evidence if is_doubt(item)]
    if not found:
        return None
    source, why = found[-1].source, found[-1].quote
    if source in (DoubtKind.OTHER, _SCORE):
        return Doubt(_EARLIER.get(why, DoubtKind.OTHER), why)
    return Doubt(DoubtKind(source), why)


def is_asked(evidence: Iterable[Evidence]) -> bool:
    """Return True if what waits was made of the user's words, so that he is asked about it."""
    doubt = doubt_in(evidence)
    return doubt is not None and doubt.kind in _ASKED


def quotations(evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return the evidence that quotes somebody, oldest first."""
    others = (ACCEPTED, REPLACES)
    return [item for item in evidence if not is_doubt(item) and item.source not in others]


def replaced_by(evidence: Iterable[Evidence]) -> list[str]:
    """Return the ids of the strategies that a waiting one is to replace, without doubles."""
    return list(dict.fromkeys(item.quote for item in evidence if item.source == REPLACES))
