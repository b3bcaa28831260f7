"""The candidates for a prompt, in the order in which they are taken: all, where they fit; else what matches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from swecli.models.playbook import Bullet, render_bullets
from swecli.playbook.scoring.score import expected, passes
from swecli.playbook.similarity import BulletIndex

_BUDGET = 1_200  # tokens
HELD_BACK = "it seems to harm rather than to help"
_LEAST_MASS = 0.15  # of the query's idf mass that the matched words must carry
_LEAST_SHARE = 0.3  # of the best match
_FOR_NEW, _NEW = 0.1, 3  # share of the budget for matching bullets with fewer turns of use than that

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What was thought of one bullet: `match` is its BM25 sum for the query (0 where all fit), `value` half of one plus
    what is expected of it; `tokens` those of its line. `reason` is a clause: "it is pinned", "it is stale: ..."."""

    bullet: Bullet
    match: float = 0.0
    value: float = 0.0
    tokens: int = 0
    chosen: bool = False
    reason: str = ""

    @property
    def score(self) -> float:
        return self.match * self.value


@dataclass(frozen=True, slots=True)
class SelectionRequest:
    """A query, and what a choice for it rests on.

    `bullets` are all there are, by id in order of minting; `index` knows their words and is brought up to date.
    A prompt has `most` at most, in `budget` tokens: 0 of either keeps the playbook out. `count` counts the tokens of a
    text. `new_ids` are those that the user has just taught.
    `ignorant` says that the reflectors here know nothing. `holdout` is the share of turns, in percent, that withhold
    one bullet by chance from `seed`. With `whole_head` no head leaves room for later turns.
    """

    bullets: Mapping[str, Bullet]
    query: str
    count: Count
    index: BulletIndex
    budget: int = _BUDGET
    most: int = 200
    new_ids: Collection[str] = ()
    ignorant: bool = False
    holdout: int = 0
    seed: int = 0
    whole_head: bool = False

    @property
    def off(self) -> bool:
        """Whether the settings keep the playbook out of prompts."""
        return not (self.budget and self.most)


def rank(request: SelectionRequest) -> tuple[list[Candidate], bool]:
    """The candidates in the order in which they are taken, and whether all that may be shown fits."""
    if request.off:
        return [], True
    whole = _all_if_fit(request)
    if whole is not None:
        return whole, True
    own = [
        bullet
        for name, bullet in request.bullets.items()
        if bullet.kind == "preference" or bullet.scope == "user" or bullet.state == "pinned" or name in request.new_ids
    ]
    first = [
        Candidate(bullet, value=expected_value(bullet), reason="it is pinned" if bullet.state == "pinned" else "")
        for bullet in own
        if not _exclusion_reason(bullet, request)
    ]
    first.sort(key=lambda c: (c.bullet.state != "pinned", c.bullet.id not in request.new_ids, -c.bullet.number))
    known = {candidate.bullet.id for candidate in first}
    return [*first, *(c for c in matching(request, request.budget) if c.bullet.id not in known)], False


def _all_if_fit(request: SelectionRequest) -> list[Candidate] | None:
    """Every bullet, those that may be shown first, in order of minting; None where they do not fit."""
    may: list[Candidate] = []
    out: list[Candidate] = []
    left = request.budget
    for bullet in request.bullets.values():
        candidate = _candidate(bullet, request)
        (out if candidate.reason else may).append(candidate)
        left -= 0 if candidate.reason else len(bullet.content.split()) + 2  # no line has fewer tokens than words
        if left < 0:
            return None
    if len(may) > request.most or (may and request.count(render_bullets(c.bullet for c in may)) > request.budget):
        return None
    return [*may, *out]


def matching(request: SelectionRequest, budget: int) -> list[Candidate]:
    """What answers the query, the best first; matching ones that are hardly known come early enough for their share."""
    request.index.update(request.bullets)
    found = request.index.search(request.query, _LEAST_MASS)
    best = max(found.values(), default=0.0)
    passed = {name: score for name, score in found.items() if score >= _LEAST_SHARE * best}
    ranked = sorted(
        (_candidate(request.bullets[name], request, score) for name, score in passed.items()),
        key=lambda c: (-c.score, -c.bullet.number),
    )
    new = [c for c in ranked if c.bullet.uses < _NEW and not c.reason]
    words, early = 0, []
    for candidate in new:
        words += len(candidate.bullet.content.split()) + 5
        if words > budget * _FOR_NEW:
            break
        early.append(candidate)
    return [*early, *(candidate for candidate in ranked if candidate not in early)]


def _candidate(bullet: Bullet, request: SelectionRequest, match: float = 0.0) -> Candidate:
    return Candidate(bullet, match, expected_value(bullet), reason=_exclusion_reason(bullet, request))


def expected_value(bullet: Bullet) -> float:
    return (1 + expected(bullet.current_belief)) / 2


def _exclusion_reason(bullet: Bullet, request: SelectionRequest) -> str:
    """Why a bullet is out whatever else there is; "" when it is not."""
    if bullet.state == "pinned":
        return ""
    if not bullet.is_live:
        return f"it is {bullet.state}"
    if bullet.stale:
        return f"it is stale: {bullet.stale}"
    if not passes(bullet, ignorant=request.ignorant):
        return HELD_BACK
    return ""
