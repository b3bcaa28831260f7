"""What deltas that are in the store already counted for a turn: so that a turn looked at twice counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from swecli.models.playbook import Delta, Evidence, Tag
from swecli.playbook.digest import Tagged, Taken
from swecli.playbook.gate import clean
from swecli.playbook.words import shorten
from swecli.redact import redact

QUOTE = 300  # characters of a quoted span
# Words of a query that judge the turn before the one they stand in.
LOOKING_BACK = frozenset({"correction", "undo", "complaint", "praise", "thanks"})


def safe(evidence: Evidence) -> Evidence:
    """Evidence as it may be stored: its quote one short line without secrets."""
    return replace(evidence, quote=shorten(redact(clean(evidence.quote)), QUOTE))


def key_of(evidence: Evidence) -> tuple[str, str]:
    """What makes two pieces of evidence of one turn the same."""
    return (evidence.source, safe(evidence).quote)


def tags_of(deltas: Iterable[Delta], session_id: str, interaction: int) -> Tagged:
    """The (bullet, tag) pairs that deltas count for a turn: its own, and those that the next turn's words gave it.

    Give the deltas that still stand, without those taken back.
    """
    times: Counter[tuple[str, Tag]] = Counter()
    for delta in deltas:
        if delta.session_id != session_id or delta.interaction is None:
            continue
        for op in delta.ops:
            if op.tag and delta.interaction - _looks_back(op.evidence) == interaction:
                times[(op.bullet_id, op.tag)] += {"TAG": 1, "UNTAG": -1}.get(op.op, 0)
    return frozenset(pair for pair, count in times.items() if count > 0)


def taken_of(deltas: Iterable[Delta], session_id: str, interaction: int) -> Taken:
    """The evidence, as (source, quote), of all that a turn taught already."""
    return frozenset(
        key_of(item)
        for delta in deltas
        if (delta.session_id, delta.interaction) == (session_id, interaction)
        for op in delta.ops
        if op.op not in ("TAG", "UNTAG")
        for item in op.evidence
    )


def _looks_back(evidence: tuple[Evidence, ...]) -> int:
    return int(any(item.source in LOOKING_BACK for item in evidence))
