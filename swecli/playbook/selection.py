"""Selection of bullets for a prompt within the token budget: all if they fit, else the user's own and the query's
matches. The head of an epoch contains those selected for its first query; later turns add others as notes until the
conversation's bullets exceed the budget, which requires a new epoch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from swecli.config.settings import Settings
from swecli.models.playbook import Bullet, quote_content, render_bullets
from swecli.models.session import Session
from swecli.playbook.ranking import BulletIndex
from swecli.values import dataclass

RECALLED = 400  # token budget of the `recall` tool
_LEAST_MASS = 0.15  # of the query's idf mass that the matched words must carry
_LEAST_SHARE = 0.3  # of the best match
_HEAD_SHARE = 2 / 3  # of the budget for a head if not all bullets fit; the rest is for later turns
_MISSED = 1 / 2  # of the score of a query's bullets that may be missing
_MAX_REJECTED = 5  # rejected candidates that are stored for `why`
_SENT_REASON = "the conversation contains it already"
_FULL = "it does not fit"

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class SelectionRequest:
    """The input of a selection: all `bullets` by id, oldest first, and their `index`. At most `limit` of them are
    selected, in at most `budget` tokens (either 0: playbook off). `new_ids` were added by the user in this epoch; with
    `whole_head`, no later turn shares the budget."""

    bullets: Mapping[str, Bullet]
    query: str
    count: Count
    index: BulletIndex
    budget: int = 1_200
    limit: int = 200
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
        *,
        for_files: Collection[str] = (),
    ) -> SelectionRequest:
        """Build the request for a session's next query. Of the bullets for some files only, those in `for_files` are
        considered: the turn touches such a file, or the conversation contains them."""
        bullets: Mapping[str, Bullet] = session.get_playbook().bullets
        other_files = {
            name for name, bullet in bullets.items() if bullet.paths and name not in for_files
        }
        if other_files:
            bullets = {name: bullets[name] for name in bullets if name not in other_files}
        window = session.window
        # bullets that the user added in this epoch are selected without matching the query
        epochs = [reduction for reduction in session.context.reductions if reduction.epoch]
        began = epochs[-1].created_at if epochs else None
        added = [
            bullet
            for bullet in bullets.values()
            if bullet.trust == "user" and began and bullet.created_at > began
        ]
        return cls(
            bullets=bullets,
            query=query,
            count=count,
            index=index,
            budget=settings.playbook_tokens,
            limit=settings.max_strategies,
            new_ids=frozenset(bullet.id for bullet in added if not _exclusion_reason(bullet)),
            whole_head=window.mode == "fixed" and not window.slack,
        )

    def select(self, sent_bullets: SentBullets | None = None) -> Selection:
        """Select deterministically within the budget: with `sent_bullets`, further notes for the conversation; without
        it, or if `reopen` is set, the head of an epoch."""
        ranked, fits = _rank(self)
        selection = (
            _extend(self, ranked, fits, sent_bullets)
            if sent_bullets
            else _select_for_head(self, ranked, fits)
        )
        return replace(selection, more=not fits)

    def recall(self) -> Selection:
        """Select the matching bullets alone."""
        return _fill(self, [c for c in _search(self) if not c.reason], self.budget)


@dataclass(frozen=True, slots=True)
class SentBullets:
    """The ids of the bullets that the conversation contains, the `tokens` of the budget they use, and `format_line`,
    which formats a further one as the note that adds it."""

    ids: Collection[str]
    tokens: int
    format_line: Callable[[Bullet], str]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A bullet with its BM25 score for the query (`match`, 0 if all bullets fit), the tokens of its line, and the
    `reason` of the decision as a clause ("it is pinned")."""

    bullet: Bullet
    match: float = 0.0
    reason: str = ""
    tokens: int = 0
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of at most `budget` tokens. `candidates` are the chosen and the best rejected ones; `more`: others
    can be recalled; `reopen` is why a new epoch is required, or ""."""

    tokens: int
    budget: int
    candidates: tuple[_Candidate, ...]
    more: bool = False
    reopen: str = ""
    missed: tuple[_Candidate, ...] = field(default=(), repr=False)

    @property
    def bullets(self) -> tuple[Bullet, ...]:
        """The selected bullets and those of the conversation."""
        return tuple(candidate.bullet for candidate in self.candidates if candidate.is_chosen)

    def to_json(self) -> dict[str, Any]:
        """Return the selection as JSON values, rounded to four places."""
        rows = [
            [c.bullet.id, c.is_chosen, round(c.match, 4), c.tokens, c.reason]
            for c in self.candidates
        ]
        return {"tokens": self.tokens, "budget": self.budget, "chosen": rows, "more": self.more}


def _rank(request: SelectionRequest) -> tuple[list[_Candidate], bool]:
    """Return the candidates, best first, and whether all that may be shown fit."""
    if not (request.budget and request.limit):
        return [], True
    everything = _fit_all(request)
    if everything is not None:
        return everything, True
    # the user's own, which need not match the query
    general = [
        bullet
        for bullet in request.bullets.values()
        if bullet.scope == "user"
        or bullet.kind == "preference"
        or bullet.state == "pinned"
        or bullet.id in request.new_ids
    ]
    unmatched = [
        _Candidate(bullet, reason="it is pinned" if bullet.state == "pinned" else "")
        for bullet in general
        if not _exclusion_reason(bullet)
    ]
    unmatched.sort(
        key=lambda c: (
            c.bullet.state != "pinned",
            c.bullet.id not in request.new_ids,
            -c.bullet.number,
        )
    )
    own_ids = {candidate.bullet.id for candidate in unmatched}
    return [*unmatched, *(c for c in _search(request) if c.bullet.id not in own_ids)], False


def _fit_all(request: SelectionRequest) -> list[_Candidate] | None:
    """Return every bullet, those that may be shown first; None if they exceed the budget."""
    allowed = list[_Candidate]()
    excluded = list[_Candidate]()
    tokens_left = request.budget
    for bullet in request.bullets.values():
        reason = _exclusion_reason(bullet)
        if reason:
            excluded.append(_Candidate(bullet, reason=reason))
            continue
        allowed.append(_Candidate(bullet))
        tokens_left -= len(bullet.content.split()) + 2  # a lower bound of its tokens
        if tokens_left < 0:
            return None
    text = render_bullets(candidate.bullet for candidate in allowed)
    if len(allowed) > request.limit or (text and request.count(text) > request.budget):
        return None
    return [*allowed, *excluded]


def _search(request: SelectionRequest) -> list[_Candidate]:
    """Return the matching bullets, best first."""
    request.index.update(request.bullets)
    matches = request.index.search(request.query, _LEAST_MASS)
    least = _LEAST_SHARE * max(matches.values(), default=0.0)
    pairs = ((request.bullets[name], match) for name, match in matches.items() if match >= least)
    ranked = [_Candidate(bullet, match, _exclusion_reason(bullet)) for bullet, match in pairs]
    ranked.sort(key=lambda c: (-c.match, -c.bullet.number))
    return ranked


def _exclusion_reason(bullet: Bullet) -> str:
    """Return why a bullet may not be shown, or ""."""
    if bullet.state == "pinned":
        return ""
    if not bullet.is_live:
        return f"it is {bullet.state}"
    if bullet.is_left_out:
        return f"it is stale: {bullet.stale}"
    return ""


def _select_for_head(
    request: SelectionRequest, ranked: Sequence[_Candidate], fits: bool
) -> Selection:
    """Select for a head: all bullets if they fit, else its share of the budget, unless that omits a pinned bullet."""
    whole = _fill(request, ranked, request.budget)
    if fits or request.whole_head or not whole.missed:
        return whole
    share = _fill(request, ranked, int(request.budget * _HEAD_SHARE))
    return whole if any(candidate.bullet.state == "pinned" for candidate in share.missed) else share


def _extend(
    request: SelectionRequest, ranked: Sequence[_Candidate], fits: bool, sent_bullets: SentBullets
) -> Selection:
    """Select further notes for the conversation, or a head if a new epoch is required."""
    notes = _fill(request, ranked, request.budget, sent_bullets)
    reason = _outdated_reason(request, sent_bullets)
    if not reason and not notes.missed:
        return notes
    head = _select_for_head(request, ranked, fits)
    reason = reason or _crowding_reason(request.new_ids, notes, head)
    return replace(head, reopen=reason) if reason else notes


def _outdated_reason(request: SelectionRequest, sent_bullets: SentBullets) -> str:
    """Return why the bullets that were sent require a new epoch, or ""."""
    if sent_bullets.ids and not (request.budget and request.limit):
        return "the playbook is off"
    for name in sent_bullets.ids:
        bullet = request.bullets.get(name)
        if bullet is None or bullet.state == "disabled":
            return f"{name} was disabled or removed"
    return (
        "the notes on strategies exceed their budget"
        if sent_bullets.tokens > request.budget
        else ""
    )


def _crowding_reason(new_ids: Collection[str], notes: Selection, head: Selection) -> str:
    """Return why the omitted bullets require a new epoch, or ""."""
    for bullet in (candidate.bullet for candidate in notes.missed):
        if bullet.state == "pinned" and bullet in head.bullets:
            return f"{bullet.id} is pinned and does not fit otherwise"
        if bullet.id in new_ids:
            return f"{bullet.id} is new and does not fit otherwise"
    chosen_candidates = [candidate for candidate in head.candidates if candidate.is_chosen]
    lost_match = sum(
        candidate.match for candidate in chosen_candidates if candidate.bullet not in notes.bullets
    )
    is_much = lost_match > _MISSED * sum(candidate.match for candidate in chosen_candidates)
    return "this query's strategies do not fit otherwise" if is_much else ""


def _fill(
    request: SelectionRequest,
    ranked: Sequence[_Candidate],
    budget: int,
    sent_bullets: SentBullets | None = None,
) -> Selection:
    """Choose candidates in their order as long as they fit, beside the `sent_bullets`."""
    sent_bullets = sent_bullets or SentBullets((), 0, _format_line)
    present = [request.bullets[name] for name in sent_bullets.ids if name in request.bullets]
    present = [bullet for bullet in present if bullet.is_live and not bullet.is_left_out]
    present_ids = {bullet.id for bullet in present}
    added = list[_Candidate]()
    missed = list[_Candidate]()
    excluded = list[_Candidate]()
    tokens_left = budget - sent_bullets.tokens
    is_head = sent_bullets.format_line is _format_line
    if ranked and is_head:  # the frame around the lines
        first = ranked[0].bullet
        tokens_left -= request.count(render_bullets([first])) - request.count(_format_line(first))
    for candidate in (candidate for candidate in ranked if candidate.bullet.id not in present_ids):
        bullet = candidate.bullet
        if candidate.reason and bullet.state != "pinned":
            excluded.append(candidate)
            continue
        may_fit = len(bullet.content.split()) + 2 <= tokens_left
        tokens = request.count(sent_bullets.format_line(bullet)) if may_fit else 0
        if len(present_ids) + len(added) >= request.limit:
            missed.append(replace(candidate, reason=f"{_FULL}: the limit is {request.limit}"))
        elif not 0 < tokens <= tokens_left:
            reason = f"{_FULL}: {max(0, tokens_left)} tokens are left"
            missed.append(replace(candidate, tokens=tokens, reason=reason))
        else:
            tokens_left -= tokens
            reason = candidate.reason or ("it matches" if candidate.match else "it fits the budget")
            added.append(replace(candidate, tokens=tokens, is_chosen=True, reason=reason))
    while True:  # the whole text may have more tokens than its lines
        new = sorted((candidate.bullet for candidate in added), key=lambda bullet: bullet.number)
        text = render_bullets(new) if is_head else "".join(map(sent_bullets.format_line, new))
        tokens = sent_bullets.tokens + (request.count(text) if text else 0)
        if not added or tokens <= budget:
            break
        reason = f"{_FULL}: the text would have {tokens} tokens"
        missed.append(replace(added.pop(), is_chosen=False, reason=reason))
    present.sort(key=lambda bullet: bullet.number)
    candidates = (
        *(_Candidate(bullet, reason=_SENT_REASON, is_chosen=True) for bullet in present),
        *added,
        *[*missed, *excluded][:_MAX_REJECTED],
    )
    return Selection(tokens, budget, candidates, missed=tuple(missed))


def _format_line(bullet: Bullet) -> str:
    return f"- [{bullet.id}] {quote_content(bullet.prompt_text)}\n"
