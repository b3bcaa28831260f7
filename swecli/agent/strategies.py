"""Which strategies a turn's request carries: chosen for the query by what they are worth, less an ablation turn's.

An epoch's head holds those chosen for the query it began with. Within the epoch others come as notes, as long as all
that is told keeps to the budget; where it cannot, a new epoch begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from swecli.agent.surroundings import Surroundings
from swecli.config.settings import Settings
from swecli.context.notes import new_line, strategy_notes
from swecli.context.tokens import TokenCounter
from swecli.context.told import Told, told_now
from swecli.models.playbook import SessionPlaybook
from swecli.models.session import Session
from swecli.playbook.ablation import AblationPlan
from swecli.playbook.choosing import MISSED, Chosen, choose, for_head
from swecli.playbook.score import Standings
from swecli.playbook.select import Candidate, Held, rank
from swecli.playbook.standing import believed
from swecli.store.session_manager import SessionManager


@dataclass(frozen=True, slots=True)
class _Question:
    """A query, and what all choices for it rest on: worked out once."""

    session: Session
    query: str
    counter: TokenCounter
    standings: Standings
    new: frozenset[str]
    ranked: Sequence[Candidate]


@dataclass(slots=True)
class Strategies:
    """Chooses for one workspace. `gone` holds what was found stale and has not been told yet, with the reason."""

    sessions: SessionManager
    settings: Settings
    around: Surroundings | None = None
    gone: dict[str, str] = field(default_factory=dict)
    _looked: set[str] = field(default_factory=set)
    _seen: set[str] = field(default_factory=set)

    def choose(self, session: Session, query: str, counter: TokenCounter, anew: str = "") -> tuple[Chosen, str]:
        """Choose for the next turn; with it, why an epoch must begin for it ("" when it need not).

        The same query, playbook and conversation give the same choice. `anew` is a reason that is known already.
        """
        chosen, why = self._for_next(self._question(session, query, counter), anew)
        while stale := self._missing(session, chosen):
            self.gone |= stale
            bullets = session.get_playbook().bullets
            bullets |= {name: replace(bullets[name], stale=why) for name, why in stale.items()}
            chosen, why = self._for_next(self._question(session, query, counter), anew)
        return chosen, why

    def _question(self, session: Session, query: str, counter: TokenCounter) -> _Question:
        bullets = session.get_playbook().bullets
        standings = believed(self.sessions.playbook, session) if bullets else Standings()
        new = _just_taught(session)
        return _Question(session, query, counter, standings, new, rank(bullets.values(), query, standings, new))

    def _for_next(self, asked: _Question, anew: str) -> tuple[Chosen, str]:
        playbook, counter = asked.session.get_playbook(), asked.counter
        told = None if anew else told_now(asked.session, counter)
        if told is None:
            return self._for_head(asked), anew
        if why := _taken_back(playbook, told):
            return self._for_head(asked), why
        spent = told.tokens + _changes(playbook, told, counter)
        chosen = self._choose(asked, self.settings.playbook_tokens, Held(told.strategies, spent, new_line))
        if not (why := self._refused(chosen, spent)) and not chosen.selection.crowded_out:
            return chosen, ""
        head = self._for_head(asked)
        why = why or _cramped(asked.new, chosen, head)
        return (head, why) if why else (chosen, "")

    def _missing(self, session: Session, chosen: Chosen) -> dict[str, str]:
        """Those of the chosen ones that name something that was here and is gone now, with the reason.

        Only what is quickly looked up, but for the first time in a session: when the program starts, all of them are
        looked at behind the prompt. What never was here was taught nevertheless: that is not found out by this.
        """
        far = bool(self._looked) and session.id not in self._looked
        self._looked.add(session.id)
        here = self.around.here(session, far=far) if self.around else None
        if here is None:
            return {}
        stale: dict[str, str] = {}
        for bullet in chosen.bullets:
            if bullet.scope == "user" or bullet.state == "pinned" or bullet.stale:
                continue
            found = here.freshness(bullet)
            if found.fresh:
                self._seen.add(bullet.id)
            elif found.missing and (bullet.verified_at is not None or bullet.id in self._seen):
                stale[bullet.id] = found.missing
        return stale

    def for_head(self, session: Session, query: str, counter: TokenCounter) -> Chosen:
        """Choose for an epoch that begins now."""
        return self._for_head(self._question(session, query, counter))

    def _for_head(self, asked: _Question) -> Chosen:
        return for_head(partial(self._choose, asked), self.settings.playbook_tokens, asked.session.window)

    def warm(self, session: Session, counter: TokenCounter) -> None:
        """Read and weigh all of them once, so that the first choice costs what later ones do."""
        if session.get_playbook().bullets:
            self.choose(session, "", counter)

    def _choose(self, asked: _Question, budget: int, held: Held | None = None) -> Chosen:
        plan = AblationPlan.parse(self.settings.ablation)
        return choose(
            asked.session.get_playbook(),
            asked.query,
            standings=asked.standings,
            count=asked.counter.count,
            interaction=self.sessions.next_turn() if plan.every else 1,
            seed=seed_of(asked.session),
            plan=plan,
            budget=budget,
            most=self.settings.max_strategies,
            held=held,
            new=asked.new,
            ranked=asked.ranked,
        )

    def _refused(self, chosen: Chosen, spent: int) -> str:
        """Why what is told cannot stay, whatever comes to it."""
        if chosen.ablation.what:
            return "a turn that leaves strategies out"
        return "what is told of strategies has grown too long" if spent > self.settings.playbook_tokens else ""


def _taken_back(playbook: SessionPlaybook, told: Told) -> str:
    """That the user wants something told out of the prompt."""
    if playbook.off and told.strategies:
        return "the playbook is off"
    bullets = playbook.bullets
    gone = [name for name in told.strategies if name not in bullets or bullets[name].state == "disabled"]
    return f"{gone[0]} is not to be used any more" if gone else ""


def _changes(playbook: SessionPlaybook, told: Told, counter: TokenCounter) -> int:
    """The tokens of the notes that say what has become of what was told."""
    live = {bullet.id: bullet.content for bullet in playbook.live()}
    now = {name: live[name] for name in told.strategies if name in live}
    lines = strategy_notes(told.strategies, now, live)
    return counter.count("".join(f"- {line}\n" for line in lines)) if lines else 0


def _cramped(new: frozenset[str], chosen: Chosen, head: Chosen) -> str:
    """Why an epoch should begin for strategies that found no room in this one."""
    for candidate in chosen.selection.crowded_out:
        bullet = candidate.bullet
        if bullet.state == "pinned" and bullet in head.selection.chosen:
            return f"{bullet.id} is pinned and has no room else"
        if bullet.id in new:
            return f"{bullet.id} is new and has no room else"
    wanted = {c.bullet.id: c.score for c in head.selection.candidates if c.chosen}
    told = {bullet.id for bullet in chosen.selection.chosen}
    missed = sum(score for name, score in wanted.items() if name not in told)
    return "this query's strategies have no room else" if missed > MISSED * sum(wanted.values()) else ""


def _just_taught(session: Session) -> frozenset[str]:
    """What the user taught since the present epoch began: it stands in the next request whatever that is about."""
    began = next((row.created_at for row in reversed(session.context.reductions) if row.epoch is not None), None)
    if began is None:
        return frozenset()
    live = session.get_playbook().live()
    return frozenset(bullet.id for bullet in live if bullet.trust == "user" and bullet.created_at > began)


def seed_of(session: Session) -> int:
    """A number for the next turn of a session: recorded with the turn, so that its choice can be made again."""
    return sum(ord(letter) * place for place, letter in enumerate(session.id, 1)) + session.interactions
