"""Closing the loop: after a turn, reflect on it, apply what was learned, and say so, also when it failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from swecli.agent.reflecting import question_tokens, worst_cost
from swecli.agent.setting_aside import set_aside
from swecli.agent.surroundings import Surroundings, look_around
from swecli.agent.telling import LearningEvent, price, still_possible, told_of
from swecli.llm.base import ChatModel
from swecli.models.errors import BadInput, SwecliError
from swecli.models.events import PlaybookUpdated, ReflectionFailed
from swecli.models.model_io import RequestRecord, Usage
from swecli.models.playbook import AppliedDelta, Delta, Op
from swecli.models.session import Session
from swecli.playbook.budget import REFLECTING, Limits, refusal
from swecli.playbook.counted import tags_of, taken_of
from swecli.playbook.curator import Curator
from swecli.playbook.describe import lines_of
from swecli.playbook.digest import Mark, TurnDigest, digest_turn
from swecli.playbook.learn import learn, worth_asking
from swecli.playbook.model_reflector import ModelReflection
from swecli.playbook.outcome import topic, verdict_on_previous, verdict_on_turn
from swecli.playbook.provenance import told_earlier
from swecli.playbook.redact import redact
from swecli.playbook.reflector import ExecutionReflector
from swecli.store.playbook_limits import FREE, room
from swecli.store.records import Draft
from swecli.store.session_manager import SessionManager

TOLD_BACK = 20  # turns in which it is looked up what told the assistant to run a command
AT_ONCE = 20  # turns of other sessions that are caught up with when one begins


def _today() -> datetime:
    """When the user's day began."""
    return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0).astimezone(UTC)


class Learner:
    """Reflects on stored turns. `model` is asked only where the rules saw friction; None leaves it at the rules.

    `limits` bound what the model may take; `day` says when the day began that its daily part counts from. `around`
    tells what strategies may name and need not say; without it nothing is looked up.
    """

    def __init__(
        self,
        sessions: SessionManager,
        template: str,
        model: ChatModel | None,
        enabled: bool = True,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        day: Callable[[], datetime] = _today,
        around: Surroundings | None = None,
    ) -> None:
        self.sessions, self.template, self.model, self.enabled = sessions, template, model, enabled
        self.limits, self._day, self._around = limits, day, around
        self._told: set[str] = set()

    async def learn(self, interaction: int | None = None, *, rules_only: bool = False) -> list[LearningEvent]:
        """Reflect on one turn of the current session (None: the newest). Nothing when there was nothing to learn.

        The rules' part is applied whatever becomes of the model's. With `rules_only` a turn that a model should look
        at stays in the queue for the next start, as does one for which there is no budget now. A reflection that a
        program made and did not live to apply is applied, and nobody is asked again. Cancellable: then the turn
        stays in the queue, and what was spent is recorded.
        """
        session = self.sessions.current_session
        if not self.enabled or session is None or not session.interactions:
            return []
        number, held = interaction or session.interactions, ""
        try:
            draft = self.sessions.playbook.draft(session.id, number)
            if draft is None:
                digest = self._digest(session, number)
                wanted = self._wanted(digest, session)
                held = self._held(digest, session) if wanted and not rules_only else ""
                self._note(digest, session)
                draft = await self._reflect(
                    digest, session, self.model if wanted and not (rules_only or held) else None
                )
                return self._conclude(session, draft, held, final=not (held or (wanted and rules_only)))
            return self._conclude(session, draft)
        except SwecliError as error:
            return [ReflectionFailed(number, str(error), kept=True)]

    async def catch_up(self) -> list[LearningEvent]:
        """When a session begins: see which strategies are stale, and reflect on what earlier runs left in the queue."""
        session = self.sessions.current_session
        if session is None:
            return []
        stale = await self.look_around()
        if not self.enabled:
            return stale
        waiting = [p.interaction for p in self.sessions.playbook.pending(session.id)]
        own = [event for number in waiting for event in await self.learn(number)]
        return [*stale, *own, *await self._left_behind(session)]

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
        self.sessions.mark(number, "good" if good else "bad", why)
        digest = self._digest(session, number, mark="good" if good else "bad", why=why)
        self._note(digest, session)
        return self._conclude(session, await self._reflect(digest, session, None), final=False)

    async def _left_behind(self, session: Session) -> list[LearningEvent]:
        """Reflect on what waits in this project's other sessions, which no program has open; not on all at once."""
        found = self.sessions.playbook.left_behind(session)[:AT_ONCE]
        if not found:
            return []
        others = SessionManager(self.sessions.database)
        learner = Learner(others, self.template, self.model, limits=self.limits, day=self._day, around=self._around)
        learner._told = self._told
        events: list[LearningEvent] = []
        for waiting in found:
            others.resume(waiting.session_id, "")
            events += await learner.learn(waiting.interaction)
        session.update_playbook(self.sessions.playbook.load(session))
        return events

    # Before

    def _wanted(self, digest: TurnDigest, session: Session) -> bool:
        if self.model is None:
            return False
        by_rules = ExecutionReflector().reflect(digest, session.playbook)
        return worth_asking(digest, by_rules, self.model, "friction")

    def _held(self, digest: TurnDigest, session: Session) -> str:
        """Why there is no budget for asking the model about this turn now; "" when there is."""
        assert self.model is not None
        tokens = question_tokens(digest, session.playbook, self.template)
        store, worst = self.sessions.playbook, None
        if self.limits.usd_per_day is not None:
            worst = worst_cost(tokens, self.model.name)
        return refusal(self.limits, self.sessions.totals(), store.spent(self._day()), tokens, worst)

    def _digest(self, session: Session, number: int, mark: Mark | None = None, why: str = "") -> TurnDigest:
        """The turn with what is known of the one before it; what was counted already is not counted again."""
        rows = self.sessions.playbook.made_of(session, number - 1, number + 1)
        deltas = [row.delta for row in rows if not row.undone]
        before = self._digest_one(session, number - 1, deltas).as_previous() if number > 1 else None
        digest = replace(self._digest_one(session, number, deltas), previous=before, mark=mark, why=redact(why))
        if not any(call.command for call in digest.calls):
            return digest
        first = max(1, number - TOLD_BACK)
        self.sessions.load_back_to(first)
        earlier = [message for message in session.messages if first <= message.interaction < number - 1]
        return replace(digest, told=told_earlier(digest, earlier))

    def _digest_one(self, session: Session, number: int, deltas: list[Delta]) -> TurnDigest:
        self.sessions.load_back_to(number)
        info = self.sessions.interaction_info(number)
        if info is None:
            raise BadInput(f"There is no turn T{number} in this session.")
        return digest_turn(
            [message for message in session.messages if message.interaction == number],
            info.shown,
            session_id=session.id,
            outcome=info.status,
            tagged=tags_of(deltas, session.id, number),
            taken=taken_of(deltas, session.id, number),
        )

    def _note(self, digest: TurnDigest, session: Session) -> None:
        """Keep how the turn went, what it was about, and what it named; noted twice it is the same."""
        turns, number = self.sessions.playbook.turns, digest.interaction
        known = {"topic": topic(digest, session.playbook), "contradicted": digest.contradicted}
        turns.note(session.id, number, unknown=digest.unknown, **known)
        verdict = verdict_on_turn(digest)
        turns.judge(session.id, number, verdict.good, verdict.weight, verdict.signal)
        if digest.previous is not None and digest.mark is None:
            verdict = verdict_on_previous(digest)
            turns.judge(session.id, number - 1, verdict.good, verdict.weight, verdict.signal)

    # Reflecting

    async def _reflect(self, digest: TurnDigest, session: Session, model: ChatModel | None) -> Draft:
        """What the turn teaches; where a model was asked, it is kept before anything else is done with it."""
        earlier = [
            op
            for row in self.sessions.playbook.made_of(session, digest.interaction, digest.interaction)
            if not (row.undone or row.delta.author in FREE)
            for op in row.delta.ops
        ]
        learned = await learn(
            digest,
            session.playbook,
            model=model,
            template=self.template,
            reflect_model_when="friction",
            curator=self._curator(earlier, digest, session),
            spent=lambda took: self._cancelled(session, digest.interaction, took),
        )
        asked = model is not None and learned.requests > 0
        draft = Draft(
            session.id,
            digest.interaction,
            learned.delta,
            learned.lines,
            learned.refused,
            model.name if model is not None and asked else "rules",
            learned.failure,
            learned.usage,
            learned.cost,
            learned.requests,
            learned.errors,
        )
        if asked:
            self._bill(draft.author, draft.interaction, learned.usage, learned.cost)
            self.sessions.playbook.keep_draft(draft)
        return draft

    def _curator(self, earlier: Sequence[Op], digest: TurnDigest, session: Session) -> Curator:
        """One that knows what the turn taught already, where it is, and what the prompt says anyway."""
        around = self._around
        if around is None:
            return Curator(*room(earlier))
        return Curator(*room(earlier), around.instructions(), around.here(session, digest))

    def _bill(self, name: str, number: int, usage: Usage, cost: float | None) -> None:
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

    def _conclude(self, session: Session, draft: Draft, held: str = "", *, final: bool = True) -> list[LearningEvent]:
        """Apply it and say what came of it. What cannot be applied is thrown away, and said."""
        draft = still_possible(draft, session)
        try:
            applied = self.sessions.playbook.conclude(session, draft, final=final)
        except BadInput as error:
            self.sessions.playbook.forget_draft(session.id, draft.interaction)
            failed = replace(draft, delta=None, failure=f"nothing of it was applied: {error}")
            applied, draft = self.sessions.playbook.conclude(session, failed, final=final), failed
        told = [*told_of(draft, applied), *self._aside(session, draft, applied)]
        if draft.requests and draft.failure and not told:
            draft = replace(draft, failure=f"{draft.failure} ({price(draft.cost)})")
        failure = draft.failure or (f"the model was not asked: {held}" if held and held not in self._told else "")
        self._told.add(held)
        if failure:
            kept = not self.sessions.playbook.reflected(session.id, draft.interaction)
            return [*told, ReflectionFailed(draft.interaction, failure, kept)]
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
