"""Closing the loop: after a turn, reflect on it, apply what was learned, and say so, also when it failed."""

from __future__ import annotations

from dataclasses import replace

from swecli.llm.base import ChatModel
from swecli.models.errors import BadInput, SwecliError
from swecli.models.events import PlaybookUpdated, ReflectionFailed
from swecli.models.model_io import RequestRecord
from swecli.models.playbook import AppliedDelta, Delta
from swecli.models.session import Session
from swecli.playbook.counted import tags_of, taken_of
from swecli.playbook.digest import Mark, TurnDigest, digest_turn
from swecli.playbook.learn import Learned, learn, worth_asking
from swecli.playbook.redact import redact
from swecli.playbook.reflector import ExecutionReflector
from swecli.store.session_manager import SessionManager

LearningEvent = PlaybookUpdated | ReflectionFailed
LOOKED_BACK = 50  # deltas, to find what was counted for a turn before


class Learner:
    """Reflects on stored turns. `model` is asked only where the rules saw friction; None leaves it at the rules."""

    def __init__(self, sessions: SessionManager, template: str, model: ChatModel | None, enabled: bool = True) -> None:
        self.sessions, self.template, self.model, self.enabled = sessions, template, model, enabled

    async def learn(self, interaction: int | None = None, *, rules_only: bool = False) -> list[LearningEvent]:
        """Reflect on one turn of the current session (None: the newest). Nothing when there was nothing to learn.

        The rules' part is applied whatever becomes of the model's. With `rules_only` a turn that a model should look
        at stays in the queue for the next start.
        """
        session = self.sessions.current_session
        if not self.enabled or session is None or not session.interactions:
            return []
        number = interaction or session.interactions
        try:
            digest = self._digest(session, number)
            model = None if rules_only else self.model
            learned = await learn(digest, session.playbook, model=model, template=self.template)
            keep = rules_only and self._wants_model(digest, session)
            return self._apply(session, number, learned, keep=keep)
        except SwecliError as error:
            return [ReflectionFailed(number, str(error), kept=True)]

    async def catch_up(self) -> list[LearningEvent]:
        """Reflect on the turns of this session that earlier runs left in the queue."""
        session = self.sessions.current_session
        if session is None or not self.enabled:
            return []
        waiting = [p.interaction for p in self.sessions.playbook.pending(session.id)]
        return [event for number in waiting for event in await self.learn(number)]

    async def mark(self, good: bool, why: str = "") -> list[LearningEvent]:
        """The user's word on the last turn: counts at once, asks no model."""
        session = self.sessions.current_session
        if session is None or not session.interactions:
            return []
        number = session.interactions
        self.sessions.mark(number, "good" if good else "bad", why)
        digest = self._digest(session, number, mark="good" if good else "bad", why=why)
        learned = await learn(digest, session.playbook, model=None, template=self.template)
        return self._told(number, learned, self._change(session, learned))

    def _wants_model(self, digest: TurnDigest, session: Session) -> bool:
        if self.model is None:
            return False
        by_rules = ExecutionReflector().reflect(digest, session.playbook)
        return worth_asking(digest, by_rules, self.model, "friction")

    def _digest(self, session: Session, number: int, mark: Mark | None = None, why: str = "") -> TurnDigest:
        """The turn with what is known of the one before it; what was counted already is not counted again."""
        rows = self.sessions.playbook.log(session, LOOKED_BACK)
        deltas = [row.delta for row in rows if not row.undone]
        before = self._digest_one(session, number - 1, deltas).as_previous() if number > 1 else None
        return replace(self._digest_one(session, number, deltas), previous=before, mark=mark, why=redact(why))

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

    def _change(self, session: Session, learned: Learned) -> AppliedDelta | None:
        if learned.delta is None:
            return None
        applied = self.sessions.playbook.apply(learned.delta, session)
        return None if applied.undone else applied  # the user took this very change back before: so it stays

    def _apply(self, session: Session, number: int, learned: Learned, *, keep: bool) -> list[LearningEvent]:
        applied = self._change(session, learned)
        name = self.model.name if self.model else ""
        if learned.requests:
            self.sessions.record_request(RequestRecord(name, "reflect", number, 0, learned.usage, learned.cost, 0))
        if not keep:
            self.sessions.playbook.record_reflection(
                session.id,
                number,
                status="failed" if learned.failure else "done",
                author=name if learned.requests else "rules",
                usage=learned.usage,
                cost=learned.cost,
                detail=learned.failure or "; ".join(learned.lines),
            )
        told = self._told(number, learned, applied)
        if learned.failure:
            kept = not self.sessions.playbook.reflected(session.id, number)
            return [*told, ReflectionFailed(number, learned.failure, kept)]
        return told

    @staticmethod
    def _told(number: int, learned: Learned, applied: AppliedDelta | None) -> list[LearningEvent]:
        lines = learned.lines if applied is not None or learned.delta is None else ()
        if applied is None and not (lines or learned.refused or (learned.requests and not learned.failure)):
            return []
        ops = applied.delta.ops if applied else ()
        event = PlaybookUpdated(
            number,
            applied.delta.id if applied else "",
            lines,
            added=applied.added if applied else (),
            tagged=tuple(op.bullet_id for op in ops if op.op == "TAG"),
            removed=tuple(op.bullet_id for op in ops if op.op == "REMOVE"),
            refused=learned.refused,
            cost=learned.cost,
            tokens=learned.usage.total,
        )
        return [event]
