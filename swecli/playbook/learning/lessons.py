"""Lessons of a turn from its checks, a mark or a reflector's answer, and the memory behind `remember` and `recall`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain, takewhile
from typing import Any, Literal

from swecli.models.doubts import Doubt
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.message import ChatMessage
from swecli.models.playbook import (
    MARKS,
    TAG_OF,
    AppliedDelta,
    Bullet,
    Delta,
    EffectCounts,
    Op,
    Scope,
    Verdict,
    render_bullets,
)
from swecli.models.session import Session
from swecli.playbook.learning.answer import ExchangeAnswer, ExchangeAnswers
from swecli.playbook.learning.curator import AddProposal, Curator, reads_as, scope_of
from swecli.playbook.learning.evidence import Observation, TurnDigest, TurnEvidence
from swecli.playbook.learning.reactions import Reaction
from swecli.playbook.learning.reflector_model import ReflectorCall
from swecli.playbook.pairs import Pair, PairKind, figures_of, find_new, make_pairs
from swecli.playbook.ranking import BulletIndex, clean
from swecli.playbook.selection import RECALLED, Count, SelectionRequest
from swecli.playbook.wording import FORGET, REMEMBER
from swecli.playbook.workspace import note_anchors
from swecli.redact import redact
from swecli.store.records import StoredTurn, TurnLessons
from swecli.store.session_manager import SessionManager
from swecli.text import shorten
from swecli.values import dataclass

_TURN, REMEMBERED = "turn", "remember"  # reasons of deltas
_STATED = ("rules", "remember")  # authors of deltas that hold the user's statements
_MAX_COMMAND = 60  # characters of a command in a reason
_MAX_SUMMARY = 200  # characters of the query and of the answer before
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def _read_statements(query: str, opening: re.Pattern[str]) -> Iterator[str]:
    """Yield the sentences behind an opening in the first lines of a message, except questions. Later lines are ignored,
    because they may quote a log or a page."""
    for line in takewhile(opening.match, query.strip().splitlines()):
        statement = opening.sub("", line, count=1).strip()
        sentence = _SENTENCE.split(statement)[0].strip()
        if sentence and not sentence.endswith("?"):
            yield sentence[0].upper() + sentence[1:].rstrip(".")


@dataclass(frozen=True, slots=True)
class LessonBuilder:
    """Builds the lessons of one session's stored turns."""

    sessions: SessionManager
    session: Session
    instructions: Callable[[], str] = str

    def digest(self, number: int, *, ended: bool = False) -> TurnDigest:
        """Load and digest a stored turn with the user's reactions; `ended`: none will follow. Raises BadInput if it
        does not exist."""
        self.sessions.load_back_to(max(1, number))
        info = self.sessions.turns.turn(self.session.id, number)
        if info is None:
            raise BadInput(f"There is no turn T{number} in this session.")
        return TurnDigest.of(
            self._messages(number),
            info.shown,
            session_id=self.session.id,
            outcome=info.status,
            reactions=self._reactions_after(info, ended=ended),
            has_changes=bool(self.sessions.file_changes.load(self.session, number, number)),
        )

    def _reactions_after(self, turn: StoredTurn, *, ended: bool) -> Iterator[Reaction]:
        """Yield what the user did after a turn."""
        number = turn.interaction
        following = [message for message in self._messages(number + 1) if message.is_query]
        if turn.mark:
            yield Reaction("mark", turn.why, value=turn.mark)
        if self.sessions.file_changes.is_taken_back(self.session, number):
            yield Reaction("undo")
        if following:
            if following[0].is_own_words:
                yield Reaction("message", following[0].content)
        elif ended:
            yield Reaction("end")

    def inspect(self, number: int, *, ended: bool = False) -> TurnEvidence:
        """Observe a turn; a processed one keeps its stored outcome. Raises BadInput if it does not exist."""
        store = self.sessions.playbook
        digest = self.digest(number, ended=ended)
        record = self.sessions.turns.turn(self.session.id, number)
        assert record is not None, "its digest was loaded"
        last = self.sessions.turns.checks(self.session) if digest.checks else {}
        evidence = digest.observe(last)
        if record.topic:
            observed: Observation | None = None
            if record.good is not None:
                observed = Observation(record.good, record.weight, record.signal, record.reason)
            friction = evidence.friction or record.good is False
            evidence = replace(evidence, observed=observed, friction=friction)
        if record.started_at is not None:
            # what was reworded since was not this text then
            reworded = store.reworded_since(record.started_at)
            shown_ids = tuple(name for name in digest.shown_ids if name not in reworded)
            evidence = replace(evidence, digest=replace(digest, shown_ids=shown_ids))
        nearby = store.deltas_of_turns(self.session, number - 1, number + 1)
        nearby = [change for change in nearby if not change.undone]
        changes = [change for change in nearby if change.delta.interaction == number]
        before, following = (
            [change for change in nearby if change.delta.interaction == other]
            for other in (number - 1, number + 1)
        )
        return replace(
            evidence,
            is_processed=bool(record.topic),
            remembered=any(change.delta.reason == REMEMBERED for change in changes),
            # the query is also the reaction to the turn before, from which it may have been learned
            stored_ids=(*_learned(before), *_stated(changes)),
            stored_next=_stated(following),
            before=self._summarize(number - 1),
            started_at=record.started_at,
        )

    def _summarize(self, number: int) -> str:
        """Return a turn in two lines, "" if there is none."""
        if number < 1:
            return ""
        self.sessions.load_back_to(number)
        digest = TurnDigest.of(self._messages(number))
        query = shorten(digest.query, _MAX_SUMMARY)
        answer = shorten(digest.answer, _MAX_SUMMARY)
        return f"user: {query}\nassistant: {answer or '(no answer)'}"

    def from_rules(self, turn: TurnEvidence, *, is_read: bool) -> TurnLessons:
        """Build the lessons that need no model; empty for a processed turn. `is_read`: a model reads what the user
        said; without one, his statements are taken as far as a rule can."""
        digest = turn.digest
        observed = turn.observed
        if turn.is_processed:
            return TurnLessons(digest.interaction)
        verdicts = self._command_verdicts(digest)
        curator = self._curator("user", digest)
        if not turn.remembered and not is_read:
            for statement in _read_statements(digest.query, REMEMBER):
                curator.keep(statement)
            for statement in _read_statements(digest.query, FORGET):
                curator.forget(statement)
        columns: dict[str, Any] = {"topic": _TURN}
        if observed is not None:
            columns = {
                "topic": observed.kind,
                "good": observed.good,
                "weight": observed.weight,
                "signal": observed.source,
                "reason": redact(observed.reason),
            }
        curator.ops += self._promotions(verdicts)
        has_delta = curator.ops or curator.refusals or verdicts
        return TurnLessons(
            digest.interaction,
            curator.delta("rules", _TURN) if has_delta else None,
            verdicts,
            known=columns,
            checks=turn.checks,
            shown=digest.shown_ids,
        )

    def from_mark(self, number: int, *, good: bool, reason: str) -> TurnLessons:
        """Build the lessons of the user's mark, which replaces an earlier mark of the turn. It judges the turn; which
        strategy is to blame, the reflector says. Raises BadInput if the turn does not exist."""
        digest = self.digest(number)
        record = self.sessions.turns.turn(self.session.id, number)
        assert record is not None, "its digest was loaded"
        mark = "good" if good else "bad"
        words = redact(reason)
        if (record.mark, record.why) == (mark, words):
            return TurnLessons(number, lines=(f"T{number} is already marked {mark}",))
        changes = self.sessions.playbook.deltas_of_turns(self.session, number, number)
        earlier = tuple(
            change.delta.id
            for change in changes
            if change.delta.reason in MARKS and not change.undone
        )
        # a random id: marks may repeat
        delta = Delta(uuid7(), (), "user", digest.session_id, number, f"mark {mark}")
        return TurnLessons(number, delta, mark=mark, why=words, replaces=earlier)

    def from_answer(
        self,
        turn: TurnEvidence,
        call: ReflectorCall[ExchangeAnswers],
        asked_bullets: Mapping[str, Bullet],
        *,
        pays: bool,
    ) -> tuple[TurnLessons, tuple[str, ...]]:
        """Build the lessons of a reflector's answer about an exchange, and a line per refused item. `asked_bullets` are
        the bullets as the question knew them; `pays`: what the answer took is recorded with this exchange."""
        digest = turn.digest
        answer = (call.result or {}).get(digest.interaction, ExchangeAnswer())
        curator = self._curator(call.model, digest)
        curator.refusals += answer.losses
        verdicts = self._effect_verdicts(turn, call.model, answer, asked_bullets)
        if answer.is_undifferentiated and not verdicts:
            curator.refusals.append("the same effect for every strategy tells none of them apart")
        curator.take(answer.lessons, asked_bullets)
        curator.ops += self._promotions(verdicts)
        curator.ops += self._retirements(verdicts, {op.bullet_id for op in curator.ops})
        delta = curator.delta(call.model, _TURN, call.answer) if curator.ops or verdicts else None
        bullets = self.session.playbook.bullets
        contradictions = self._new_contradictions(answer, asked_bullets)
        columns = (
            {"judged": answer.turn, "judged_why": redact(answer.reason)} if call.answer else {}
        )
        lessons = TurnLessons(
            digest.interaction,
            delta,
            verdicts,
            lines=tuple(pair.line(bullets) for pair in contradictions),
            figures=figures_of(contradictions, bullets),
            known=columns,
            final=True,
            failure=call.failure,
        )
        if pays:
            lessons = replace(lessons, usage=call.usage, cost=call.cost)
        return lessons, tuple(curator.refusals)

    def _new_contradictions(
        self, answer: ExchangeAnswer, asked_bullets: Mapping[str, Bullet]
    ) -> list[Pair]:
        """Return what the user has to be told of strategies that still read as the question knew them, and that the
        answer itself does not replace."""
        bullets = self.session.playbook.bullets
        contradicting = answer.contradiction
        is_settled = any(
            lesson.replaces in contradicting for lesson in answer.lessons if lesson.replaces
        )
        is_current = all(
            reads_as(bullets.get(name), asked_bullets.get(name)) for name in contradicting
        )
        if is_settled or not is_current:
            return []
        pairs = make_pairs(PairKind.CONTRADICTION, contradicting)
        return find_new(pairs, bullets, self.sessions.turns)

    def _promotions(self, verdicts: Sequence[Verdict]) -> list[Op]:
        """Activate the unconfirmed bullets that helped."""
        bullets = self.session.playbook.bullets
        helpful = [verdict.bullet_id for verdict in verdicts if verdict.tag == "helpful"]
        return [
            Op("UPDATE", name, {"state": "active"})
            for name in dict.fromkeys(helpful)
            if name in bullets and bullets[name].state == "unconfirmed"
        ]

    def _retirements(self, verdicts: Sequence[Verdict], changed_ids: Collection[str]) -> list[Op]:
        """Switch off the bullets of which these verdicts are one too many; not those of `changed_ids`, which the same
        answer changed. The user is asked about his own, and about what he pinned."""
        against = {
            verdict.bullet_id: EffectCounts(
                hurt=int(verdict.effect == "hurt"), refuted=int(verdict.effect == "refuted")
            )
            for verdict in verdicts
            if verdict.tag == "harmful" and verdict.bullet_id not in changed_ids
        }
        bullets = self.session.playbook.bullets
        counts = self.sessions.playbook.effects(against) if against else {}
        return [
            Op("UPDATE", name, {"state": "disabled"})
            for name, verdict in against.items()
            if bullets[name].may_be_retired and (counts[name] + verdict).speak_against
        ]

    def _messages(self, number: int) -> list[ChatMessage]:
        return [message for message in self.session.messages if message.interaction == number]

    def _curator(self, author: str, digest: TurnDigest) -> Curator:
        return Curator(author, digest, self.session, self.sessions.playbook, self.instructions)

    def _command_verdicts(self, digest: TurnDigest) -> tuple[Verdict, ...]:
        """Return what the rules can tell: that a cited strategy helped, as its own command succeeded. They blame
        none."""
        helpful = digest.find_helpful(self.session.playbook.bullets)
        return tuple(
            Verdict(
                bullet_id=bullet.id,
                kind="outcome",
                tag="helpful",
                source="check",
                quote=f"{shorten(call.command, _MAX_COMMAND)} succeeded",
                call_id=call.id,
                effect="helped",
            )
            for bullet, call in helpful
            if bullet.is_live
        )

    def _effect_verdicts(
        self,
        turn: TurnEvidence,
        author: str,
        answer: ExchangeAnswer,
        asked_bullets: Mapping[str, Bullet],
    ) -> tuple[Verdict, ...]:
        """Return the verdicts of a reflector's effects, one per bullet and turn. A bullet whose text has changed since
        the question gets none: it was not this text."""
        bullets = self.session.playbook.bullets
        stored_verdicts = self.sessions.turns.verdicts_on(self.session.id, turn.digest.interaction)
        verdicts = list[Verdict]()
        for name, (effect, reason) in answer.effects.items():
            tag = TAG_OF[effect]
            is_new = (name, "tag") not in stored_verdicts and reads_as(
                bullets.get(name), asked_bullets.get(name)
            )
            if is_new and not (answer.is_undifferentiated and tag != "neutral"):
                verdicts.append(Verdict(name, "tag", tag, author, redact(reason), effect=effect))
        return tuple(verdicts)


def _stated(changes: Iterable[AppliedDelta]) -> tuple[str, ...]:
    """Return the strategies that the user's statements became in changes."""
    stated = [change.reworded for change in changes if change.delta.author in _STATED]
    return tuple(dict.fromkeys(chain.from_iterable(stated)))


def _learned(changes: Iterable[AppliedDelta]) -> tuple[str, ...]:
    """Return the strategies that a reflector made of the user's words, or gave these, in changes."""
    names = dict[str, None]()
    for change in changes:
        is_reflectors = change.delta.reason == _TURN and change.delta.author not in _STATED
        for name, op in change.ops_by_id() if is_reflectors else ():
            is_his = op.in_users_words or op.doubt.is_about_users_words
            if is_his and "content" in op.fields:
                names[name] = None
    return tuple(names)


@dataclass(slots=True)
class PlaybookMemory:
    """The playbook as the tools `remember` and `recall` use it."""

    sessions: SessionManager
    instructions: Callable[[], str]
    count: Count
    index: BulletIndex = field(default_factory=BulletIndex)

    def objection(self, text: str, scope: Scope | Literal[""], replaces: str) -> str:
        """Return why the user must be asked before `remember` stores this, or "". Raises BadInput for an unknown
        strategy."""
        old = self.sessions.playbook.find(replaces, self._session()) if replaces else None
        add = AddProposal(clean(text), scope=scope)
        return self._curator().objection(add.content, scope_of(add, old), old)

    def remember(
        self,
        text: str,
        quote: str,
        when: str = "",
        scope: Scope | Literal[""] = "",
        replaces: str = "",
        *,
        paths: Sequence[str] = (),
        approved: bool = False,
    ) -> str:
        """Store a statement of the user's, in place of the bullet `replaces`; an empty text only removes that bullet.
        `scope` "" is that of the bullet, else the project; `paths` are the globs of the files that it is for.
        `approved`: the user was asked and said yes. Returns a line
        for the model. Raises BadInput if nothing can be stored or removed."""
        session = self._session()
        curator = self._curator()
        old = self.sessions.playbook.find(replaces, session) if replaces else None
        add = AddProposal(
            content=text,
            when=when,
            kind="preference",
            quote=quote,
            scope=scope,
            paths=tuple(paths),
            replaces=old.id if old else "",
            approved=approved,
        )
        if text.strip():
            curator.curate([add])
        elif old is not None:
            curator.remove(add, old)
        if not curator.ops:
            raise BadInput("; ".join(curator.refusals) or "There is nothing to remember.")
        applied = self.sessions.playbook.apply(curator.delta(REMEMBERED, REMEMBERED), session)
        note_anchors(self.sessions, session, applied.reworded)
        lines = [self._result_line(op, name, session) for name, op in applied.ops_by_id()]
        return "; ".join(lines + curator.refusals)

    def _curator(self) -> Curator:
        session = self._session()
        digest = LessonBuilder(self.sessions, session).digest(session.interactions)
        # what the user said of the turn before is said in this one too
        before = self.sessions.turns.turn(session.id, session.interactions - 1)
        if before is not None and before.why:
            mark = Reaction("mark", before.why, value=before.mark)
            digest = replace(digest, reactions=(*digest.reactions, mark))
        return Curator(REMEMBERED, digest, session, self.sessions.playbook, self.instructions)

    def _result_line(self, op: Op, name: str, session: Session) -> str:
        if op.op == "REMOVE":
            return f"{name} is removed"
        bullet = session.playbook.bullets.get(name)
        if op.doubt is Doubt.TAKEN_BACK:
            return f"{name} stays until a yes to this: /playbook review"
        if bullet is None or bullet.is_live:
            return f"kept as {name}"
        line = f"kept as {name}, and waits for a yes: /playbook review"
        return f"{line}; {bullet.replaces[0]} stays until then" if bullet.replaces else line

    def recall(self, query: str) -> str:
        """Return the bullets that match a query as prompt text, "" if none, and record them as shown in this turn."""
        bullets = self._session().get_playbook().bullets
        request = SelectionRequest(bullets, query, self.count, self.index, budget=RECALLED)
        recalled = request.recall().bullets
        if recalled:
            self.sessions.add_shown([bullet.id for bullet in recalled])
        return render_bullets(recalled).strip()

    def _session(self) -> Session:
        session = self.sessions.session
        self.sessions.playbook.refresh(session)
        return session
