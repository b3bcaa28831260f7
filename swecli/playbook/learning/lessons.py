"""Lessons of a turn from its checks, a mark or a reflector's answer, and the memory behind `remember` and `recall`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Literal

from swecli.models.doubts import replaced_by
from swecli.models.errors import BadInput
from swecli.models.ids import uuid7
from swecli.models.message import ChatMessage
from swecli.models.playbook import (
    MARKS,
    TAG_OF,
    Bullet,
    Delta,
    Op,
    Scope,
    Tag,
    Verdict,
    render_bullets,
)
from swecli.models.session import Session
from swecli.playbook.learning.answer import ExchangeAnswer, ExchangeAnswers
from swecli.playbook.learning.contradictions import Contradiction, UntoldContradictions
from swecli.playbook.learning.curator import AddProposal, Curator, reads_as, scope_of
from swecli.playbook.learning.evidence import Observation, TurnDigest, TurnEvidence
from swecli.playbook.learning.reactions import Reaction
from swecli.playbook.learning.reflector_model import ReflectorCall
from swecli.playbook.ranking import BulletIndex, clean
from swecli.playbook.selection import RECALLED, Count, SelectionRequest
from swecli.playbook.wording import REMEMBER
from swecli.playbook.workspace import note_anchors
from swecli.redact import redact
from swecli.store.records import StoredTurn, TurnLessons
from swecli.store.session_manager import SessionManager
from swecli.text import shorten

_TURN, REMEMBERED = "turn", "remember"  # reasons of deltas
_STATED = ("rules", "remember")  # authors of deltas that hold the user's statements
_SUMMARY = 200  # characters of the query and of the answer before
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def _parse_remember(query: str) -> list[AddProposal]:
    """Parse `remember that ...` and `remember: ...` in the first lines of a message, except questions. Later lines are
    ignored, because they may quote a log or a page."""
    lines = takewhile(REMEMBER.match, query.strip().splitlines())
    said = (REMEMBER.sub("", line, count=1).strip() for line in lines)
    sentences = (_SENTENCE.split(line)[0].strip() for line in said if line)
    whole = (one[0].upper() + one[1:].rstrip(".") for one in sentences if not one.endswith("?"))
    return [AddProposal(sentence, kind="preference", quote=sentence) for sentence in whole]


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
        following = [m for m in self._messages(number + 1) if m.is_query]
        if turn.mark and not (following and turn.why == redact(following[0].content)):
            yield Reaction("mark", turn.why, value=turn.mark)
        if self.sessions.file_changes.is_taken_back(self.session, number):
            yield Reaction("undo")
        if following:
            yield Reaction("message", following[0].content)
        elif ended:
            yield Reaction("end")

    def inspect(self, number: int, *, ended: bool = False) -> TurnEvidence:
        """Observe a turn; a processed one keeps its stored outcome. Raises BadInput if it does not exist."""
        digest, store = self.digest(number, ended=ended), self.sessions.playbook
        record = self.sessions.turns.turn(self.session.id, number)
        last = self.sessions.turns.checks(self.session) if digest.checks else {}
        evidence = digest.observe(last)
        processed = record is not None and bool(record.topic)
        if record is not None and processed:
            observed = (
                Observation(record.good, record.weight, record.signal, record.reason)
                if record.good is not None
                else None
            )
            evidence = replace(
                evidence, observed=observed, friction=evidence.friction or record.good is False
            )
        if record is not None and record.started_at is not None:
            # what was reworded since was not this text then
            reworded = store.reworded_since(record.started_at)
            shown = tuple(name for name in digest.shown if name not in reworded)
            evidence = replace(evidence, digest=replace(evidence.digest, shown=shown))
        rows = [
            row for row in store.deltas_of_turns(self.session, number, number) if not row.undone
        ]
        stored = [name for row in rows if row.delta.author in _STATED for name in row.added]
        return replace(
            evidence,
            is_processed=processed,
            remembered=any(row.delta.reason == REMEMBERED for row in rows),
            stored=tuple(stored),
            before=self._summarize(number - 1),
            started_at=record.started_at if record else None,
        )

    def _summarize(self, number: int) -> str:
        """Return a turn in two lines, "" if there is none."""
        if number < 1:
            return ""
        self.sessions.load_back_to(number)
        digest = TurnDigest.of(self._messages(number))
        query = shorten(digest.query, _SUMMARY)
        answer = shorten(digest.answer, _SUMMARY)
        return f"user: {query}\nassistant: {answer or '(no answer)'}"

    def from_rules(self, turn: TurnEvidence) -> TurnLessons:
        """Build the lessons that need no model; empty for a processed turn."""
        digest, observed, turns = turn.digest, turn.observed, self.sessions.turns
        if turn.is_processed:
            return TurnLessons(digest.interaction)
        verdicts = self._outcome_verdicts(digest, observed)
        curator = self._curator("user", digest)
        if not turn.remembered and (adds := _parse_remember(digest.query)):
            curator.curate(adds)
        choice = turns.choice(self.session.id, digest.interaction) or {}
        known: dict[str, Any] = {"topic": observed.kind if observed else _TURN}
        if observed is not None:
            known |= {"good": observed.good, "weight": observed.weight, "signal": observed.source}
            known["reason"] = redact(observed.why)
        curator.ops += self._promotions(verdicts)
        delta = (
            curator.delta("rules", _TURN) if curator.ops or curator.refused or verdicts else None
        )
        checks, held_back = turn.checks, tuple(choice.get("held_back", ()))
        return TurnLessons(
            digest.interaction,
            delta,
            verdicts,
            known=known,
            checks=checks,
            shown=digest.shown,
            held_back=held_back,
        )

    def from_mark(self, number: int, *, good: bool, why: str, by_user: bool = True) -> TurnLessons:
        """Build the lessons of a mark, which replaces an earlier mark of the turn; `by_user`: not inferred from the
        next message. It judges the turn; which strategy is to blame, the reflector says. Raises BadInput if the turn
        does not exist."""
        digest, info = self.digest(number), self.sessions.turns.turn(self.session.id, number)
        assert info is not None, "its digest was loaded"
        mark, words = "good" if good else "bad", redact(why)
        if (info.mark, info.why) == (mark, words):
            return TurnLessons(number, lines=(f"T{number} is already marked {mark}",))
        rows = self.sessions.playbook.deltas_of_turns(self.session, number, number)
        earlier = tuple(
            row.delta.id for row in rows if row.delta.reason in MARKS and not row.undone
        )
        # a random id: marks may repeat
        author = "user" if by_user else "rules"
        delta = Delta(uuid7(), (), author, digest.session_id, number, f"mark {mark}")
        return TurnLessons(number, delta, mark=mark, why=words, replaces=earlier)

    def from_answer(
        self,
        turn: TurnEvidence,
        call: ReflectorCall[ExchangeAnswers],
        asked: Mapping[str, Bullet],
        *,
        pays: bool,
    ) -> tuple[TurnLessons, tuple[str, ...]]:
        """Build the lessons of a reflector's answer about an exchange, and a line per refused item. `asked` are the
        bullets as the question knew them; `pays`: what the answer took is recorded with this exchange."""
        digest = turn.digest
        answer = (call.found or {}).get(digest.interaction, ExchangeAnswer())
        curator = self._curator(call.model, digest)
        curator.refused += answer.losses
        verdicts = self._effect_verdicts(turn, call.model, answer, asked)
        if answer.is_undifferentiated and not verdicts:
            curator.refused.append("the same effect for every strategy tells none of them apart")
        curator.take(answer.lessons, asked)
        curator.ops += self._promotions(verdicts)
        delta = curator.delta(call.model, _TURN, call.answer) if curator.ops or verdicts else None
        contradictions = self._untold_contradictions(answer, asked)
        spent: dict[str, Any] = {"usage": call.usage, "cost": call.cost} if pays else {}
        known = {"judged": answer.turn, "judged_why": redact(answer.why)} if call.answer else {}
        lessons = TurnLessons(
            digest.interaction,
            delta,
            verdicts,
            lines=contradictions.lines,
            figures=contradictions.figures,
            known=known,
            final=True,
            failure=call.failure,
            **spent,
        )
        return lessons, tuple(curator.refused)

    def _untold_contradictions(
        self, answer: ExchangeAnswer, asked: Mapping[str, Bullet]
    ) -> UntoldContradictions:
        """Return what the user has to be told of strategies that still read as the question knew them, and that the
        answer itself does not replace."""
        bullets = self.session.playbook.bullets
        named = answer.contradiction
        settled = {lesson.replaces for lesson in answer.lessons}
        stands = settled.isdisjoint(named) and all(
            reads_as(bullets.get(name), asked.get(name)) for name in named
        )
        found = [Contradiction(named)] if named and stands else []
        return UntoldContradictions.of(found, bullets, self.sessions.turns)

    def _promotions(self, verdicts: Sequence[Verdict]) -> list[Op]:
        """Activate the unconfirmed bullets that helped."""
        bullets = self.session.playbook.bullets
        helped = dict.fromkeys(one.bullet_id for one in verdicts if one.tag == "helpful")
        return [
            Op("UPDATE", name, {"state": "active"})
            for name in helped
            if name in bullets and bullets[name].state == "unconfirmed"
        ]

    def _messages(self, number: int) -> list[ChatMessage]:
        return [message for message in self.session.messages if message.interaction == number]

    def _curator(self, author: str, digest: TurnDigest) -> Curator:
        return Curator(author, digest, self.session, self.sessions.playbook, self.instructions)

    def _outcome_verdicts(
        self, digest: TurnDigest, observed: Observation | None
    ) -> tuple[Verdict, ...]:
        """Return the verdicts of an outcome on the strategies that its deciding call links to it."""
        if observed is None or observed.call is None:
            return ()
        tag: Tag = "helpful" if observed.good else "harmful"
        call, source, why = observed.call.id, observed.source, observed.why
        linked = digest.find_linked(observed, self.session.playbook.bullets)
        return tuple(
            Verdict(bullet.id, "outcome", tag, source, why, call_id=call) for bullet in linked
        )

    def _effect_verdicts(
        self,
        turn: TurnEvidence,
        author: str,
        answer: ExchangeAnswer,
        asked: Mapping[str, Bullet],
    ) -> tuple[Verdict, ...]:
        """Return the verdicts of a reflector's effects, one per bullet and turn. A bullet whose text has changed since
        the question gets none: it was not this text."""
        bullets = self.session.playbook.bullets
        known = self.sessions.turns.verdicts_on(self.session.id, turn.digest.interaction)
        found = list[Verdict]()
        for name, (effect, why) in answer.effects.items():
            tag = TAG_OF[effect]
            is_new = (name, "tag") not in known and reads_as(bullets.get(name), asked.get(name))
            if is_new and not (answer.is_undifferentiated and tag != "neutral"):
                found.append(Verdict(name, "tag", tag, author, redact(why), effect=effect))
        return tuple(found)


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
        approved: bool = False,
    ) -> str:
        """Store a statement of the user's, in place of the bullet `replaces`; an empty text only removes that bullet.
        `scope` "" is that of the bullet, else the project. `approved`: the user was asked and said yes. Returns a line
        for the model. Raises BadInput if nothing can be stored or removed."""
        session, curator = self._session(), self._curator()
        old = self.sessions.playbook.find(replaces, session) if replaces else None
        add = AddProposal(
            text,
            when,
            "preference",
            quote=quote,
            scope=scope,
            replaces=old.id if old else "",
            approved=approved,
        )
        if text.strip():
            curator.curate([add])
        elif old is not None:
            curator.remove(add, old)
        if not curator.ops:
            raise BadInput("; ".join(curator.refused) or "There is nothing to remember.")
        applied = self.sessions.playbook.apply(curator.delta(REMEMBERED, REMEMBERED), session)
        note_anchors(self.sessions, session, applied.reworded)
        lines = [
            *(self._result_line(op, name, session) for name, op in applied.ops_by_id()),
            *curator.refused,
        ]
        return "; ".join(lines)

    def _curator(self) -> Curator:
        session, store = self._session(), self.sessions.turns
        digest = LessonBuilder(self.sessions, session).digest(session.interactions)
        # what the user said of the turn before is said in this one too
        before = store.turn(session.id, session.interactions - 1)
        if before is not None and before.why:
            said = Reaction("mark", before.why, value=before.mark)
            digest = replace(digest, reactions=(*digest.reactions, said))
        return Curator(REMEMBERED, digest, session, self.sessions.playbook, self.instructions)

    def _result_line(self, op: Op, name: str, session: Session) -> str:
        if op.op == "REMOVE":
            return f"{name} is removed"
        bullet = session.playbook.bullets.get(name)
        if bullet is None or bullet.is_live:
            return f"kept as {name}"
        replaced = replaced_by(op.evidence)
        stays = f"; {replaced[0]} stays until then" if replaced else ""
        return f"kept as {name}, and needs the user's approval: /playbook review{stays}"

    def recall(self, query: str) -> str:
        """Return the bullets that match a query as prompt text, "" if none, and record them as shown in this turn."""
        bullets = self._session().get_playbook().bullets
        found = SelectionRequest(bullets, query, self.count, self.index, RECALLED).recall().bullets
        if found:
            self.sessions.add_shown([bullet.id for bullet in found])
        return render_bullets(found).strip()

    def _session(self) -> Session:
        session = self.sessions.session
        self.sessions.playbook.refresh(session)
        return session
