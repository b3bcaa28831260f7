"""Closing the loop: after a turn, reflect on it, apply what was learned, and say so, also when it failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from swecli.config.settings import Settings
from swecli.llm.base import ChatModel
from swecli.llm.price_table import cost_of_model
from swecli.models.errors import BadInput, SwecliError
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import RequestRecord, Usage
from swecli.models.playbook import AppliedDelta, SessionPlaybook
from swecli.models.session import Session
from swecli.playbook.describe import lines_of
from swecli.playbook.digest import TurnDigest
from swecli.playbook.learning.budget import REFLECTING, ReflectionBudget, refusal
from swecli.playbook.learning.curator import Curator
from swecli.playbook.learning.marks import marked as mark_of
from swecli.playbook.learning.quarantine import set_aside
from swecli.playbook.learning.question_cost import day_began, question_tokens, worst_cost
from swecli.playbook.learning.reflect_turn import Learned, learn, learn_by_rules, worth_asking
from swecli.playbook.learning.reflector_model import ModelReflection
from swecli.playbook.learning.reflector_rules import ExecutionReflector
from swecli.playbook.learning.reporting import LearningEvent, drafted, price, still_possible, told_of
from swecli.playbook.learning.stored_digest import counted_anew, digest_of, note_turn
from swecli.playbook.learning.workspace import Workspaces, look_around
from swecli.store.playbook_limits import FREE, room
from swecli.store.records import Draft, MarkedTurn, PendingReflection
from swecli.store.session_manager import SessionManager

AT_ONCE = 20  # turns of other sessions that are caught up with when one begins


@dataclass(frozen=True, slots=True)
class RulesPart:
    """A turn whose rules' part is applied. `needs_model` says that a model is to look at it too: see `reflect`."""

    interaction: int
    events: tuple[LearningEvent, ...] = ()
    needs_model: bool = False


@dataclass(frozen=True, slots=True)
class ReflectorModel:
    """Who reflects besides the rules, asked with `template`, where the rules saw friction; None leaves it at the rules.

    `missing` is why there is no model now though the settings want one: turns for it stay in the queue.
    """

    template: str
    model: ChatModel | None = None
    missing: str = ""


@dataclass
class LearningService:
    """The one door of learning: reflects on stored turns and applies what they teach.

    `budget` bounds what the model may take; `day` says when the day began that its daily part counts from.
    `workspaces` tell what strategies may name and need not say; without them nothing is looked up.
    """

    sessions: SessionManager
    reflector: ReflectorModel
    workspaces: Workspaces | None = None
    enabled: bool = True
    budget: ReflectionBudget = ReflectionBudget()  # noqa: RUF009 - frozen
    day: Callable[[], datetime] = day_began
    _reported: set[str] = field(default_factory=set)

    @classmethod
    def open(
        cls, sessions: SessionManager, settings: Settings, reflector: ReflectorModel, workspaces: Workspaces
    ) -> LearningService:
        """The service as the settings want it."""
        budget = ReflectionBudget(settings.reflect_percent, settings.reflect_usd_per_day)
        return cls(sessions, reflector, workspaces, settings.learn, budget)

    def use_reflector(self, reflector: ReflectorModel) -> None:
        """Let another model reflect from now on, or none."""
        self.reflector = reflector

    async def learn(self, interaction: int | None = None, *, asked: bool = False) -> list[LearningEvent]:
        """Reflect on one turn of the current session (None: the newest), by the rules and by the model. Nothing when
        there was nothing to learn. With `asked` the user wants the model's view, also where nothing went wrong."""
        part = self.after_turn(interaction, asked=asked)
        return [*part.events, *(await self.reflect(part.interaction, asked=asked) if part.needs_model else ())]

    def after_turn(self, interaction: int | None = None, *, asked: bool = False) -> RulesPart:
        """Apply what the rules see in a turn, at once: it is to be in the very next request, however slow a model is.

        What is applied already is not applied again.
        """
        session = self.sessions.current_session
        if not self.enabled or session is None or not session.interactions:
            return RulesPart(0)
        number = interaction or session.interactions
        try:
            self.sessions.playbook.renew(session)
            if self.sessions.playbook.draft(session.id, number) is not None:
                return RulesPart(number, needs_model=True)
            digest = digest_of(self.sessions, session, number)
            more = self._wanted(digest, session, asked)
            note_turn(self.sessions, session, digest)
            found = learn_by_rules(digest, session.playbook, curator=self._curator(digest, session), more=more)
            if more and found == Learned():
                return RulesPart(number, needs_model=True)
            told = self._conclude(session, drafted(digest, found), final=not more)
            return RulesPart(number, tuple(told), more)
        except SwecliError as error:
            return RulesPart(number, (ReflectionFailed(number, str(error), kept=True),))

    async def reflect(self, interaction: int, *, asked: bool = False) -> list[LearningEvent]:
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
                draft = await self._reflect(digest, session, self.reflector.model if wanted else None, asked)
            return self._conclude(session, draft)
        except SwecliError as error:
            return [ReflectionFailed(interaction, str(error), kept=True)]

    def pending(self) -> list[PendingReflection]:
        """The queue, the newest turn first: of this session, then of this project's others that no program has open."""
        session = self.sessions.current_session
        if session is None or not self.enabled:
            return []
        own = self.sessions.playbook.pending(session.id)[::-1]
        return [*own, *self.sessions.playbook.left_behind(session)[:AT_ONCE]]

    async def resume(self, pending: PendingReflection) -> list[LearningEvent]:
        """Reflect on a turn of the queue, unless that was done meanwhile."""
        session = self.sessions.current_session
        if session is None or pending not in self.sessions.playbook.pending(pending.session_id):
            return []
        if pending.session_id == session.id:
            return await self.learn(pending.interaction)
        others = SessionManager(self.sessions.database)
        others.resume(pending.session_id, "")
        events = await replace(self, sessions=others, enabled=True).learn(pending.interaction)
        session.update_playbook(self.sessions.playbook.load(session))
        return events

    async def check_anchors(self) -> list[LearningEvent]:
        """See which strategies name something that is gone; those that did not before are said. Asks no model."""
        session = self.sessions.current_session
        if session is None or self.workspaces is None:
            return []
        found = await look_around(self.sessions, session, self.workspaces)
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
        if self.reflector.model is None and not self.reflector.missing:
            return False
        by_rules = ExecutionReflector().reflect(digest, session.playbook)
        return worth_asking(digest, by_rules, self.reflector.model, "asked" if asked else "friction")

    def _held(self, digest: TurnDigest, session: Session) -> str:
        """Why the model cannot be asked about this turn now; "" when it can."""
        if self.reflector.model is None:
            return self.reflector.missing
        tokens = question_tokens(digest, session.playbook, self.reflector.template)
        store, worst = self.sessions.playbook, None
        if self.budget.usd_per_day is not None:
            worst = worst_cost(tokens, self.reflector.model.name)
        return refusal(self.budget, self.sessions.totals(), store.spent(self.day()), tokens, worst)

    def _not_asked(self, number: int, held: str) -> list[LearningEvent]:
        """Say it, once."""
        if held in self._reported:
            return []
        self.mark_reported(held)
        return [ReflectionFailed(number, f"the model was not asked: {held}", kept=True)]

    def mark_reported(self, held: str) -> None:
        """Do not say again why no model is asked: the user knows."""
        self._reported.add(held)

    def _curator(self, digest: TurnDigest, session: Session) -> Curator:
        """One that knows what the turn taught, what the user does not want, where it is, and what the prompt says."""
        earlier = [
            op
            for row in self.sessions.playbook.made_of(session, digest.interaction, digest.interaction)
            if not (row.undone or row.delta.author in FREE)
            for op in row.delta.ops
        ]
        around, removed = self.workspaces, self.sessions.playbook.history.removed(session)
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
            template=self.reflector.template,
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
        name = self.reflector.model.name if self.reflector.model else ""
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
