"""What every strategy is worth by all the turns that are known: the score, worked out anew from what is stored.

Nothing of it is kept: a change that is taken back, or a turn whose outcome is corrected, is right the next time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from swecli.models.playbook import AppliedDelta, Tag
from swecli.playbook.counted import LOOKING_BACK
from swecli.playbook.score import Belief, Citation, Outcome, Standings, after
from swecli.store.records import TurnRecord

Turn = tuple[str, int]


def standings_of(records: Sequence[TurnRecord], deltas: Iterable[AppliedDelta]) -> Standings:
    """The beliefs after all turns, the oldest first.

    Args:
        records: the turns of a project, the oldest first.
        deltas: the changes that concern it; those taken back do not count.
    """
    tags, authors = _tags(deltas)
    standings = Standings()
    for record in records:
        turn = (record.session_id, record.interaction)
        given = tags.get(turn, {})
        cited = tuple(Citation(name, given.get(name)) for name in dict.fromkeys((*record.cited, *_judged(given))))
        weight = min(1.0, max(0.0, record.weight))
        reflector = authors.get(turn, "rules")
        standings = after(standings, Outcome(record.topic or "general", record.good, weight, cited, reflector))
    return standings


def in_words(belief: Belief) -> str:
    """That a strategy seems to harm, and by how much it is known."""
    return f"harmful with {100 * belief.harmful:.0f} % after {belief.tags} verdicts"


def _judged(given: dict[str, Tag]) -> list[str]:
    """Strategies that got a verdict, also without being named: what was refused or corrected was used."""
    return [name for name, tag in given.items() if tag != "neutral"]


def _tags(deltas: Iterable[AppliedDelta]) -> tuple[dict[Turn, dict[str, Tag]], dict[Turn, str]]:
    """By turn, the tag each strategy was given (a verdict before a neutral one) and who gave them."""
    tags: dict[Turn, dict[str, Tag]] = defaultdict(dict)
    authors: dict[Turn, str] = {}
    for applied in deltas:
        delta = applied.delta
        if applied.undone or delta.interaction is None:
            continue
        for op in delta.ops:
            if op.op == "TAG" and op.tag:
                back = any(item.source in LOOKING_BACK for item in op.evidence)
                turn = (delta.session_id, delta.interaction - back)
                if op.tag != "neutral" or op.bullet_id not in tags[turn]:
                    tags[turn][op.bullet_id] = op.tag
                authors[turn] = delta.author
    return tags, authors
