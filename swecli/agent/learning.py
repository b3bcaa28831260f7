"""Closing the loop: after a turn, reflect on it, apply what was learned, and say so, also when it failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from swecli.agent.digesting import counted_anew, digest_of, note_turn
from swecli.agent.marking import marked as mark_of
from swecli.agent.reflecting import day_began, question_tokens, worst_cost
from swecli.agent.setting_aside import set_aside
from swecli.agent.surroundings import Surroundings, look_around
from swecli.agent.telling import LearningEvent, drafted, price, still_possible, told_of
from swecli.llm.base import ChatModel
from swecli.llm.prices import cost_of_model
from swecli.models.errors import BadInput, SwecliError
from swecli.models.events import PlaybookUpdated, ReflectionFailed
from swecli.models.model_io import RequestRecord, Usage
from swecli.models.playbook import AppliedDelta, SessionPlaybook
from swecli.models.session import Session
from swecli.playbook.budget import REFLECTING, Limits, refusal
from swecli.playbook.curator import Curator
from swecli.playbook.describe import lines_of
from swecli.playbook.digest import TurnDigest
from swecli.playbook.learn import Learned, learn, learn_by_rules, worth_asking
from swecli.playbook.model_reflector import ModelReflection
from swecli.playbook.reflector import ExecutionReflector
from swecli.store.playbook_limits import FREE, room
from swecli.store.records import Draft, MarkedTurn, PendingReflection
from swecli.store.session_manager import SessionManager

AT_ONCE = 20  # turns of other sessions that are caught up with when one begins


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn whose rules' part is applied. `more` says that a model is to look at it too: see `Learner.finish`."""

    interaction: int
    events: tuple[LearningEvent, ...] = ()
    more: bool = False


class Learner:
    """Reflects on stored turns. `model` is asked only where the rules saw friction; None leaves it at the rules.

    `missing` is why there is no model now though the settings want one: turns for it stay in the queue. `limits` bound
    what the model may take; `day` says when the day began that its daily part counts from. `around` tells what
    strategies may name and need not say; without it nothing is looked up.
    """

    def __init__(
        self,
        sessions: SessionManager,
        template: str,
        model: ChatModel | None,
        enabled: bool = True,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        day: Callable[[], datetime] = day_began,
        around: Surroundings | None = None,
    ) -> None:
        self.sessions, self.template, self.model, self.enabled = sessions, template, model, enabled
        self.limits, self._day, self._around = limits, day, around
        self.missing = ""
        self._told: set[str] = set()

    async def learn(
        self, interaction: int | None = None, *, rules_only: bool = False, asked: bool = False
    ) -> list[LearningEvent]:
        """Reflect on one turn of the current session (None: the newest). Nothing when there was nothing to learn.

        With `rules_only` a turn that a model should look at stays in the queue for the next start. With `asked` the
        user wants the model's view, also where nothing went wrong.
        """
        begun = self.begin(interaction, asked=asked)
        if rules_only or not begun.more:
            return list(begun.events)
        return [*begun.events, *await self.finish(begun.interaction, asked=asked)]

    def begin(self, interaction: int | None = None, *, asked: bool = False) -> Begun:
        """Apply what the rules see in a turn, at once: it is to be in the very next request, however slow a model is.

        What is applied already is not applied again.
        """
        session = self.sessions.current_session
        if not self.enabled or session is None or not session.interactions:
            return Begun(0)
        number = interaction or session.interactions
        try:
            self.sessions.playbook.renew(session)
            if self.sessions.playbook.draft(session.id, number) is not None:
                return Begun(number, more=True)
            digest = digest_of(self.sessions, session, number)
            more = self._wanted(digest, session, asked)
            note_turn(self.sessions, session, digest)
            found = learn_by_rules(digest, session.playbook, curator=self._curator(digest, session), more=more)
            if more and found == Learned():
                return Begun(number, more=True)
            told = self._conclude(session, drafted(digest, found), final=not more)
            return Begun(number, tuple(told), more)
        except SwecliError as error:
            return Begun(number, (ReflectionFailed(number, str(error), kept=True),))

    async def finish(self, interaction: int, *, asked: bool = False) -> list[LearningEvent]:
        """Ask the model about a turn whose rules' part is applied, and apply what comes of it.

        A turn for which there is no budget or no model now stays in the queue. A reflection that a program made and
        did not live to apply is applied, and nobody is asked again. Cancellable: then the turn stays in the queue, and
        what was spent is recorded.
        """
        session = self.sessions.current_session
        if session is None:
            return []
        try:
            self.sessions.playbook.renew(session)
            draft = self.sessions.playbook.draft(session.id, interaction)
            if draft is None:
                digest = digest_of(self.sessions, session, interaction)
                wanted = self._wanted(digest, session, asked)
                if wanted and (held := self._held(digest, session)):
                    return self._not_asked(interaction, held)
                draft = await self._reflect(digest, session, self.model if wanted else None, asked)
            return self._conclude(session, draft)
        except SwecliError as error:
            return [ReflectionFailed(interaction, str(error), kept=True)]

    async def catch_up(self) -> list[LearningEvent]:
        """When a session begins: see which strategies are stale, and reflect on what earlier runs left in the queue."""
        waiting = self.waiting()
        events = await self.look_around()
        for item in waiting:
            events += await self.take_up(item)
        return events

    def waiting(self) -> list[PendingReflection]:
        """The queue, the newest turn first: of this session, then of this project's others that no program has open."""
        session = self.sessions.current_session
        if session is None or not self.enabled:
            return []
        own = self.sessions.playbook.pending(session.id)[::-1]
        return [*own, *self.sessions.playbook.left_behind(session)[:AT_ONCE]]

    async def take_up(self, waiting: PendingReflection) -> list[LearningEvent]:
        """Reflect on a turn of the queue, unless that was done meanwhile."""
        session = self.sessions.current_session
        if session is None or waiting not in self.sessions.playbook.pending(waiting.session_id):
            return []
        if waiting.session_id == session.id:
            return await self.learn(waiting.interaction)
        others = SessionManager(self.sessions.database)
        others.resume(waiting.session_id, "")
        learner = Learner(others, self.template, self.model, limits=self.limits, day=self._day, around=self._around)
        learner._told, learner.missing = self._told, self.missing
        events = await learner.learn(waiting.interaction)
        session.update_playbook(self.sessions.playbook.load(session))
        return events

    async def look_around(self) -> list[LearningEvent]:
        """See which strategies name something that is gone; those that did not before are said. Asks no model."""
        session = self.sessions.current_session
        if session is None or self._around is None:
            return []
        found = await look_around(self.sessions, session, self._around)
        return [found] if found else []

    async def mark(self, good: bool, why: str = "") -> list[LearningEvent]:
        """The user's word on the last turn: counts at once, asks no model."""
        session = self.sessions.current_session
        if session is None or not session.interactions:
            return []
        number = session.interactions
        self.sessions.playbook.renew(session)
        digest = digest_of(self.sessions, session, number, mark="good" if good else "bad", why=why)
        note_turn(self.sessions, session, digest)
        found = learn_by_rules(digest, session.playbook, curator=self._curator(digest, session))
        info = self.sessions.interaction_info(number)
        assert info is not None, "its digest was made of it"
        rows = self.sessions.playbook.made_of(session, number, number)
        made = [row.delta for row in reversed(rows) if not row.undone]
        draft, marked = mark_of(drafted(digest, found), digest, info, made, session.playbook)
        return self._conclude(session, draft, final=False, marked=marked)

    # Before

    def _wanted(self, digest: TurnDigest, session: Session, asked: bool) -> bool:
        """Whether a model is to look at the turn, now or when there is one again."""
        if self.model is None and not self.missing:
            return False
        by_rules = ExecutionReflector().reflect(digest, session.playbook)
        return worth_asking(digest, by_rules, self.model, "asked" if asked else "friction")

    def _held(self, digest: TurnDigest, session: Session) -> str:
        """Why the model cannot be asked about this turn now; "" when it can."""
        if self.model is None:
            return self.missing
        tokens = question_tokens(digest, session.playbook, self.template)
        store, worst = self.sessions.playbook, None
        if self.limits.usd_per_day is not None:
            worst = worst_cost(tokens, self.model.name)
        return refusal(self.limits, self.sessions.totals(), store.spent(self._day()), tokens, worst)

    def _not_asked(self, number: int, held: str) -> list[LearningEvent]:
        """Say it, once."""
        if held in self._told:
            return []
        self.said(held)
        return [ReflectionFailed(number, f"the model was not asked: {held}", kept=True)]

    def said(self, held: str) -> None:
        """Do not say again why no model is asked: the user knows."""
        self._told.add(held)

    def _curator(self, digest: TurnDigest, session: Session) -> Curator:
        """One that knows what the turn taught, what the user does not want, where it is, and what the prompt says."""
        earlier = [
            op
            for row in self.sessions.playbook.made_of(session, digest.interaction, digest.interaction)
            if not (row.undone or row.delta.author in FREE)
            for op in row.delta.ops
        ]
        around, removed = self._around, self.sessions.playbook.history.removed(session)
        if around is None:
            return Curator(*room(earlier), removed=removed)
        return Curator(*room(earlier), around.instructions(), around.here(session, digest), removed)

    # Reflecting

    async def _reflect(self, digest: TurnDigest, session: Session, model: ChatModel | None, asked: bool) -> Draft:
        """What the rules left to say and what the model says; where one was asked, that is kept before all else."""
        learned = await learn(
            digest,
            session.playbook,
            model=model,
            template=self.template,
            reflect_model_when="asked" if asked else "friction",
            curator=self._curator(digest, session),
            spent=lambda took: self._cancelled(session, digest.interaction, took),
            after_rules=True,
            now=lambda: self._now(digest, session),
        )
        draft = drafted(digest, learned, model)
        if learned.requests:
            self._bill(draft.author, draft.interaction, learned.usage, learned.cost)
            self.sessions.playbook.keep_draft(draft)
        return draft

    def _now(self, digest: TurnDigest, session: Session) -> tuple[TurnDigest, SessionPlaybook]:
        """What was counted, and what there is, after a model has thought for a while."""
        self.sessions.playbook.renew(session)
        return counted_anew(digest, self.sessions, session), session.playbook

    def _bill(self, name: str, number: int, usage: Usage, cost: float | None) -> None:
        """Keep what was spent; where nobody said what the tokens cost, what the table of prices says of the model."""
        cost = cost_of_model(usage, name) if cost is None else cost
        self.sessions.record_request(RequestRecord(name, REFLECTING, number, 0, usage, cost, 0))

    def _cancelled(self, session: Session, number: int, took: ModelReflection) -> None:
        """What was spent stays spent; the turn stays in the queue."""
        name = self.model.name if self.model else ""
        if took.attempts:
            self._bill(name, number, took.usage, took.cost)
        self.sessions.playbook.record_reflection(
            session.id, number, status="cancelled", author=name, usage=took.usage, cost=took.cost, detail="cancelled"
        )

    # After

    def _conclude(
        self, session: Session, draft: Draft, *, final: bool = True, marked: MarkedTurn | None = None
    ) -> list[LearningEvent]:
        """Apply it and say what came of it. What cannot be applied is thrown away, and said."""
        store = self.sessions.playbook
        store.renew(session)
        draft = still_possible(draft, session)
        try:
            applied = store.conclude(session, draft, final=final, marked=marked)
        except BadInput as error:
            store.forget_draft(session.id, draft.interaction)
            draft = replace(draft, delta=None, lines=(), failure=f"nothing of it was applied: {error}")
            applied = store.conclude(session, draft, final=final)
        told = [*told_of(draft, applied), *self._aside(session, draft, applied)]
        if draft.cost != 0 and draft.failure and not told:
            draft = replace(draft, failure=f"{draft.failure} ({price(draft.cost)})")
        if draft.failure:
            kept = not self.sessions.playbook.reflected(session.id, draft.interaction)
            return [*told, ReflectionFailed(draft.interaction, draft.failure, kept)]
        return told

    def _aside(self, session: Session, draft: Draft, applied: AppliedDelta | None) -> list[LearningEvent]:
        """What is set aside now that a strategy was found harmful once more."""
        if applied is None or not any(op.tag == "harmful" for op in applied.delta.ops):
            return []
        aside = set_aside(self.sessions, session, draft.interaction)
        if aside is None:
            return []
        lines = (*lines_of(aside.delta), "/playbook review asks what is to become of it")
        return [PlaybookUpdated(draft.interaction, aside.delta.id, lines)]
