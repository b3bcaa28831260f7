"""Which bullets stand in a prompt: all that fit; else the user's own and what matches. Never a token too many. An
epoch's head holds those selected for the query it began with. Within the epoch others come as notes, as long as all
that the conversation holds keeps to the budget; where it cannot, the selection asks for a new epoch."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from swecli.config.settings import Settings
from swecli.models.playbook import Bullet, quote_content, render_bullets
from swecli.models.session import Session
from swecli.playbook.scoring.score import Reflector
from swecli.playbook.selection.rank import HELD_BACK, Candidate, Count, SelectionRequest, expected_value, matching, rank
from swecli.playbook.similarity import BulletIndex

RECALLED = 400  # tokens of what the model looks up for itself
_HELD = "the conversation holds it already"
_HEAD_SHARE = 2 / 3  # of the budget that a head takes where not all fits: the rest is for the turns to come
_MISSED = 1 / 2  # of the worth of a query's bullets that may be missing before that is too little
_FEW = 5  # candidates that were not chosen and are kept for `why`
_FULL = "there is no room"


@dataclass(frozen=True, slots=True)
class HeldBullets:
    """Bullets that the conversation holds already, by id, and the `tokens` that they take of the budget; `line` is how
    a further one is noted."""

    ids: Collection[str]
    tokens: int
    line: Callable[[Bullet], str]


@dataclass(frozen=True, slots=True)
class Selection:
    """What a prompt gets: `text` of `tokens`, at most `budget`. `candidates` are those chosen and the best few others;
    `held_back` those whose score keeps them out; `more` says that there are others to look up, `withheld` what this
    turn leaves out by chance, `reopen` why an epoch must begin for it ("" when it need not)."""

    text: str
    tokens: int
    budget: int
    candidates: tuple[Candidate, ...]
    more: bool = False
    withheld: tuple[str, ...] = ()
    reopen: str = ""
    held_back: tuple[str, ...] = ()
    missed: tuple[Candidate, ...] = field(default=(), repr=False)

    @property
    def chosen(self) -> tuple[Bullet, ...]:
        """The bullets in the text and those held already, also the one withheld."""
        return tuple(candidate.bullet for candidate in self.candidates if candidate.chosen)

    @property
    def bullets(self) -> tuple[Bullet, ...]:
        return tuple(bullet for bullet in self.chosen if bullet.id not in self.withheld)

    def to_json(self) -> dict[str, Any]:
        """The decision as plain JSON values; numbers to four places."""
        rows = [
            [c.bullet.id, c.chosen, round(c.match, 4), round(c.value, 4), c.tokens, c.reason] for c in self.candidates
        ]
        what = {"withheld": list(self.withheld), "more": self.more}
        what["held_back"] = list(self.held_back)
        return {"tokens": self.tokens, "budget": self.budget, "chosen": rows} | what


def request_for(
    session: Session, query: str, count: Count, index: BulletIndex, settings: Settings, known: Iterable[dict[str, Any]]
) -> SelectionRequest:
    """What a choice for a session's next query rests on; `known` is what is stored of each reflector, as JSON."""
    playbook, window = session.get_playbook(), session.window
    reflectors = [Reflector.from_json(value) for value in known]
    # what the user taught since the present epoch began is in the next request whatever that is about
    began = next((row.created_at for row in reversed(session.context.reductions) if row.epoch is not None), None)
    taught = [b.id for b in playbook.bullets.values() if began and b.trust == "user" and b.created_at > began]
    return SelectionRequest(
        bullets=playbook.bullets,
        query=query,
        count=count,
        index=index,
        budget=settings.playbook_tokens,
        most=settings.max_strategies,
        new_ids=frozenset(bullet.id for bullet in playbook.live_bullets(taught)),
        ignorant=bool(reflectors) and all(reflector.ignorant for reflector in reflectors),
        holdout=settings.holdout,
        # recorded with the turn, so that its choice can be made again
        seed=sum(ord(one) * place for place, one in enumerate(session.id, 1)) + session.interactions,
        whole_head=window.mode == "fixed" and not window.slack,
    )


def select(request: SelectionRequest, held: HeldBullets | None = None) -> Selection:
    """Select within the budget, the same for the same arguments. With `held`, what the conversation holds already, the
    text is of what comes to that; without it, or where `reopen` says why, it is for the head of an epoch."""
    ranked, fits = rank(request)
    found = _select(request, ranked, held, fits=fits)
    shown = {bullet.id for bullet in found.chosen}
    names = (c.bullet.id for c in ranked if c.reason == HELD_BACK and c.bullet.id not in shown)
    return replace(found, held_back=tuple(names))


def _select(
    request: SelectionRequest, ranked: Sequence[Candidate], held: HeldBullets | None, *, fits: bool
) -> Selection:
    if held is None:
        return _for_head(request, ranked, fits=fits)
    why = _revocation_reason(request, held)
    found = _fill(request, ranked, request.budget, held)
    why = why or ("a turn that withholds a strategy" if found.withheld else "")
    why = why or ("the notes on strategies have grown too long" if held.tokens > request.budget else "")
    if not why and not found.missed:
        return replace(found, more=not fits)
    head = _for_head(request, ranked, fits=fits)
    why = why or _crowding_reason(request.new_ids, found, head)
    return replace(head, reopen=why) if why else replace(found, more=not fits)


def recall(request: SelectionRequest) -> Selection:
    """The bullets that match a query best, of those that may be shown, within the request's budget."""
    ranked = [c for c in matching(request, request.budget) if not c.reason]
    return _fill(request, ranked, request.budget)


def _for_head(request: SelectionRequest, ranked: Sequence[Candidate], *, fits: bool) -> Selection:
    """What a head gets: all where it fits, else its share of the budget: not one that would leave out something
    pinned, or hold less than half of the worth."""
    whole = _fill(request, ranked, request.budget)
    if fits or request.whole_head or not whole.missed:
        return replace(whole, more=not fits)
    part = _fill(request, ranked, int(request.budget * _HEAD_SHARE))
    pinned = any(candidate.bullet.state == "pinned" for candidate in part.missed)
    found = whole if pinned or _total_score(part) < _MISSED * _total_score(whole) else part
    return replace(found, more=True)


def _total_score(selection: Selection) -> float:
    return sum(candidate.score for candidate in selection.candidates if candidate.chosen)


def _revocation_reason(request: SelectionRequest, held: HeldBullets) -> str:
    """That the user wants something held out of the prompt."""
    if request.off and held.ids:
        return "the playbook is off"
    for name in held.ids:
        bullet = request.bullets.get(name)
        if bullet is None or bullet.state == "disabled":
            return f"{name} is not to be used any more"
    return ""


def _crowding_reason(new: Collection[str], found: Selection, head: Selection) -> str:
    """Why an epoch should begin for bullets that found no room in this one."""
    for candidate in found.missed:
        bullet = candidate.bullet
        if bullet.state == "pinned" and bullet in head.chosen:
            return f"{bullet.id} is pinned and has no room else"
        if bullet.id in new:
            return f"{bullet.id} is new and has no room else"
    wanted = {c.bullet.id: c.score for c in head.candidates if c.chosen}
    known = {bullet.id for bullet in found.chosen}
    lost = sum(score for name, score in wanted.items() if name not in known)
    return "this query's strategies have no room else" if lost > _MISSED * sum(wanted.values()) else ""


def _fill(
    request: SelectionRequest, ranked: Sequence[Candidate], budget: int, held: HeldBullets | None = None
) -> Selection:
    line = held.line if held else _line
    stays = {name for name in held.ids if _is_still_valid(request.bullets.get(name))} if held else set[str]()
    chosen = [
        Candidate(request.bullets[name], value=expected_value(request.bullets[name]), chosen=True, reason=_HELD)
        for name in sorted(stays, key=lambda name: request.bullets[name].number)
    ]
    missed, out = list[Candidate](), list[Candidate]()
    first = [candidate.bullet for candidate in ranked[:1]]
    frame = request.count(render_bullets(first)) - request.count(_line(first[0])) if first else 0
    left = budget - (held.tokens if held else frame)
    for candidate in ranked:
        bullet = candidate.bullet
        if bullet.id in stays:
            continue
        if candidate.reason and bullet.state != "pinned":
            out.append(candidate)
            continue
        tokens = request.count(line(bullet)) if len(bullet.content.split()) + 2 <= left else 0
        if len(chosen) >= request.most:
            missed.append(replace(candidate, reason=f"{_FULL}: {request.most} are the limit"))
            continue
        if not 0 < tokens <= left:
            missed.append(replace(candidate, tokens=tokens, reason=f"{_FULL}: {max(0, left)} tokens are left"))
            continue
        left -= tokens
        reason = candidate.reason or ("it matches" if candidate.match else "all that there are fit")
        chosen.append(replace(candidate, tokens=tokens, chosen=True, reason=reason))
    return _fit_text(request, chosen, [*missed, *out], (budget, held, missed))


def _fit_text(
    request: SelectionRequest,
    chosen: list[Candidate],
    out: list[Candidate],
    within: tuple[int, HeldBullets | None, list[Candidate]],
) -> Selection:
    """The selection, without the last ones where the text as a whole has more tokens than its lines promised."""
    budget, held, missed = within
    while True:
        fresh = [candidate for candidate in chosen if candidate.reason != _HELD]
        withheld = _withheld(request, [candidate.bullet for candidate in chosen])
        text = _text([c.bullet for c in fresh if c.bullet.id not in withheld], held)
        tokens = (held.tokens if held else 0) + (request.count(text) if text else 0)
        if not fresh or tokens <= budget:
            break
        chosen.remove(fresh[-1])
        missed.append(replace(fresh[-1], chosen=False, reason=f"{_FULL}: the text would have {tokens} tokens"))
        out.append(missed[-1])
    kept = (*chosen, *out[:_FEW])
    return Selection(text, tokens, budget, kept, withheld=withheld, missed=tuple(missed))


def _text(fresh: list[Bullet], held: HeldBullets | None) -> str:
    if held is None:
        return render_bullets(fresh)
    return "".join(held.line(bullet) for bullet in sorted(fresh, key=lambda b: b.number))


def _withheld(request: SelectionRequest, chosen: Sequence[Bullet]) -> tuple[str, ...]:
    """What the turn leaves out by chance; never a pinned one."""
    free = sorted((b.id for b in chosen if b.state != "pinned"), key=lambda name: int(name[2:]))
    luck = random.Random(request.seed)
    return (luck.choice(free),) if free and luck.random() * 100 < request.holdout else ()


def _is_still_valid(bullet: Bullet | None) -> bool:
    """Whether what was noted of a bullet still stands."""
    return bullet is not None and bullet.is_live and (bullet.state == "pinned" or not bullet.stale)


def _line(bullet: Bullet) -> str:
    return f"- [{bullet.id}] {quote_content(bullet.content)}\n"
