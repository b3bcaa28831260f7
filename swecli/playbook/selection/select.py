"""Selection of bullets within the token budget. The head of an epoch contains those selected for its first query; later
turns add others as notes until the conversation's bullets exceed the budget, which requires a new epoch."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from swecli.config.settings import Settings
from swecli.models.playbook import Bullet, quote_content, render_bullets
from swecli.models.session import Session
from swecli.playbook.scoring.score import Reflector
from swecli.playbook.selection.rank import HELD_BACK, Candidate, Count, SelectionRequest, expected_value, rank, search
from swecli.playbook.similarity import BulletIndex

RECALLED = 400  # token budget of the `recall` tool
_HELD = "the conversation contains it already"
_HEAD_SHARE = 2 / 3  # of the budget for a head if not all bullets fit; the rest is for later turns
_MISSED = 1 / 2  # of the score of a query's bullets that may be missing
_FEW = 5  # rejected candidates that are stored for `why`
_FULL = "it does not fit"


@dataclass(frozen=True, slots=True)
class HeldBullets:
    """The ids of the bullets in the conversation, the `tokens` of the budget they use, and the format of a further
    note's `line`."""

    ids: Collection[str]
    tokens: int
    line: Callable[[Bullet], str]


@dataclass(frozen=True, slots=True)
class Selection:
    """The `text` for a prompt, with `tokens` at most `budget`. `candidates` are the chosen and the best rejected ones,
    `held_back` those excluded by their score, `withheld` those left out to measure their effect; `more`: others can be
    recalled; `reopen` is why a new epoch is required, or ""."""

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
        """The bullets of the text and of the conversation, withheld ones included."""
        return tuple(candidate.bullet for candidate in self.candidates if candidate.chosen)

    @property
    def bullets(self) -> tuple[Bullet, ...]:
        return tuple(bullet for bullet in self.chosen if bullet.id not in self.withheld)

    def to_json(self) -> dict[str, Any]:
        """Return the selection as JSON values, rounded to four places."""
        rows = [
            [c.bullet.id, c.chosen, round(c.match, 4), round(c.value, 4), c.tokens, c.reason] for c in self.candidates
        ]
        flags = {"withheld": list(self.withheld), "more": self.more, "held_back": list(self.held_back)}
        return {"tokens": self.tokens, "budget": self.budget, "chosen": rows} | flags


def request_for(
    session: Session, query: str, count: Count, index: BulletIndex, settings: Settings, known: Iterable[dict[str, Any]]
) -> SelectionRequest:
    """Build the request for a session's next query; `known` are the stored figures of the reflectors."""
    playbook, window = session.get_playbook(), session.window
    reflectors = [Reflector.from_json(value) for value in known]
    # bullets that the user added in this epoch are selected without matching the query
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
        # depends on the turn only, so that the selection is reproducible
        seed=sum(ord(one) * place for place, one in enumerate(session.id, 1)) + session.interactions,
        whole_head=window.mode == "fixed" and not window.slack,
    )


def select(request: SelectionRequest, held: HeldBullets | None = None) -> Selection:
    """Select deterministically within the budget. With `held`, the text contains further notes for the conversation;
    without it, or if `reopen` is set, it is the head of an epoch."""
    ranked, fits = rank(request)
    found = _select(request, ranked, held, fits=fits)
    shown = {bullet.id for bullet in found.chosen}
    names = (c.bullet.id for c in ranked if c.reason == HELD_BACK and c.bullet.id not in shown)
    return replace(found, held_back=tuple(names))


def _select(
    request: SelectionRequest, ranked: Sequence[Candidate], held: HeldBullets | None, *, fits: bool
) -> Selection:
    if held is None:
        return _select_for_head(request, ranked, fits=fits)
    why = _revocation_reason(request, held)
    found = _fill(request, ranked, request.budget, held)
    why = why or ("a turn that withholds a strategy" if found.withheld else "")
    why = why or ("the notes on strategies exceed their budget" if held.tokens > request.budget else "")
    if not why and not found.missed:
        return replace(found, more=not fits)
    head = _select_for_head(request, ranked, fits=fits)
    why = why or _crowding_reason(request.new_ids, found, head)
    return replace(head, reopen=why) if why else replace(found, more=not fits)


def recall(request: SelectionRequest) -> Selection:
    """Select the best matches of a query."""
    ranked = [c for c in search(request, request.budget) if not c.reason]
    return _fill(request, ranked, request.budget)


def _select_for_head(request: SelectionRequest, ranked: Sequence[Candidate], *, fits: bool) -> Selection:
    """Select for a head: all bullets if they fit, else its share of the budget, unless that omits a pinned bullet or
    more than half of the score."""
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
    """Return why a bullet of the conversation must be removed, or ""."""
    if held.ids and not (request.budget and request.most):
        return "the playbook is off"
    for name in held.ids:
        bullet = request.bullets.get(name)
        if bullet is None or bullet.state == "disabled":
            return f"{name} was disabled or removed"
    return ""


def _crowding_reason(new: Collection[str], found: Selection, head: Selection) -> str:
    """Return why the omitted bullets require a new epoch, or ""."""
    for candidate in found.missed:
        bullet = candidate.bullet
        if bullet.state == "pinned" and bullet in head.chosen:
            return f"{bullet.id} is pinned and does not fit otherwise"
        if bullet.id in new:
            return f"{bullet.id} is new and does not fit otherwise"
    wanted = {c.bullet.id: c.score for c in head.candidates if c.chosen}
    known = {bullet.id for bullet in found.chosen}
    lost = sum(score for name, score in wanted.items() if name not in known)
    return "this query's strategies do not fit otherwise" if lost > _MISSED * sum(wanted.values()) else ""


def _fill(
    request: SelectionRequest, ranked: Sequence[Candidate], budget: int, held: HeldBullets | None = None
) -> Selection:
    line = held.line if held else _format_line
    sent = [request.bullets[name] for name in held.ids if name in request.bullets] if held else []
    valid = [bullet for bullet in sent if bullet.is_live and (bullet.state == "pinned" or not bullet.stale)]
    valid.sort(key=lambda bullet: bullet.number)
    chosen = [Candidate(bullet, value=expected_value(bullet), chosen=True, reason=_HELD) for bullet in valid]
    ids = {bullet.id for bullet in valid}
    missed, excluded = list[Candidate](), list[Candidate]()
    first = [candidate.bullet for candidate in ranked[:1]]
    frame = request.count(render_bullets(first)) - request.count(_format_line(first[0])) if first else 0
    left = budget - (held.tokens if held else frame)
    for candidate in ranked:
        bullet = candidate.bullet
        if bullet.id in ids:
            continue
        if candidate.reason and bullet.state != "pinned":
            excluded.append(candidate)
            continue
        tokens = request.count(line(bullet)) if len(bullet.content.split()) + 2 <= left else 0
        if len(chosen) >= request.most:
            missed.append(replace(candidate, reason=f"{_FULL}: the limit is {request.most}"))
            continue
        if not 0 < tokens <= left:
            missed.append(replace(candidate, tokens=tokens, reason=f"{_FULL}: {max(0, left)} tokens are left"))
            continue
        left -= tokens
        reason = candidate.reason or ("it matches" if candidate.match else "it fits the budget")
        chosen.append(replace(candidate, tokens=tokens, chosen=True, reason=reason))
    while True:  # the whole text may have more tokens than its lines
        fresh = [candidate for candidate in chosen if candidate.reason != _HELD]
        withheld = _draw_withheld(request, [candidate.bullet for candidate in chosen])
        new = sorted((c.bullet for c in fresh if c.bullet.id not in withheld), key=lambda bullet: bullet.number)
        text = "".join(map(held.line, new)) if held else render_bullets(new)
        tokens = (held.tokens if held else 0) + (request.count(text) if text else 0)
        if not fresh or tokens <= budget:
            break
        chosen.remove(fresh[-1])
        missed.append(replace(fresh[-1], chosen=False, reason=f"{_FULL}: the text would have {tokens} tokens"))
    kept = (*chosen, *[*missed, *excluded][:_FEW])
    return Selection(text, tokens, budget, kept, withheld=withheld, missed=tuple(missed))


def _draw_withheld(request: SelectionRequest, chosen: Sequence[Bullet]) -> tuple[str, ...]:
    """Draw the bullet that this turn withholds, never a pinned one."""
    free = sorted((b.id for b in chosen if b.state != "pinned"), key=lambda name: int(name[2:]))
    luck = random.Random(request.seed)
    return (luck.choice(free),) if free and luck.random() * 100 < request.holdout else ()


def _format_line(bullet: Bullet) -> str:
    return f"- [{bullet.id}] {quote_content(bullet.content)}\n"
