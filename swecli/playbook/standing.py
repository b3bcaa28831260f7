"""What every strategy is worth by all the turns that are known: the score, worked out from what is stored.

The newest turns are counted each time; the older ones are in a checkpoint, which is thrown away when one of them is
judged anew or a verdict on it is taken back. So a turn costs the same after ten turns and after ten thousand, and
what comes out is what counting from the first turn gives.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from swecli.models.errors import BadInput
from swecli.models.playbook import Delta, Tag
from swecli.models.session import Session
from swecli.playbook.counted import LOOKING_BACK
from swecli.playbook.score import VERSION, Belief, Citation, Outcome, Standings, after, vouched_for
from swecli.store.records import TurnRecord

if TYPE_CHECKING:  # the commands are declared without loading the database
    from swecli.store.playbook_standing import Uncounted
    from swecli.store.playbook_store import PlaybookStore

MOST = 48  # turns outside of a checkpoint before it moves on
# Of these, one in three stays outside: what is judged late or taken back is mostly among the newest.
STAYING = 3

Turn = tuple[str, int]


def believed(store: PlaybookStore, session: Session, *, most: int = MOST) -> Standings:
    """What the strategies of a session's project are worth now; at most `most` turns are counted for it, as a rule.

    One that applies in all projects is judged by the turns of all of them. Raises StoreError.
    """
    here = _counted(store, session, most, everywhere=False)
    shared = [name for name, bullet in session.playbook.bullets.items() if bullet.scope == "user"]
    if not shared:
        return here
    all_over = _counted(store, session, most, everywhere=True)
    return replace(here, beliefs={**here.beliefs, **{n: all_over.beliefs[n] for n in shared if n in all_over.beliefs}})


def _counted(store: PlaybookStore, session: Session, most: int, *, everywhere: bool) -> Standings:
    past = store.standing.uncounted(session, everywhere=everywhere)
    before = _read(past.since.state) if past.since.state else Standings()
    if before is None:  # by other rules than these: count anew
        past, before = store.standing.uncounted(session, whole=True, everywhere=everywhere), Standings()
    if len(past.turns) <= most:
        return counted_on(past, before)
    closed = len(past.turns) - most // STAYING
    covered = counted_on(past, before, closed)
    store.standing.keep(session, past.upto(closed, json.dumps(covered.to_json())), everywhere=everywhere)
    return counted_on(past, before)


def counted_on(past: Uncounted, before: Standings = Standings(), count: int | None = None) -> Standings:  # noqa: B008
    """The beliefs after these turns, with the user's word where it came between them: a strategy that was taken in
    again is from then on held to be no worse than an unknown one. With `count` after the first turns only."""
    standings, began = before, [when for _, when in past.places[:count]]
    done = 0
    for name, when in past.vouched:
        place = next((at for at, start in enumerate(began) if start > when), None)
        if place is None and count is not None:
            continue  # it came later
        place = len(began) if place is None else max(place, done)
        standings = vouched_for(standings_of(past.turns[done:place], past.verdicts, standings), name)
        done = place
    return standings_of(past.turns[done:count], past.verdicts, standings)


@lru_cache(maxsize=4)
def _read(state: str) -> Standings | None:
    """What a checkpoint holds; None when it cannot be read or was made by other rules."""
    try:
        data = json.loads(state)
        return Standings.from_json(data) if data["version"] == VERSION else None
    except (ValueError, TypeError, KeyError, BadInput):
        return None


def standings_of(
    records: Sequence[TurnRecord],
    verdicts: Iterable[Delta],
    before: Standings = Standings(),  # noqa: B008 - frozen
) -> Standings:
    """The beliefs after these turns, the oldest first.

    Args:
        records: turns of a project, the oldest first.
        verdicts: the changes that were made of them and stand.
        before: what was believed before the first of them.
    """
    tags, authors = _tags(verdicts)
    standings = before
    for record in records:
        turn = (record.session_id, record.interaction)
        given = tags.get(turn, {})
        cited = tuple(Citation(name, given.get(name)) for name in dict.fromkeys((*record.cited, *_judged(given))))
        weight = min(1.0, max(0.0, record.weight))
        reflector = authors.get(turn, "rules")
        standings = after(standings, Outcome(record.topic or "general", record.good, weight, cited, reflector))
    return standings


def held_to_harm(belief: Belief) -> bool:
    """Whether a strategy stays out of prompts for what is believed of it, unless it is pinned."""
    return belief.standing in ("quarantined", "proposed for deletion")


def in_words(belief: Belief) -> str:
    """That a strategy seems to harm, and by how much it is known."""
    return f"harmful with {100 * belief.harmful:.0f} % after {belief.tags} verdicts"


def _judged(given: dict[str, Tag]) -> list[str]:
    """Strategies that got a verdict, also without being named: what was refused or corrected was used."""
    return [name for name, tag in given.items() if tag != "neutral"]


def _tags(deltas: Iterable[Delta]) -> tuple[dict[Turn, dict[str, Tag]], dict[Turn, str]]:
    """By turn, the tag each strategy was given (a verdict before a neutral one) and who gave them."""
    given: dict[Turn, dict[str, list[Tag]]] = defaultdict(lambda: defaultdict(list))
    authors: dict[Turn, str] = {}
    for delta in deltas:
        if delta.interaction is None:
            continue
        for op in delta.ops:
            back = any(item.source in LOOKING_BACK for item in op.evidence)
            turn = (delta.session_id, delta.interaction - back)
            if op.op == "TAG" and op.tag:
                given[turn][op.bullet_id].append(op.tag)
                authors[turn] = delta.author
            elif op.op == "UNTAG" and op.tag in given[turn][op.bullet_id]:
                given[turn][op.bullet_id].reverse()  # the last one goes
                given[turn][op.bullet_id].remove(op.tag)
                given[turn][op.bullet_id].reverse()
    return {turn: {name: _weighing(all_) for name, all_ in of.items() if all_} for turn, of in given.items()}, authors


def _weighing(tags: list[Tag]) -> Tag:
    """The tag that counts of several for one turn: the last verdict."""
    return next((tag for tag in reversed(tags) if tag != "neutral"), "neutral")
