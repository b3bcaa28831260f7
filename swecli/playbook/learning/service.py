"""The one door of learning: reflects on stored turns, applies what they teach, and reports it, also when it failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from swecli.config.settings import Settings
from swecli.models.errors import BadInput, SwecliError
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import RequestRecord
from swecli.models.session import Session
from swecli.playbook.action import ActionContext, ActionResult
from swecli.playbook.describe import report
from swecli.playbook.learning.lessons import (
    InspectedTurn,
    inspect_turn,
    lessons_from_answer,
    lessons_from_mark,
    lessons_from_rules,
    load_digest,
    should_ask_model,
)
from swecli.playbook.learning.reflector_model import (
    REFLECTING,
    ReflectorCall,
    ReflectorModel,
    ask_reflector,
    budget_problem,
    build_question,
)
from swecli.playbook.workspace import Workspaces, check_anchors, check_new_anchors, stale_lines
from swecli.store.records import PendingReflection, TurnLessons
from swecli.store.session_manager import SessionManager

_MANY_PROPOSALS, _PROPOSALS = 3, "proposals"
_AT_ONCE = 20  # turns of other sessions that are caught up with when one begins


LearningEvent = PlaybookUpdated | ReflectionFailed


@dataclass(frozen=True, slots=True)
class RulesPart:
    """A turn whose rules' part is applied. `needs_model` says that a model is to look at it too: see `reflect`."""

    interaction: int
    events: tuple[LearningEvent, ...] = ()
    needs_model: bool = False


@dataclass
class LearningService:
    """Learning for one program. `workspaces` tell what strategies may name and need not say; without them nothing is
    looked up."""

    sessions: SessionManager
    reflector: ReflectorModel
    workspaces: Workspaces | None = None
    enabled: bool = True
    percent: int = 15  # of the session's units that reflecting may take
    _reported: set[str] = field(default_factory=set)

    @classmethod
    def open(
        cls, sessions: SessionManager, settings: Settings, template: str, workspaces: Workspaces
    ) -> LearningService:
        reflector = ReflectorModel(template, every_turn=settings.reflect_every_turn)
        return cls(sessions, reflector, workspaces, settings.learn, settings.reflect_percent)

    def perform(self, action: str, args: Sequence[str], command: str = "/playbook") -> ActionResult:
        """Do one of the user's actions on the playbook, `command` being how the user writes it. Raises SwecliError."""
        # late: most programs never perform one
        from swecli.playbook.actions.change import perform  # noqa: PLC0415

        session = self.sessions.current_session
        if session is None:
            raise BadInput("There is no session yet.", "Ask something first.")
        self.sessions.playbook.refresh(session)
        return perform(ActionContext(self.sessions, session, self.workspaces, command), action, args)

    async def learn(self, interaction: int | None = None, *, asked: bool = False) -> list[LearningEvent]:
        """Reflect on one turn of the current session (None: the newest), by the rules and by the model. With `asked`
        the user wants the model's view, whatever the settings say of it."""
        part = self.after_turn(interaction, asked=asked)
        return [*part.events, *(await self.reflect(part.interaction, asked=asked) if part.needs_model else ())]

    def after_turn(self, interaction: int | None = None, *, asked: bool = False) -> RulesPart:
        """Apply what the rules see in a turn, at once: it is to be in the very next request, however slow a model is.
        What is applied already is not applied again."""
        session = self.sessions.current_session
        if not self.enabled or session is None or not session.interactions:
            return RulesPart(0)
        number, store = interaction or session.interactions, self.sessions.playbook
        try:
            store.refresh(session)
            turn = inspect_turn(self.sessions, session, load_digest(self.sessions, session, number))
            needs_model = self._needs_model(session, turn, asked)
            lessons = lessons_from_rules(self.sessions, session, turn, self.workspaces)
            events = list(self._record(session, replace(lessons, final=not needs_model)))
            added = [name for event in events if isinstance(event, PlaybookUpdated) for name in event.added]
            missing = {name: check_new_anchors(self.sessions, session, self.workspaces, name) for name in added}
            if lines := (*stale_lines({name: why for name, why in missing.items() if why}, "out of prompts"),):
                events.append(PlaybookUpdated(number, "", lines))
            if turn.corrects_previous and not turn.is_processed:
                events += self._mark(session, number - 1, False, turn.digest.query, (f"T{number - 1} counts as bad",))
            return RulesPart(number, tuple(events), needs_model)
        except SwecliError as error:
            return RulesPart(number, (ReflectionFailed(number, str(error), kept=True),))

    async def reflect(self, interaction: int, *, asked: bool = False) -> list[LearningEvent]:
        """Ask the model about a turn whose rules' part is applied, and apply what comes of it. A turn for which there
        is no budget or no model now stays in the queue. Cancellable: then too, and what was spent is recorded."""
        session = self.sessions.current_session
        if session is None:
            return []
        try:
            self.sessions.playbook.refresh(session)
            turn = inspect_turn(self.sessions, session, load_digest(self.sessions, session, interaction))
            if not self._needs_model(session, turn, asked):
                return self._record(session, TurnLessons(interaction, final=True))
            bullets = session.playbook.bullets
            shown = [bullets[name] for name in turn.digest.shown if name in bullets]
            question = build_question(turn.digest, shown, turn.evidence.observed, turn.user_next)
            if blocked := self._blocked_reason(turn, len(question)):
                if (reason := blocked.partition(":")[0]) in self._reported:
                    return []
                self.mark_reported(reason)
                return [ReflectionFailed(interaction, blocked, kept=True, paused=True)]
            answer = await self._ask(session, turn, question)
            self.sessions.playbook.refresh(session)
            lessons, refused = lessons_from_answer(self.sessions, session, turn, answer, self.workspaces)
            return self._record(session, lessons, refused)
        except SwecliError as error:
            return [ReflectionFailed(interaction, str(error), kept=True)]

    def pending(self) -> list[PendingReflection]:
        """The queue, the newest turn first: of this session, then of this project's others that no program has open."""
        session = self.sessions.current_session
        if session is None or not self.enabled:
            return []
        own = self.sessions.playbook.pending(session.id)[::-1]
        return [*own, *self.sessions.playbook.pending_elsewhere(session)[:_AT_ONCE]]

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
        self.sessions.playbook.refresh(session)
        return events

    async def backfill(
        self, sessions: Sequence[str], epochs: int = 1
    ) -> AsyncIterator[tuple[str, int, list[LearningEvent]]]:
        """Reflect on every turn of these sessions until each was reflected on `epochs` times, the oldest first; gives
        the session and the number of each with what came of it. The current session changes. Raises BadInput before
        anything is learned when a session is not there."""
        ids = [self.sessions.resume(ref, "").id for ref in sessions]
        for epoch in range(1, epochs + 1):
            for name in ids:
                for number in range(1, self.sessions.resume(name, "").interactions + 1):
                    if self.sessions.playbook.count_reflections(name, number) < epoch:
                        yield name, number, await self.learn(number)

    async def check_anchors(self) -> list[LearningEvent]:
        """See which strategies name something that is gone; those that did not before are reported. Asks no model."""
        session = self.sessions.current_session
        if session is None or self.workspaces is None:
            return []
        lines = await check_anchors(self.sessions, session, self.workspaces)
        found = [PlaybookUpdated(session.interactions, "", lines)] if lines else []
        return [*found, *self._proposals(session)]

    async def mark(self, good: bool, why: str = "") -> list[LearningEvent]:
        """The user's word on the last turn: counts at once, asks no model."""
        session = self.sessions.current_session
        if session is None or not session.interactions:
            return []
        self.sessions.playbook.refresh(session)
        return self._mark(session, session.interactions, good, why)

    def mark_reported(self, blocked: str) -> None:
        """Do not report again why no model is asked: the user knows."""
        self._reported.add(blocked)

    def _proposals(self, session: Session) -> list[PlaybookUpdated]:
        """That several proposals wait: once in the life of a program."""
        waiting = sum(bullet.state == "quarantined" for bullet in session.playbook.bullets.values())
        if waiting < _MANY_PROPOSALS or _PROPOSALS in self._reported:
            return []
        self.mark_reported(_PROPOSALS)
        line = f"{waiting} {_PROPOSALS} need your approval: /playbook review"
        return [PlaybookUpdated(session.interactions, "", (line,))]

    def _mark(
        self, session: Session, number: int, good: bool, why: str, lines: tuple[str, ...] = ()
    ) -> list[LearningEvent]:
        digest = load_digest(self.sessions, session, number)
        lessons = lessons_from_mark(self.sessions, session, digest, good=good, why=why)
        return self._record(session, replace(lessons, lines=(*lessons.lines, *lines)))

    def _needs_model(self, session: Session, turn: InspectedTurn, asked: bool) -> bool:
        """Whether a model is to look at the turn, now or later: as was decided when the rules looked."""
        if self.reflector.model is None and not self.reflector.missing:
            return False
        if turn.is_processed and not asked:
            waiting = PendingReflection(session.id, turn.digest.interaction)
            return waiting in self.sessions.playbook.pending(session.id)
        offline = self.reflector.model is not None and self.reflector.model.profile.offline
        return asked or should_ask_model(turn, every_turn=self.reflector.every_turn, offline=offline)

    def _blocked_reason(self, turn: InspectedTurn, length: int) -> str:
        """Why the model cannot be asked about this turn now; "" when it can."""
        if self.reflector.model is None:
            return self.reflector.missing
        length += len(self.reflector.template)
        return budget_problem(self.percent, self.sessions.totals(), length, friction=turn.evidence.friction)

    async def _ask(self, session: Session, turn: InspectedTurn, question: str) -> ReflectorCall:
        model, number = self.reflector.model, turn.digest.interaction
        assert model is not None, "see _held"
        asked = ReflectorCall(model.name)
        try:
            await ask_reflector(model, self.reflector.template, question, turn.digest.shown, asked)
        except asyncio.CancelledError:
            self.sessions.playbook.record_reflection(session.id, number, "cancelled")
            raise
        finally:
            if asked.attempts:
                spent = RequestRecord(asked.model, REFLECTING, number, 0, asked.usage, asked.cost, 0)
                self.sessions.record_request(spent)
        return asked

    def _record(self, session: Session, lessons: TurnLessons, refused: Sequence[str] = ()) -> list[LearningEvent]:
        """Keep it and report what came of it. What cannot be applied is left out, and that is reported."""
        store = self.sessions.playbook
        try:
            applied = store.record_lessons(session, lessons)
        except BadInput as error:
            failure = f"nothing of it was applied: {error}"
            took = {"usage": lessons.usage, "cost": lessons.cost}
            lessons = TurnLessons(lessons.interaction, final=lessons.final, failure=failure, **took)  # type: ignore[arg-type]
            applied = store.record_lessons(session, lessons)
        events: list[LearningEvent] = [*report(lessons, applied, refused)]
        if applied is not None and applied.added:
            events += self._proposals(session)
        if lessons.failure:
            kept = PendingReflection(session.id, lessons.interaction) in store.pending(session.id)
            events.append(ReflectionFailed(lessons.interaction, lessons.failure, kept))
        return events
