"""Which bullets stand in a prompt: relevance times worth, no two that say the same, and never a token too many.

An epoch's head holds those selected for the query it began with. Within the epoch others come as notes, as long as all
that the conversation holds keeps to the budget; where it cannot, the selection asks for a new epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from swecli.models.playbook import Bullet, quoted, render_bullets
from swecli.playbook.gate import SIMILAR
from swecli.playbook.selection.ablation import Ablation, ablate
from swecli.playbook.selection.rank import Candidate, Count, Ranking, SelectionRequest
from swecli.playbook.words import content_words, forbids, jaccard

BUDGET = 1_200  # tokens
ALIKE = 0.8  # shared content words of two that each have words of their own, from which they say the same
HEAD_SHARE = 2 / 3  # of the budget that a head takes when there is more than fits: the rest is for the turns to come
MISSED = 1 / 2  # of the worth of a query's bullets that may be missing before that is too little
FULL = "there is no room"
HELD = "the conversation holds it already"


@dataclass(frozen=True, slots=True)
class Selection:
    """What a prompt gets: `text`, which has exactly `tokens` tokens, of at most `budget`; and the thoughts behind it.

    `candidates` holds every bullet that is not deleted, in the order in which they were considered; `ablation` is what
    is left out of what was chosen. `reopen` says why an epoch must begin for it, "" when it need not.
    """

    text: str
    tokens: int
    budget: int
    candidates: tuple[Candidate, ...]
    ablation: Ablation = field(default_factory=Ablation)
    off: bool = False
    reopen: str = ""

    @property
    def bullets(self) -> tuple[Bullet, ...]:
        """Those that stand in the prompt, the best first."""
        return tuple(self.ablation.shown(self.chosen))

    @property
    def chosen(self) -> tuple[Bullet, ...]:
        """The bullets in the text and those held already, before ablation."""
        return tuple(candidate.bullet for candidate in self.candidates if candidate.chosen)

    @property
    def crowded_out(self) -> tuple[Candidate, ...]:
        """Those that only lacked room."""
        return tuple(candidate for candidate in self.candidates if candidate.reason.startswith(FULL))

    @property
    def worth(self) -> float:
        """The scores of all that were chosen."""
        return sum(candidate.score for candidate in self.candidates if candidate.chosen)

    def measured(self, count: Count) -> Selection:
        """The same with the tokens of every candidate's line."""
        return replace(
            self,
            candidates=tuple(c if c.tokens else replace(c, tokens=count(_line(c.bullet))) for c in self.candidates),
        )

    def to_json(self) -> dict[str, Any]:
        """The decision as plain JSON values; numbers to four places."""
        rows = [
            [c.bullet.id, c.chosen, round(c.match, 4), c.base, round(c.value, 4), c.tokens, c.reason]
            for c in self.candidates
        ]
        what = {"ablation": self.ablation.what, "withheld": list(self.ablation.withheld), "off": self.off}
        return {"tokens": self.tokens, "budget": self.budget, "candidates": rows} | what


@dataclass(frozen=True, slots=True)
class Held:
    """Bullets that the conversation holds already, by id, and the `tokens` that they take of the budget; `line` is how
    a further one is told."""

    ids: Collection[str]
    tokens: int
    line: Callable[[Bullet], str]


def select(ranking: Ranking, budget: int = BUDGET, held: Held | None = None) -> Selection:
    """Select within a budget of tokens, which is never exceeded. The same arguments give the same selection, in
    whatever order the bullets came.

    Args:
        held: what the conversation holds already: it stays, and the text is of what comes to it. None where an epoch
            begins: the selection is for its head. When the bullets cannot go on as they are held, the selection is for
            a head too, and `reopen` says why.
    """
    if held is None:
        return _for_head(ranking, budget)
    if why := _taken_back(ranking.request, held):
        return replace(_for_head(ranking, budget), reopen=why)
    found = _within(ranking, budget, held)
    why = _refused(found, held.tokens, budget)
    if not why and not found.crowded_out:
        return found
    head = _for_head(ranking, budget)
    why = why or _cramped(ranking.request.new_ids, found, head)
    return replace(head, reopen=why) if why else found


def _for_head(ranking: Ranking, budget: int) -> Selection:
    """What a head gets: as much as fits into the budget, or into its share of it when more would fit the query.

    Not a share that would leave out something pinned, or hold less than half of the worth.
    """
    whole = _within(ranking, budget)
    if not whole.crowded_out or ranking.request.whole_head:
        return whole
    part = _within(ranking, int(budget * HEAD_SHARE))
    pinned = any(candidate.bullet.state == "pinned" for candidate in part.crowded_out)
    return whole if pinned or part.worth < MISSED * whole.worth else part


def _taken_back(request: SelectionRequest, held: Held) -> str:
    """That the user wants something held out of the prompt."""
    if request.off and held.ids:
        return "the playbook is off"
    states = {bullet.id: bullet.state for bullet in request.bullets}
    gone = [name for name in held.ids if states.get(name, "disabled") == "disabled"]
    return f"{gone[0]} is not to be used any more" if gone else ""


def _refused(found: Selection, spent: int, budget: int) -> str:
    """Why what is held cannot stay, whatever comes to it."""
    if found.ablation.what:
        return "a turn that leaves strategies out"
    return "what is told of strategies has grown too long" if spent > budget else ""


def _cramped(new: Collection[str], found: Selection, head: Selection) -> str:
    """Why an epoch should begin for bullets that found no room in this one."""
    for candidate in found.crowded_out:
        bullet = candidate.bullet
        if bullet.state == "pinned" and bullet in head.chosen:
            return f"{bullet.id} is pinned and has no room else"
        if bullet.id in new:
            return f"{bullet.id} is new and has no room else"
    wanted = {c.bullet.id: c.score for c in head.candidates if c.chosen}
    told = {bullet.id for bullet in found.chosen}
    missed = sum(score for name, score in wanted.items() if name not in told)
    return "this query's strategies have no room else" if missed > MISSED * sum(wanted.values()) else ""


def _within(ranking: Ranking, budget: int, held: Held | None = None) -> Selection:
    """The best that fit, one after the other."""
    request, ranked = ranking.request, ranking.candidates
    count, line = request.count, held.line if held else _line
    known = [c.bullet for c in ranked if held and c.bullet.id in held.ids and _holds(c.bullet)]
    stays = {bullet.id for bullet in known}
    chosen = [(bullet, content_words(bullet.content)) for bullet in known]
    left = budget - (held.tokens if held else _frame(ranked, count))
    decided = []
    for candidate in ranked:
        bullet, tokens = candidate.bullet, 0
        if bullet.id in stays:
            decided.append(_decided(candidate, tokens, HELD))
            continue
        reason = (
            _unfit(candidate, request)
            or (f"{request.most} are the limit" if request.most is not None and len(chosen) >= request.most else "")
            or ("" if _may_fit(bullet, left) and (tokens := count(line(bullet))) <= left else _full(left))
        )
        words = frozenset[str]() if reason else content_words(bullet.content)
        if not reason and (twin := _twin(bullet, words, chosen)) is not None:
            reason = _beside(bullet, twin)
        if not reason:
            chosen.append((bullet, words))
            left -= tokens
        decided.append(_decided(candidate, tokens, reason))
    found = _told(decided, held, count, budget) if held else _fitted(decided, count, budget)
    ablation = ablate(request.ablation, request.turn, found.chosen, request.seed)
    return replace(found, ablation=ablation, off=request.off)


def _holds(bullet: Bullet) -> bool:
    """Whether what was told of it still stands."""
    return bullet.live and (bullet.state == "pinned" or not bullet.stale)


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


def _line(bullet: Bullet) -> str:
    """The bullet's line in the text."""
    return f"- [{bullet.id}] {quoted(bullet.content)}\n"


def _frame(ranked: Sequence[Candidate], count: Count) -> int:
    """The tokens that stand around the lines."""
    return count(render_bullets([ranked[0].bullet])) - count(_line(ranked[0].bullet)) if ranked else 0


def _unfit(candidate: Candidate, request: SelectionRequest) -> str:
    """Why a bullet is out whatever else there is; "" when it is not."""
    bullet, belief = candidate.bullet, request.scores.of(candidate.bullet.id)
    if bullet.state == "pinned":
        return ""
    if not bullet.live:
        return f"it is {bullet.state}"
    if bullet.stale:
        return f"it is stale: {bullet.stale}"
    if belief.standing != "good":
        return f"it is held to harm rather than to help ({belief.harmful:.0%} against {belief.helpful:.0%})"
    if candidate.score < request.floor:
        return f"its score is below the floor of {request.floor:g}"
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
