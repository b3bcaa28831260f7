"""Learning: reflects on stored turns, stores their lessons, and returns events, also for failures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from swecli.config.settings import Settings
from swecli.models.doubts import Doubt
from swecli.models.errors import BadInput, SwecliError
from swecli.models.learning_events import PlaybookUpdated, ReflectionFailed
from swecli.models.message import RequestRecord
from swecli.models.playbook import AppliedDelta, Bullet, Effect, Op, Verdict
from swecli.models.session import Session
from swecli.playbook.action import format_op
from swecli.playbook.learning import lessons, tidying
from swecli.playbook.learning.answer import (
    ExchangeAnswer,
    ExchangeAnswers,
    ReflectionScope,
    answer_schema,
    read_answer,
)
from swecli.playbook.learning.curator import is_shown_again
from swecli.playbook.learning.evidence import TurnEvidence
from swecli.playbook.learning.question import build_question, list_waiting
from swecli.playbook.learning.reflector_model import (
    REFLECTING,
    Answer,
    Question,
    ReflectorCall,
    ReflectorModel,
    Sender,
)
from swecli.playbook.pairs import figures_of, find_new
from swecli.playbook.selection import Count
from swecli.playbook.workspace import StaleStrategies, WorkspaceLookup, note_anchors
from swecli.store.records import StoredTurn, TurnLessons
from swecli.store.session_manager import SessionManager
from swecli.text import shorten
from swecli.values import dataclass

_MANY_PROPOSALS = 3  # from which a start reminds of them
# effects that a line names
_NAMED_EFFECTS: tuple[Effect, ...] = ("helped", "hurt", "refuted", "ignored")
_JOINED = ("added", "tagged", "removed", "refused", "waiting", "answer")  # fields of an event
_MAX_EXCHANGES = 4  # in one request
_SESSION = 13  # characters that identify a session
_MAX_ELSEWHERE = 20  # pending turns of other sessions that one start catches up with
_log = logging.getLogger(__name__)

LearningEvent = PlaybookUpdated | ReflectionFailed


@dataclass(frozen=True, slots=True)
class RulesResult:
    """A turn whose lessons from rules are stored. If `needs_model`, `reflect` decides whether a model is asked."""

    interaction: int
    events: tuple[LearningEvent, ...] = ()
    needs_model: bool = False


@dataclass(frozen=True, slots=True)
class Restated:
    """A strategy that waits for the user's yes, the `words` of his that it comes from, and those that it then
    replaces."""

    bullet: Bullet
    words: str
    replaces: tuple[Bullet, ...] = ()


@dataclass
class LearningService:
    """The learning of one program. `instructions` returns the current system prompt with the project's instruction
    files."""

    sessions: SessionManager
    reflector: ReflectorModel
    send: Sender
    instructions: Callable[[], str] = str
    enabled: bool = True
    percent: int = 15  # of what the session costs that reflecting may cost
    tidy_template: str = ""  # the prompt of `tidy`
    _reported: set[str] = field(default_factory=set)
    # strategies that the user was asked about, each with how much of what he said spoke of it
    _requested_turns: set[tuple[str, int]] = field(default_factory=set)

    @classmethod
    def open(
        cls,
        sessions: SessionManager,
        settings: Settings,
        template: str,
        instructions: Callable[[], str],
        send: Sender,
        tidy_template: str = "",
    ) -> LearningService:
        """Create the service of the settings, without a model. The templates are the prompts about exchanges and about
        the whole playbook."""
        return cls(
            sessions,
            ReflectorModel(template, every_turn=settings.reflect_every_turn),
            send,
            instructions,
            settings.learn,
            settings.reflect_percent,
            tidy_template,
        )

    def open_memory(self, count: Count) -> lessons.PlaybookMemory:
        """Create the memory of the tools `remember` and `recall`. `count` returns the tokens of a text."""
        return lessons.PlaybookMemory(self.sessions, self.instructions, count)

    async def learn(
        self, interaction: int | None = None, *, is_requested: bool = False
    ) -> list[LearningEvent]:
        """Reflect on a turn of the current session (None: the newest) now, by rules and by the model. `is_requested`:
        the user requested it, so the model is asked whatever the settings say."""
        result = self.after_turn(interaction, is_requested=is_requested)
        events = [*result.events]
        if result.needs_model:
            events += await self.reflect(result.interaction, is_requested=is_requested)
        return events

    def after_turn(
        self, interaction: int | None = None, *, is_requested: bool = False
    ) -> RulesResult:
        """Store a turn's lessons from rules, once, so that the next request contains them whatever the model takes."""
        session = self.sessions.current_session
        if not self.enabled or session is None or not session.interactions:
            return RulesResult(0)
        number = interaction or session.interactions
        try:
            turn = self._inspect(session, number)
            is_read = self.reflector.reads_reactions
            learned = self._lessons(session).from_rules(turn, is_read=is_read)
            is_done = turn.is_processed and not self._is_pending(session, number)
            # what the user does next decides whether the model is asked
            needs_model = self._has_model and (is_requested or not is_done)
            refusals = learned.delta.refused if learned.delta is not None else ()
            events = self._record(session, replace(learned, final=not needs_model), refusals)
            return RulesResult(number, tuple(events), needs_model)
        except Exception as error:  # noqa: BLE001 - a boundary: learning must not cost the answer
            return RulesResult(number, (_failure(number, error),))

    async def reflect(
        self, *interactions: int, is_requested: bool = False, has_ended: bool = False
    ) -> list[LearningEvent]:
        """Ask the model about exchanges of the current session, several in one request, and store its lessons.
        `has_ended`: no reaction to the newest will follow. They stay pending if there is no budget or model.
        Cancellable; the tokens used are recorded then too."""
        session = self.sessions.current_session
        events = list[LearningEvent]()
        if session is None:
            return events
        for start in range(0, len(interactions), _MAX_EXCHANGES):
            numbers = interactions[start : start + _MAX_EXCHANGES]
            try:
                events += await self._reflect_together(
                    session, numbers, is_requested=is_requested, has_ended=has_ended
                )
            except Exception as error:  # noqa: BLE001 - as in `after_turn`
                events.append(_failure(numbers[-1], error))
        return events

    def settle(self, interactions: Sequence[int]) -> None:
        """Take turns of the current session, to which no reaction will follow, from the queue if no model is due for
        them."""
        session = self.sessions.current_session
        if session is None:
            return
        for number in interactions:
            turn = self._inspect(session, number, ended=True)
            if not self._needs_model(session, turn, is_requested=False):
                self._record(session, TurnLessons(number, final=True))

    async def _reflect_together(
        self, session: Session, numbers: Sequence[int], *, is_requested: bool, has_ended: bool
    ) -> list[LearningEvent]:
        turns = list[TurnEvidence]()
        for turn in [self._inspect(session, number, ended=has_ended) for number in numbers]:
            if self._needs_model(session, turn, is_requested):
                turns.append(turn)
            elif self._is_pending(session, turn.digest.interaction):
                self._record(session, TurnLessons(turn.digest.interaction, final=True))
        if not turns:
            return []
        bullets = dict(session.playbook.bullets)
        newest = turns[-1].digest.interaction
        asked_about = ReflectionScope(
            {turn.digest.interaction: turn.known_ids for turn in turns},
            [
                *(bullet.id for bullet in list_waiting(bullets)),
                *(name for turn in turns for name in turn.stored_next),
            ],
        )
        question = Question(
            template=self.reflector.template,
            text=build_question(turns, bullets),
            schema=answer_schema(len(turns)),
            read=lambda answer: read_answer(answer, asked_about),
        )
        friction = any(turn.friction or turn.is_reacted_to for turn in turns)
        totals = self.sessions.totals()
        problem = self.reflector.blocked_reason(question, totals, self.percent, friction=friction)
        if problem:
            # a missing model is the program's cause, a budget the session's
            cause = problem if self.reflector.model is None else session.id
            if cause in self._reported:
                return []
            self.mark_reported(cause)
            return [ReflectionFailed(newest, problem, kept=True, paused=True)]
        call = await self._ask(newest, question)
        self.sessions.playbook.refresh(session)
        return self._store_answers(session, turns, call, bullets)

    def _store_answers(
        self,
        session: Session,
        turns: Sequence[TurnEvidence],
        call: ReflectorCall[ExchangeAnswers],
        asked_bullets: Mapping[str, Bullet],
    ) -> list[LearningEvent]:
        """Store the lessons of an answer, except of turns that were undone meanwhile, and return one event."""
        events = list[LearningEvent]()
        answers = call.result or {}
        for turn in turns:
            number = turn.digest.interaction
            pays = turn is turns[-1]
            record = self.sessions.turns.turn(session.id, number)
            if record is not None and record.started_at == turn.started_at:
                builder = self._lessons(session)
                learned, refusals = builder.from_answer(turn, call, asked_bullets, pays=pays)
                events += self._record(session, learned, refusals, answers.get(number))
            elif pays:
                lines = ("was undone meanwhile",)
                tokens = call.usage.total
                events.append(PlaybookUpdated(number, "", lines, cost=call.cost, tokens=tokens))
        return _join(events)

    def pop_restated(self) -> list[Restated]:
        """Return, once in this program, what the user has to decide of what he said in this session: strategies that
        are not in his words or reach further than he wrote, and those that he seems to take back."""
        session = self.sessions.current_session
        if session is None or not self.enabled or not session.interactions:
            return []
        self.sessions.playbook.refresh(session)
        bullets = session.playbook.bullets
        proposals = [
            bullet.id
            for bullet in sorted(bullets.values(), key=lambda bullet: bullet.number)
            if bullet.doubt.is_about_users_words
        ]
        restated = list[Restated]()
        for name, evidence in self.sessions.playbook.evidence_by_id(proposals).items():
            quotes = [item for item in evidence if not item.is_consent]
            is_from_here = bool(quotes) and quotes[-1].session_id == session.id
            if is_from_here and (name, len(quotes)) not in self._requested_turns:
                replaced = [bullets[old] for old in bullets[name].replaces if old in bullets]
                restated.append(Restated(bullets[name], quotes[-1].quote, tuple(replaced)))
                self._requested_turns.add((name, len(quotes)))
        return restated

    def due_turns(self) -> list[int]:
        """Return the pending turns of the current session that have ended with their reaction: the query of the next
        turn, and what that stored."""
        session = self.sessions.current_session
        if session is None or not self.enabled or not session.interactions:
            return []
        newest = session.interactions
        pending = [turn.interaction for turn in self.sessions.turns.pending(session.id)]
        return [number for number in pending if number < newest]

    def due_after_mark(self, good: bool, reason: str) -> list[int]:
        """Return the newest turn, as it was just marked, if the mark is a reason to reflect on it: it says that
        something was wrong, or what."""
        session = self.sessions.current_session
        if session is None or not self.enabled or self.reflector.model is None:
            return []
        newest = session.interactions
        turn = self.sessions.turns.turn(session.id, newest)
        if turn is None or turn.status == "running":
            return []
        return [newest] if reason or not good else []

    def _is_pending(self, session: Session, number: int) -> bool:
        pending = self.sessions.turns.pending(session.id)
        return any(turn.interaction == number for turn in pending)

    def pending(self) -> list[StoredTurn]:
        """Return the pending turns, newest first: this session's, then those of the project's closed sessions."""
        session = self.sessions.current_session
        if session is None or not self.enabled:
            return []
        own_turns = self.sessions.turns.pending(session.id)[::-1]
        return [*own_turns, *self.sessions.turns.pending_elsewhere(session)[:_MAX_ELSEWHERE]]

    def pending_by_session(self) -> list[tuple[str, list[int]]]:
        """Return the pending turns, oldest first, of each session, newest session first."""
        by_session: dict[str, list[int]] = {}
        for turn in self.pending():
            by_session.setdefault(turn.session_id, []).insert(0, turn.interaction)
        return [*by_session.items()]

    async def resume(self, session_id: str, interactions: Sequence[int]) -> list[LearningEvent]:
        """Reflect on those turns of a session that are still pending. The newest of the current session waits for the
        user's reaction; other sessions have ended."""
        session = self.sessions.current_session
        if session is None:
            return []
        pending = [turn.interaction for turn in self.sessions.turns.pending(session_id)]
        numbers = [number for number in interactions if number in pending]
        if session_id == session.id:
            events = [event for number in numbers for event in self.after_turn(number).events]
            finished = [number for number in numbers if number < session.interactions]
            return events + await self.reflect(*finished)
        if not numbers:
            return []
        others = SessionManager(self.sessions.database)
        other = others.resume(session_id, "")
        service = replace(self, sessions=others, enabled=True, _reported=set())
        events = [event for number in numbers for event in service.after_turn(number).events]
        events += await service.reflect(*numbers, has_ended=True)
        self.sessions.playbook.refresh(session)
        name = f'"{other.title}"' if other.title else other.id[:_SESSION]
        return [
            replace(event, elsewhere=name)
            for event in events
            # the other session's budget is no news here: its turns wait
            if not (isinstance(event, ReflectionFailed) and event.paused)
        ]

    async def tidy(self) -> list[LearningEvent]:
        """Ask the model what of the playbook says the same or no longer holds, apply what it may change as one delta,
        and keep what only the user may decide. Raises BadInput if it cannot be asked."""
        session = self.sessions.session
        self.sessions.playbook.refresh(session)
        asked_bullets = {bullet.id: bullet for bullet in tidying.select_bullets(session)}
        if len(asked_bullets) < 2:
            raise BadInput("There is nothing to tidy: the playbook has less than two strategies.")
        if self.reflector.model is None:
            reason = self.reflector.missing_reason or "reflect_with_model is off"
            raise BadInput(f"No model can be asked: {reason}.", "Choose one with -m or /model.")
        question = Question(
            template=self.tidy_template,
            text=tidying.build_question(asked_bullets.values()),
            schema=tidying.findings_schema(),
            read=lambda answer: tidying.read_findings(answer, asked_bullets),
        )
        call = await self._ask(session.interactions, question)
        if call.result is None:
            return [ReflectionFailed(0, call.failure or "", kept=False, cost=call.cost)]
        self.sessions.playbook.refresh(session)
        tidied = tidying.Tidying(session, self.sessions.playbook, call.model)
        tidied.take(call.result.findings, asked_bullets)
        tidied.refusals += call.result.losses
        bullets = session.playbook.bullets
        pairs = find_new(tidied.pairs, bullets, self.sessions.turns)
        learned = TurnLessons(
            0,
            tidied.delta() if tidied.ops else None,
            lines=tuple(pair.line(bullets) for pair in pairs),
            figures=figures_of(pairs, bullets),
            usage=call.usage,
            cost=call.cost,
        )
        return self._record(session, learned, tidied.refusals)

    async def backfill(
        self, sessions: Sequence[str], times: int = 1
    ) -> AsyncIterator[tuple[str, int, list[LearningEvent]]]:
        """Reflect on every turn of these sessions, oldest first, until each was reflected on so many times; yields
        (session id, interaction, events). Changes the current session. Raises BadInput, before the first reflection,
        for an unknown session."""
        ids = [self.sessions.resume(reference, "").id for reference in sessions]
        for count in range(times):
            for session_id in ids:
                for number in range(1, self.sessions.resume(session_id, "").interactions + 1):
                    if self.sessions.turns.count_reflections(session_id, number) <= count:
                        yield session_id, number, await self.learn(number)

    async def check_anchors(self) -> list[LearningEvent]:
        """Check the anchors of all strategies and report those that became stale. Asks no model."""
        session = self.sessions.current_session
        if session is None or not session.playbook.bullets:
            return []
        try:
            lines = await _check_anchors(self.sessions, session)
        except Exception as error:  # noqa: BLE001 - as in `after_turn`
            return [_failure(session.interactions, error)]
        bullets = session.playbook.bullets.values()
        proposal_ids = tuple(bullet.id for bullet in bullets if bullet.state == "quarantined")
        reminded = proposal_ids if len(proposal_ids) >= _MANY_PROPOSALS else ()
        if not lines and not reminded:
            return []
        return [PlaybookUpdated(0, "", lines, waiting=reminded)]

    async def mark(self, good: bool, reason: str = "") -> list[LearningEvent]:
        """Store the user's mark of the last turn. Asks no model."""
        session = self.sessions.current_session
        if session is None or not session.interactions:
            return []
        self.sessions.playbook.refresh(session)
        number = session.interactions
        if self._has_model and (reason or not good):
            self.sessions.turns.requeue(session.id, number)
        return self._mark(session, number, good, reason)

    def mark_reported(self, reason: str) -> None:
        self._reported.add(reason)

    def _inspect(self, session: Session, number: int, *, ended: bool = False) -> TurnEvidence:
        self.sessions.playbook.refresh(session)
        return self._lessons(session).inspect(number, ended=ended)

    def _lessons(self, session: Session) -> lessons.LessonBuilder:
        return lessons.LessonBuilder(self.sessions, session, self.instructions)

    def _mark(self, session: Session, number: int, good: bool, reason: str) -> list[LearningEvent]:
        learned = self._lessons(session).from_mark(number, good=good, reason=reason)
        return self._record(session, learned)

    @property
    def _has_model(self) -> bool:
        """Whether a model reflects, now or once what it lacks is there."""
        return self.reflector.model is not None or bool(self.reflector.missing_reason)

    def _needs_model(self, session: Session, turn: TurnEvidence, is_requested: bool) -> bool:
        """Return True if a model is due for an exchange: for every one if it is cheap, else if something went wrong,
        the user reacted to it or was not heard, or it may show again what a lesson waits for."""
        if not self._has_model:
            return False
        if is_requested:
            return True
        if not self._is_pending(session, turn.digest.interaction):
            return False  # another reflection, for which this one waited, was about it
        if self.reflector.every_turn:
            return True
        if turn.friction or turn.is_reacted_to or self._may_confirm(session, turn):
            return True
        can_read = self.reflector.model is None or self.reflector.reads_reactions
        return can_read and (turn.is_answered_briefly or turn.is_unheard)

    def _may_confirm(self, session: Session, turn: TurnEvidence) -> bool:
        """Return True if a result of a turn shows again what a lesson that waits was seen in."""
        proposals = list_waiting(session.playbook.bullets)
        seen_ids = [bullet.id for bullet in proposals if bullet.doubt is Doubt.SEEN]
        sources = self.sessions.playbook.evidence_by_id(seen_ids) if seen_ids else {}
        return any(is_shown_again(turn.digest, evidence) for evidence in sources.values())

    async def _ask(self, number: int, question: Question[Answer]) -> ReflectorCall[Answer]:
        """Ask the reflector, and record what it took with the turn `number`."""
        model = self.reflector.model
        assert model is not None, "see blocked_reason"
        call = ReflectorCall[Answer](model.name)
        try:
            await self.reflector.ask(question, call, self.send)
        finally:
            if call.attempts:
                self.sessions.record_request(
                    RequestRecord(call.model, REFLECTING, number, 0, call.usage, call.cost, 0)
                )
        return call

    def _record(
        self,
        session: Session,
        learned: TurnLessons,
        refusals: Sequence[str] = (),
        answer: ExchangeAnswer | None = None,
    ) -> list[LearningEvent]:
        """Store lessons and return their events. If they cannot be applied, store the failure instead."""
        store = self.sessions.playbook
        try:
            applied = store.record_lessons(session, learned)
        except BadInput as error:
            learned = TurnLessons(
                learned.interaction,
                final=learned.final,
                failure=f"nothing of it was applied: {error}",
                usage=learned.usage,
                cost=learned.cost,
            )
            applied = store.record_lessons(session, learned)
        if applied is not None:
            note_anchors(self.sessions, session, applied.reworded)
        if learned.failure:
            is_kept = self._is_pending(session, learned.interaction)
            return [
                ReflectionFailed(learned.interaction, learned.failure, is_kept, cost=learned.cost)
            ]
        if applied is not None or learned.lines or refusals or learned.usage.total or answer:
            return [_report(learned, applied, refusals, answer)]
        return []


def _failure(interaction: int, error: Exception) -> ReflectionFailed:
    """Return the event of an error; one that is not meant for the user is also logged."""
    if isinstance(error, SwecliError):
        return ReflectionFailed(interaction, str(error), kept=True)
    _log.error("learning failed", exc_info=error)
    return ReflectionFailed(interaction, f"{type(error).__name__}: {error}", kept=True)


async def _check_anchors(sessions: SessionManager, session: Session) -> tuple[str, ...]:
    """Check the anchors of the project's strategies in a thread, store the result, and return lines on newly stale
    ones. Raises StoreError."""
    bullets = dict(session.playbook.bullets)
    lookup = WorkspaceLookup.of(session)
    checked = [bullet for bullet in bullets.values() if bullet.is_live and bullet.scope != "user"]
    if lookup is None or not checked:
        return ()
    checks = await asyncio.to_thread(
        lambda: {bullet.id: lookup.check(bullet) for bullet in checked}
    )
    # what never existed makes nothing stale: the user may speak of a file that is still to come
    stale = {
        name: check.missing_anchor
        for name, check in checks.items()
        if check.missing_anchor and bullets[name].was_there
    }
    present = [name for name, check in checks.items() if check.exists]
    sessions.playbook.record_anchor_checks(session, stale, present)
    unreported = StaleStrategies()
    pinned = StaleStrategies()
    users = StaleStrategies()
    for name, missing_anchor in stale.items():
        bullet = bullets[name]
        group = unreported
        if bullet.state == "pinned":
            group = pinned
        elif bullet.trust == "user":
            group = users
        if not bullet.stale:
            group.unreported[name] = missing_anchor
    return (
        *unreported.notices(),
        *pinned.notices("in prompts, being pinned"),
        *users.notices("in prompts, being your word"),
    )


def _report(
    learned: TurnLessons,
    applied: AppliedDelta | None,
    refusals: Sequence[str],
    answer: ExchangeAnswer | None,
) -> PlaybookUpdated:
    """Build the event of lessons: its changes, and the effects that a model saw."""
    ops = applied.ops_by_id() if applied else []
    waiting_names = [name for name, op in ops if op.fields.get("state") == "quarantined"]
    news = [format_op(op, name) for name, op in ops if name not in waiting_names]
    # no question can show these where nobody can be asked
    news += [_format_waiting(op) for name, op in ops if name in waiting_names]
    verdicts = learned.verdicts if applied else ()
    return PlaybookUpdated(
        learned.interaction,
        applied.delta.id if applied else "",
        (*_format_effects(verdicts), *news, *learned.lines),
        added=applied.added if applied else (),
        tagged=tuple(dict.fromkeys(verdict.bullet_id for verdict in verdicts)),
        removed=tuple(name for name, op in ops if op.op == "REMOVE"),
        refused=tuple(refusals),
        cost=learned.cost,
        tokens=learned.usage.total,
        waiting=tuple(waiting_names),
        answer=tuple(_describe_answer(learned.interaction, answer, refusals)) if answer else (),
    )


def _format_waiting(op: Op) -> str:
    """Format a proposal that waits: beside the user's words if it was made of them, else with the reason."""
    reason = op.doubt.describe()
    if op.doubt.is_about_users_words:
        reason = f'you wrote: "{op.evidence[0].quote}"'
    return f"? {op.fields.get('content', '')} ({reason})"


def _join(events: Sequence[LearningEvent]) -> list[LearningEvent]:
    """Join what one answer taught of several turns to one event, which is the last turn's."""
    updates = [event for event in events if isinstance(event, PlaybookUpdated)]
    if len(updates) < 2:
        return [*events]
    *earlier, last = updates
    lines = [f"T{update.interaction}: {line}" for update in earlier for line in update.lines]
    joined: dict[str, Any] = {"lines": (*lines, *last.lines)}
    for name in _JOINED:
        joined[name] = tuple(item for update in updates for item in getattr(update, name))
    others = [event for event in events if event not in updates]
    return [*others, replace(last, **joined)]


def _format_effects(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield which strategies had which effect, by a model's answer."""
    for effect in _NAMED_EFFECTS:
        names = [verdict.bullet_id for verdict in verdicts if verdict.effect == effect]
        if names:
            yield f"{', '.join(names)} {effect}"


def _describe_answer(number: int, answer: ExchangeAnswer, refusals: Sequence[str]) -> Iterator[str]:
    """Yield what a reflector answered about an exchange, line by line."""
    yield f"T{number} {answer.turn}" + (f": {answer.reason}" if answer.reason else "")
    for name, (effect, reason) in answer.effects.items():
        yield f"{name} {effect}" + (f": {reason}" if reason else "")
    for lesson in answer.lessons:
        link = ""
        if lesson.same_as:
            link = f" (same as {lesson.same_as})"
        elif lesson.replaces:
            link = f" (replaces {lesson.replaces})"
        yield f"lesson{link}: {shorten(lesson.text or lesson.quote, 200)}"
    if not answer.lessons:
        yield "nothing to learn"
    yield from (f"not applied: {line}" for line in refusals)
