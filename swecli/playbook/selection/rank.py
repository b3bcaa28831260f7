"""How far each bullet concerns a query, and what it is worth: the candidates that a selection takes from, in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from swecli.models.playbook import Bullet, Kind
from swecli.playbook.relevance import matches
from swecli.playbook.score import Standings
from swecli.playbook.selection.ablation import AblationPlan

FLOOR = 0.06  # of the score: without a match, only what is believed to help stays above it
# How far a bullet concerns a query that names nothing of it: what the user wants holds for all work, a fact for some.
BASE: Mapping[Kind, float] = MappingProxyType({"preference": 0.3, "pitfall": 0.2, "strategy": 0.2, "fact": 0.1})

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What was thought of one bullet. The parts add up to the score, and the score and the reason to the decision.

    `relevance = base + (1 - base) * match`, 0 to 1, and `score = relevance * value`. `value` is half of one plus the
    bullet's own score, at least 0; `tokens` those of its line, 0 where they did not matter. `reason` says why it is in
    or out, as a clause: "it is pinned", "there is no room: 12 tokens are left".
    """

    bullet: Bullet
    match: float
    base: float
    value: float
    tokens: int = 0
    chosen: bool = False
    reason: str = ""

    @property
    def relevance(self) -> float:
        """How far it concerns the query."""
        return self.base + (1 - self.base) * self.match

    @property
    def score(self) -> float:
        """What it is ranked by."""
        return self.relevance * self.value


@dataclass(frozen=True, slots=True)
class SelectionRequest:
    """A query, and what all choices for it rest on.

    `bullets` are all there are, none while the playbook is `off`; `count` counts the tokens of a text, and what it
    says of the whole text is what holds; `most` bullets at most (None: as many as fit); `new_ids` those that the user
    has just taught: they come before all but pinned ones; `floor` is the lowest score that is not left out. `ablation`
    is what turn number `turn`, among those of all sessions, leaves out of it by chance from `seed`. With `whole_head`
    no head leaves room for later turns.
    """

    bullets: Sequence[Bullet]
    query: str
    scores: Standings
    count: Count
    most: int | None = None
    new_ids: Collection[str] = ()
    off: bool = False
    floor: float = FLOOR
    ablation: AblationPlan = field(default_factory=AblationPlan)
    turn: int = 1
    seed: int = 0
    whole_head: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates of a request, the best first: worked out once for all selections from them."""

    request: SelectionRequest
    candidates: tuple[Candidate, ...]


def rank(request: SelectionRequest) -> Ranking:
    """The candidates: pinned ones first, then those just taught, then by score, then the older ones."""
    bullets = [bullet for bullet in request.bullets if bullet.state != "deleted" and not request.off]
    found = matches(request.query, [f"{b.section} {b.content}" for b in bullets])
    candidates = [
        Candidate(b, match, BASE[b.kind], max(0.0, (1 + request.scores.of(b.id).score) / 2))
        for b, match in zip(bullets, found, strict=True)
    ]
    ranked = sorted(
        candidates,
        key=lambda c: (c.bullet.state != "pinned", c.bullet.id not in request.new_ids, -c.score, c.bullet.number),
    )
    return Ranking(request, tuple(ranked))
