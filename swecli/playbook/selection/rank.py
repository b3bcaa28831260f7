"""Ranking of the candidates for a prompt: all bullets if they fit, else the user's own and the query's matches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from swecli.models.playbook import Bullet, render_bullets
from swecli.playbook.scoring.score import expected, passes
from swecli.playbook.similarity import BulletIndex

_BUDGET = 1_200  # tokens
HELD_BACK = "it is more likely harmful than helpful"
_LEAST_MASS = 0.15  # of the query's idf mass that the matched words must carry
_LEAST_SHARE = 0.3  # of the best match
_FOR_NEW, _NEW = 0.1, 3  # share of the budget for matching bullets with fewer uses than this

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A bullet with its BM25 score for the query (`match`, 0 if all bullets fit), its `value` 0 to 1, the tokens of its
    line, and the `reason` of the decision as a clause ("it is pinned")."""

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
    """The input of a selection: all `bullets` by id, oldest first, and their `index`. At most `most` in `budget` tokens
    are selected (0: playbook off). `new_ids` were added by the user in this epoch; `holdout` percent of turns
    withhold one bullet, drawn with `seed`; with `whole_head`, no later turn shares the budget."""

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


def rank(request: SelectionRequest) -> tuple[list[Candidate], bool]:
    """Return the candidates, best first, and whether all that may be shown fit."""
    if not (request.budget and request.most):
        return [], True
    whole = _fit_all(request)
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
    return [*first, *(c for c in search(request, request.budget) if c.bullet.id not in known)], False


def _fit_all(request: SelectionRequest) -> list[Candidate] | None:
    """Return every bullet, those that may be shown first; None if they exceed the budget."""
    may: list[Candidate] = []
    out: list[Candidate] = []
    left = request.budget
    for bullet in request.bullets.values():
        candidate = _candidate(bullet, request)
        (out if candidate.reason else may).append(candidate)
        left -= 0 if candidate.reason else len(bullet.content.split()) + 2  # a lower bound of its tokens
        if left < 0:
            return None
    if len(may) > request.most or (may and request.count(render_bullets(c.bullet for c in may)) > request.budget):
        return None
    return [*may, *out]


def search(request: SelectionRequest, budget: int) -> list[Candidate]:
    """Return the matching bullets, best first, after the rarely used ones that get a share of the budget."""
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
    """Return why a bullet may not be shown, or ""."""
    if bullet.state == "pinned":
        return ""
    if not bullet.is_live:
        return f"it is {bullet.state}"
    if bullet.stale:
        return f"it is stale: {bullet.stale}"
    if not passes(bullet, ignorant=request.ignorant):
        return HELD_BACK
    return ""
