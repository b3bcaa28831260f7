"""Which bullets stand in a prompt: relevance times worth, no two that say the same, and never a token too many."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from swecli.models.playbook import Bullet, Kind, quoted, render_bullets
from swecli.playbook.gate import SIMILAR
from swecli.playbook.relevance import matches
from swecli.playbook.score import Standings
from swecli.playbook.words import content_words, forbids, jaccard

BUDGET = 1_200  # tokens
ALIKE = 0.8  # shared content words of two that each have words of their own, from which they say the same
FLOOR = 0.06  # of the score: without a match, only what is believed to help stays above it
# How far a bullet concerns a query that names nothing of it: what the user wants holds for all work, a fact for some.
BASE: Mapping[Kind, float] = MappingProxyType({"preference": 0.3, "pitfall": 0.2, "strategy": 0.2, "fact": 0.1})
FULL = "there is no room"
HELD = "the conversation holds it already"
_NONE: Mapping[str, str] = MappingProxyType({})

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
class Selection:
    """What a prompt gets: `text`, which has exactly `tokens` tokens, of at most `budget`; and the thoughts behind it.

    `candidates` holds every bullet that is not deleted, in the order in which they were considered.
    """

    text: str
    tokens: int
    budget: int
    candidates: tuple[Candidate, ...]

    @property
    def chosen(self) -> tuple[Bullet, ...]:
        """The bullets in the text and those held already, the best first."""
        return tuple(candidate.bullet for candidate in self.candidates if candidate.chosen)

    @property
    def crowded_out(self) -> tuple[Candidate, ...]:
        """Those that only lacked room."""
        return tuple(candidate for candidate in self.candidates if candidate.reason.startswith(FULL))

    def to_json(self, count: Count) -> dict[str, Any]:
        """The decision as plain JSON values, the tokens of every candidate's line counted; numbers to four places."""
        rows = [
            [
                c.bullet.id,
                c.chosen,
                round(c.match, 4),
                c.base,
                round(c.value, 4),
                c.tokens or count(_line(c.bullet)),
                c.reason,
            ]
            for c in self.candidates
        ]
        return {"tokens": self.tokens, "budget": self.budget, "candidates": rows}


@dataclass(frozen=True, slots=True)
class Held:
    """Bullets that the conversation holds already, by id, and the `tokens` that they take of the budget; `line` is how
    a further one is told."""

    ids: Collection[str]
    tokens: int
    line: Callable[[Bullet], str]


def select(
    bullets: Iterable[Bullet],
    query: str,
    *,
    standings: Standings,
    count: Count,
    budget: int = BUDGET,
    most: int | None = None,
    stale: Mapping[str, str] = _NONE,
    floor: float = FLOOR,
    measured: bool = False,
    held: Held | None = None,
    new: Collection[str] = (),
    ranked: Sequence[Candidate] | None = None,
) -> Selection:
    """Choose for a query. The same arguments give the same selection, in whatever order the bullets come.

    Args:
        bullets: all there are; the deleted ones are left aside.
        query: what the user asked; without a word in it, worth alone decides.
        standings: what is believed of them.
        count: counts the tokens of a text; what it says of the whole text is what holds.
        budget: tokens of the text, at most.
        most: bullets, at most; None: as many as fit.
        stale: ids of bullets whose anchors are gone, with what is gone; they are left out unless pinned.
        floor: the lowest score that is not left out.
        measured: count the tokens of every line, for the user to see; else of those only that could stand in the text.
        held: what the conversation holds already: it stays, and the text is of what comes to it.
        new: ids of those that the user has just taught: they come before all but pinned ones.
        ranked: what `rank` gave for the same bullets, query, standings and `new`, where it was asked before.
    """
    ranked = rank(bullets, query, standings, new) if ranked is None else ranked
    line = held.line if held else _line
    known = [c.bullet for c in ranked if held and c.bullet.id in held.ids and _holds(c.bullet, stale)]
    stays = {bullet.id for bullet in known}
    chosen = [(bullet, content_words(bullet.content)) for bullet in known]
    left = budget - (held.tokens if held else _frame(ranked, count))
    decided = []
    for candidate in ranked:
        bullet, tokens = candidate.bullet, count(line(candidate.bullet)) if measured else 0
        if bullet.id in stays:
            decided.append(_decided(candidate, tokens, HELD))
            continue
        reason = (
            _unfit(candidate, standings, stale, floor)
            or (f"{most} are the limit" if most is not None and len(chosen) >= most else "")
            or ("" if _may_fit(bullet, left) and (tokens := count(line(bullet))) <= left else _full(left))
            or ""
        )
        words = frozenset[str]() if reason else content_words(bullet.content)
        if not reason and (twin := _twin(bullet, words, chosen)) is not None:
            reason = _beside(bullet, twin)
        if not reason:
            chosen.append((bullet, words))
            left -= tokens
        decided.append(_decided(candidate, tokens, reason))
    return _told(decided, held, count, budget) if held else _fitted(decided, count, budget)


def _holds(bullet: Bullet, stale: Mapping[str, str]) -> bool:
    """Whether what was told of it still stands."""
    return bullet.live and (bullet.state == "pinned" or bullet.id not in stale)


def _decided(candidate: Candidate, tokens: int, reason: str) -> Candidate:
    bullet = candidate.bullet
    why = reason or ("it is pinned" if bullet.state == "pinned" else "it is among the best")
    chosen = reason in ("", HELD)
    return Candidate(bullet, candidate.match, candidate.base, candidate.value, tokens, chosen, why)


def _told(decided: list[Candidate], held: Held, count: Count, budget: int) -> Selection:
    """What comes to what is held, without the last ones when all of it has more tokens than its lines promised."""
    new = [at for at, candidate in enumerate(decided) if candidate.chosen and candidate.reason != HELD]
    while True:
        text = "".join(held.line(decided[at].bullet) for at in sorted(new, key=lambda at: decided[at].bullet.number))
        tokens = held.tokens + (count(text) if text else 0)
        if not text or tokens <= budget:
            return Selection(text, tokens, budget, tuple(decided))
        last = new.pop()
        decided[last] = replace(decided[last], chosen=False, reason=f"{FULL}: the text would have {tokens} tokens")


def _may_fit(bullet: Bullet, left: int) -> bool:
    """Whether counting its tokens is worth the while: no line has fewer of them than words, two before its content."""
    return len(bullet.content.split()) + 2 <= left


def _full(left: int) -> str:
    return f"{FULL}: {max(0, left)} tokens are left"


def rank(bullets: Iterable[Bullet], query: str, standings: Standings, new: Collection[str] = ()) -> list[Candidate]:
    """The candidates: pinned ones first, then those just taught, then by score, then the older ones."""
    bullets = [bullet for bullet in bullets if bullet.state != "deleted"]
    found = matches(query, [f"{b.section} {b.content}" for b in bullets])
    candidates = [
        Candidate(b, match, BASE[b.kind], max(0.0, (1 + standings.of(b.id).score) / 2))
        for b, match in zip(bullets, found, strict=True)
    ]
    return sorted(
        candidates, key=lambda c: (c.bullet.state != "pinned", c.bullet.id not in new, -c.score, c.bullet.number)
    )


def _line(bullet: Bullet) -> str:
    """The bullet's line in the text."""
    return f"- [{bullet.id}] {quoted(bullet.content)}\n"


def _frame(ranked: Sequence[Candidate], count: Count) -> int:
    """The tokens that stand around the lines."""
    return count(render_bullets([ranked[0].bullet])) - count(_line(ranked[0].bullet)) if ranked else 0


def _unfit(candidate: Candidate, standings: Standings, stale: Mapping[str, str], floor: float) -> str:
    """Why a bullet is out whatever else there is; "" when it is not."""
    bullet, belief = candidate.bullet, standings.of(candidate.bullet.id)
    if bullet.state == "pinned":
        return ""
    if not bullet.live:
        return f"it is {bullet.state}"
    if bullet.id in stale:
        return f"it is stale: {stale[bullet.id]}"
    if belief.standing != "good":
        return f"it is held to harm rather than to help ({belief.harmful:.0%} against {belief.helpful:.0%})"
    if candidate.score < floor:
        return f"its score is below the floor of {floor:g}"
    return ""


def _twin(bullet: Bullet, words: frozenset[str], chosen: Iterable[tuple[Bullet, frozenset[str]]]) -> Bullet | None:
    """One that is in already and says nearly the same, or the opposite; None for one that the user pinned.

    Two of which each says something of its own ("the auth service listens on 8001", "the mail service on 8004") are
    both needed, unless hardly anything is their own.
    """
    if bullet.state == "pinned":
        return None
    for other, others in chosen:
        likeness = jaccard(words, others)
        if likeness >= SIMILAR and (
            likeness >= ALIKE or words <= others or others <= words or forbids(bullet.content) != forbids(other.content)
        ):
            return other
    return None


def _beside(bullet: Bullet, twin: Bullet) -> str:
    opposite = forbids(bullet.content) != forbids(twin.content)
    return f"it contradicts {twin.id}" if opposite else f"{twin.id} says nearly the same"


def _fitted(decided: list[Candidate], count: Count, budget: int) -> Selection:
    """The selection, without the last ones when the text as a whole has more tokens than its lines promised."""
    places = [at for at, candidate in enumerate(decided) if candidate.chosen]
    while True:
        text = render_bullets(decided[at].bullet for at in places)
        tokens = count(text) if text else 0
        if not text or tokens <= budget:
            return Selection(text, tokens, budget, tuple(decided))
        last = places.pop()
        reason = f"{FULL}: the text would have {tokens} tokens"
        decided[last] = replace(decided[last], chosen=False, reason=reason)
