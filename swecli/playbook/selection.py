"""Selection of bullets for a prompt within the token budget: all if they fit, else the user's own and the query's
matches. The head of an epoch contains those selected for its first query; later turns add others as notes until the
conversation's bullets exceed the budget, which requires a new epoch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from swecli.config.settings import Settings
from swecli.models.playbook import Bullet, quote_content, render_bullets
from swecli.models.session import Session
from swecli.playbook.ranking import BulletIndex

RECALLED = 400  # token budget of the `recall` tool
_LEAST_MASS = 0.15  # of the query's idf mass that the matched words must carry
_LEAST_SHARE = 0.3  # of the best match
_FOR_NEW, _NEW = 0.1, 3  # share of the budget for matching bullets with fewer uses than this
_HEAD_SHARE = 2 / 3  # of the budget for a head if not all bullets fit; the rest is for later turns
_MISSED = 1 / 2  # of the score of a query's bullets that may be missing
_FEW = 5  # rejected candidates that are stored for `why`
_HELD = "the conversation contains it already"
_FULL = "it does not fit"

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class SelectionRequest:
    """The input of a selection: all `bullets` by id, oldest first, and their `index`. At most `most` in `budget` tokens
    are selected (0: playbook off). `new_ids` were added by the user in this epoch; with `whole_head`, no later turn
    shares the budget."""

    bullets: Mapping[str, Bullet]
    query: str
    count: Count
    index: BulletIndex
    budget: int = 1_200
    most: int = 200
    new_ids: Collection[str] = ()
    whole_head: bool = False

    @classmethod
    def of(
        cls,
        session: Session,
        query: str,
        count: Count,
        index: BulletIndex,
        settings: Settings,
    ) -> SelectionRequest:
        """Build the request for a session's next query."""
        playbook, window = session.get_playbook(), session.window
        # bullets that the user added in this epoch are selected without matching the query
        began = next(
            (
                row.created_at
                for row in reversed(session.context.reductions)
                if row.epoch is not None
            ),
            None,
        )
        taught = [
            b.id
            for b in playbook.bullets.values()
            if began and b.trust == "user" and b.created_at > began
        ]
        return cls(
            bullets=playbook.bullets,
            query=query,
            count=count,
            index=index,
            budget=settings.playbook_tokens,
            most=settings.max_strategies,
            new_ids=frozenset(bullet.id for bullet in playbook.live_bullets(taught)),
            whole_head=window.mode == "fixed" and not window.slack,
        )

    def select(self, held: HeldBullets | None = None) -> Selection:
        """Select deterministically within the budget: with `held`, further notes for the conversation; without it, or
        if `reopen` is set, the head of an epoch."""
        ranked, fits = _rank(self)
        found = (
            _select_for_head(self, ranked, fits)
            if held is None
            else _extend(self, ranked, fits, held)
        )
        shown = {bullet.id for bullet in found.bullets}
        names = [candidate.bullet.id for candidate in ranked if _is_harmful(candidate.bullet)]
        held_back = tuple(name for name in names if name not in shown)
        return replace(found, more=not fits, held_back=held_back)

    def recall(self) -> Selection:
        """Select the matching bullets alone."""
        return _fill(self, [c for c in _search(self) if not c.reason], self.budget)


@dataclass(frozen=True, slots=True)
class HeldBullets:
    """The ids of the bullets in the conversation, the `tokens` of the budget they use, and the format of a further
    note's `line`."""

    ids: Collection[str]
    tokens: int
    line: Callable[[Bullet], str]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A bullet with its BM25 score for the query (`match`, 0 if all bullets fit), the tokens of its line, and the
    `reason` of the decision as a clause ("it is pinned")."""

    bullet: Bullet
    match: float = 0.0
    reason: str = ""
    tokens: int = 0
    chosen: bool = False

    @property
    def score(self) -> float:
        """How well it matches and has helped."""
        return self.match * self.bullet.score


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of at most `budget` tokens. `candidates` are the chosen and the best rejected ones, `held_back` those
    excluded by their score; `more`: others can be recalled; `reopen` is why a new epoch is required, or ""."""

    tokens: int
    budget: int
    candidates: tuple[_Candidate, ...]
    more: bool = False
    reopen: str = ""
    held_back: tuple[str, ...] = ()
    missed: tuple[_Candidate, ...] = field(default=(), repr=False)

    @property
    def bullets(self) -> tuple[Bullet, ...]:
        """The selected bullets and those of the conversation."""
        return tuple(candidate.bullet for candidate in self.candidates if candidate.chosen)

    def to_json(self) -> dict[str, Any]:
        """Return the selection as JSON values, rounded to four places."""
        rows = [
            [c.bullet.id, c.chosen, round(c.match, 4), round(c.bullet.score, 4), c.tokens, c.reason]
            for c in self.candidates
        ]
        flags = {"more": self.more, "held_back": list(self.held_back)}
        return {"tokens": self.tokens, "budget": self.budget, "chosen": rows} | flags


def _rank(request: SelectionRequest) -> tuple[list[_Candidate], bool]:
    """Return the candidates, best first, and whether all that may be shown fit."""
    if not (request.budget and request.most):
        return [], True
    if (whole := _fit_all(request)) is not None:
        return whole, True
    own = [
        _Candidate(bullet, reason="it is pinned" if bullet.state == "pinned" else "")
        for name, bullet in request.bullets.items()
        if bullet.kind == "preference"
        or bullet.scope == "user"
        or bullet.state == "pinned"
        or name in request.new_ids
        if not _exclusion_reason(bullet)
    ]
    own.sort(
        key=lambda c: (
            c.bullet.state != "pinned",
            c.bullet.id not in request.new_ids,
            -c.bullet.number,
        )
    )
    known = {candidate.bullet.id for candidate in own}
    return [*own, *(c for c in _search(request) if c.bullet.id not in known)], False


def _fit_all(request: SelectionRequest) -> list[_Candidate] | None:
    """Return every bullet, those that may be shown first; None if they exceed the budget."""
    may, out, left = list[_Candidate](), list[_Candidate](), request.budget
    for bullet in request.bullets.values():
        candidate = _Candidate(bullet, reason=_exclusion_reason(bullet))
        (out if candidate.reason else may).append(candidate)
        left -= (
            0 if candidate.reason else len(bullet.content.split()) + 2
        )  # a lower bound of its tokens
        if left < 0:
            return None
    if len(may) > request.most or (
        may and request.count(render_bullets(c.bullet for c in may)) > request.budget
    ):
        return None
    return [*may, *out]


def _search(request: SelectionRequest) -> list[_Candidate]:
    """Return the matching bullets, best first, after the rarely used ones that get a share of the budget."""
    request.index.update(request.bullets)
    found = request.index.search(request.query, _LEAST_MASS)
    least = _LEAST_SHARE * max(found.values(), default=0.0)
    pairs = ((request.bullets[name], match) for name, match in found.items() if match >= least)
    ranked = [_Candidate(bullet, match, _exclusion_reason(bullet)) for bullet, match in pairs]
    ranked.sort(key=lambda c: (-c.score, -c.bullet.number))
    new = [c for c in ranked if c.bullet.uses < _NEW and not c.reason]
    words = accumulate(len(c.bullet.content.split()) + 5 for c in new)
    early = [c for c, total in zip(new, words, strict=True) if total <= request.budget * _FOR_NEW]
    return [*early, *(candidate for candidate in ranked if candidate not in early)]


def _exclusion_reason(bullet: Bullet) -> str:
    """Return why a bullet may not be shown, or ""."""
    if bullet.state == "pinned":
        return ""
    if not bullet.is_live:
        return f"it is {bullet.state}"
    if bullet.is_left_out:
        return f"it is stale: {bullet.stale}"
    return "it hurt too often" if _is_harmful(bullet) else ""


def _is_harmful(bullet: Bullet) -> bool:
    """Return whether nothing but its harm keeps a bullet out."""
    return bullet.is_live and not bullet.stale and bullet.is_held_back


def _select_for_head(
    request: SelectionRequest, ranked: Sequence[_Candidate], fits: bool
) -> Selection:
    """Select for a head: all bullets if they fit, else its share of the budget, unless that omits a pinned bullet."""
    whole = _fill(request, ranked, request.budget)
    if fits or request.whole_head or not whole.missed:
        return whole
    part = _fill(request, ranked, int(request.budget * _HEAD_SHARE))
    return whole if any(candidate.bullet.state == "pinned" for candidate in part.missed) else part


def _extend(
    request: SelectionRequest, ranked: Sequence[_Candidate], fits: bool, held: HeldBullets
) -> Selection:
    """Select further notes for the conversation, or a head if a new epoch is required."""
    found, why = _fill(request, ranked, request.budget, held), ""
    present = {name: request.bullets.get(name) for name in held.ids}
    gone = [
        name for name, bullet in present.items() if bullet is None or bullet.state == "disabled"
    ]
    if present and not (request.budget and request.most):
        why = "the playbook is off"
    elif gone:
        why = f"{gone[0]} was disabled or removed"
    elif held.tokens > request.budget:
        why = "the notes on strategies exceed their budget"
    elif not found.missed:
        return found
    head = _select_for_head(request, ranked, fits)
    why = why or _crowding_reason(request.new_ids, found, head)
    return replace(head, reopen=why) if why else found


def _crowding_reason(new: Collection[str], found: Selection, head: Selection) -> str:
    """Return why the omitted bullets require a new epoch, or ""."""
    for bullet in (candidate.bullet for candidate in found.missed):
        if bullet.state == "pinned" and bullet in head.bullets:
            return f"{bullet.id} is pinned and does not fit otherwise"
        if bullet.id in new:
            return f"{bullet.id} is new and does not fit otherwise"
    known, wanted = (
        {bullet.id for bullet in found.bullets},
        [c for c in head.candidates if c.chosen],
    )
    lost, all_scores = (
        sum(c.score for c in some)
        for some in ([c for c in wanted if c.bullet.id not in known], wanted)
    )
    return "this query's strategies do not fit otherwise" if lost > _MISSED * all_scores else ""


def _fill(
    request: SelectionRequest,
    ranked: Sequence[_Candidate],
    budget: int,
    held: HeldBullets | None = None,
) -> Selection:
    line, before = (held.line, held.tokens) if held else (_format_line, 0)
    sent = (request.bullets[name] for name in held.ids if name in request.bullets) if held else ()
    known = {b.id: b for b in sent if b.is_live and not b.is_left_out}
    fresh, missed, excluded, left = (
        list[_Candidate](),
        list[_Candidate](),
        list[_Candidate](),
        budget - before,
    )
    if ranked and not held:  # the frame around the lines
        first = ranked[0].bullet
        left -= request.count(render_bullets([first])) - request.count(line(first))
    for candidate in (candidate for candidate in ranked if candidate.bullet.id not in known):
        bullet = candidate.bullet
        if candidate.reason and bullet.state != "pinned":
            excluded.append(candidate)
            continue
        tokens = request.count(line(bullet)) if len(bullet.content.split()) + 2 <= left else 0
        if len(known) + len(fresh) >= request.most:
            missed.append(replace(candidate, reason=f"{_FULL}: the limit is {request.most}"))
        elif not 0 < tokens <= left:
            missed.append(
                replace(candidate, tokens=tokens, reason=f"{_FULL}: {max(0, left)} tokens are left")
            )
        else:
            left -= tokens
            reason = candidate.reason or ("it matches" if candidate.match else "it fits the budget")
            fresh.append(replace(candidate, tokens=tokens, chosen=True, reason=reason))
    while True:  # the whole text may have more tokens than its lines
        new = sorted((c.bullet for c in fresh), key=lambda bullet: bullet.number)
        text = "".join(map(line, new)) if held else render_bullets(new)
        tokens = before + (request.count(text) if text else 0)
        if not fresh or tokens <= budget:
            break
        missed.append(
            replace(
                fresh.pop(), chosen=False, reason=f"{_FULL}: the text would have {tokens} tokens"
            )
        )
    held_ones = (
        _Candidate(b, reason=_HELD, chosen=True)
        for b in sorted(known.values(), key=lambda b: b.number)
    )
    kept = (*held_ones, *fresh, *[*missed, *excluded][:_FEW])
    return Selection(tokens, budget, kept, missed=tuple(missed))


def _format_line(bullet: Bullet) -> str:
    return f"- [{bullet.id}] {quote_content(bullet.prompt_text)}\n"
