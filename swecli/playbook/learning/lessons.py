"""What a turn teaches: by its checks and the user's typed words, by a mark, by a model's answer, and by the model's own
tools: `remember` what the user states, `recall` what the prompt has no room for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.playbook import MARKS, Delta, Evidence, Op, Scope, Verdict, render_bullets, shorten
from swecli.models.session import Session, uuid7
from swecli.playbook.learning.curator import (
    AddProposal,
    Curated,
    CuratorContext,
    TagProposal,
    build_delta,
    contains_quote,
    curate,
)
from swecli.playbook.learning.evidence import Observation, TurnEvidence, checks_of, is_correction, observe, roles
from swecli.playbook.learning.reflector_model import ReflectorCall, read_answer
from swecli.playbook.scoring.score import Reflector, outcome_verdicts, tag_verdicts
from swecli.playbook.selection.rank import Count, SelectionRequest
from swecli.playbook.selection.select import RECALLED, recall
from swecli.playbook.similarity import BulletIndex
from swecli.playbook.turn_digest import TurnDigest, digest_turn
from swecli.playbook.workspace import Workspaces, check_new_anchors
from swecli.redact import redact
from swecli.store.playbook.bullets import project_of
from swecli.store.records import TurnLessons
from swecli.store.session_manager import SessionManager

_TURN = "turn"  # the reason of what a turn teaches
_REMEMBERED = "remember"  # the reason of such a change
_TYPED = re.compile(r"(?:please\s+)?remember(?:\s+that\b|\s*:)\s*(\S.*)", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


def load_digest(sessions: SessionManager, session: Session, number: int) -> TurnDigest:
    """A stored turn. Raises BadInput when there is no such turn."""
    sessions.load_back_to(max(1, number))
    info = sessions.interaction_info(number)
    if info is None:
        raise BadInput(f"There is no turn T{number} in this session.")
    own = [message for message in session.messages if message.interaction == number]
    return digest_turn(own, info.shown, session_id=session.id, outcome=info.status)


def _curator_context(
    sessions: SessionManager, session: Session, digest: TurnDigest, workspaces: Workspaces | None, author: str
) -> CuratorContext:
    """What there is, what the user does not want, what the prompt says anyway, and where the session works."""
    store = sessions.playbook
    return CuratorContext(
        author,
        digest,
        tuple(session.playbook.bullets.values()),
        tuple(store.removed(session)),
        workspaces.instructions() if workspaces else "",
        workspaces.lookup(session) if workspaces else None,
        lambda name: [item.session_id for item in store.evidence(name)],
    )


def _parse_remember(query: str) -> list[AddProposal]:
    """What the user's message asks to be remembered, in so many words: `remember that ...`, `remember: ...`. Its first
    lines count, for further down it may hold a log or a page with such words; a question asks for nothing."""
    lines = takewhile(bool, map(_TYPED.match, query.strip().splitlines()))
    sentences = (_SENTENCE.split(line[1])[0].strip() for line in lines if line)
    whole = (one[0].upper() + one[1:].rstrip(".") for one in sentences if not one.endswith("?"))
    return [AddProposal(sentence, kind="preference", quote=sentence) for sentence in whole]


@dataclass(frozen=True, slots=True)
class InspectedTurn:
    """A turn with what it shows. `seen` says that its rules' part is applied, `corrected` that the user begins it with
    a "no," to the turn before, `user_next` is what the user wrote after it."""

    digest: TurnDigest
    evidence: TurnEvidence
    is_processed: bool = False
    corrects_previous: bool = False
    user_next: str = ""
    remembered: bool = False


def inspect_turn(sessions: SessionManager, session: Session, digest: TurnDigest) -> InspectedTurn:
    """Look at a turn; one whose rules' part is applied is as it was judged then."""
    store, number = sessions.playbook.turns, digest.interaction
    record = store.of(session.id, number)
    evidence = observe(digest, store.checks(session, checks_of(digest)))
    is_processed = record is not None and bool(record.topic)
    if record is not None and is_processed:
        observed = Observation(record.good, record.weight, record.signal, "") if record.good is not None else None
        evidence = replace(evidence, observed=observed, friction=evidence.friction or record.good is False)
    later = digest_turn([message for message in session.messages if message.interaction == number + 1])
    rows = [] if is_processed else sessions.playbook.deltas_of_turns(session, number, number)
    remembered = any(row.delta.reason == _REMEMBERED and not row.undone for row in rows)
    return InspectedTurn(
        digest, evidence, is_processed, is_correction(digest.query) and number > 1, later.query[:2_000], remembered
    )


def should_ask_model(turn: InspectedTurn, *, every_turn: bool, offline: bool) -> bool:
    """Whether a model is asked about a turn: each where that is cheap, else those with friction or a first success."""
    return (
        every_turn or turn.evidence.friction or turn.corrects_previous or (turn.evidence.first_success and not offline)
    )


def lessons_from_rules(
    sessions: SessionManager, session: Session, turn: InspectedTurn, workspaces: Workspaces | None
) -> TurnLessons:
    """What the rules see in a turn; nothing for one that they have seen."""
    digest = turn.digest
    if turn.is_processed:
        return TurnLessons(digest.interaction)
    verdicts, figures = _outcome_verdicts(sessions, session, digest, turn.evidence.observed)
    curated = Curated()
    if adds := [] if turn.remembered else _parse_remember(digest.query):
        curated = curate(adds, [], _curator_context(sessions, session, digest, workspaces, "user"))
    observed = turn.evidence.observed
    known: dict[str, Any] = {"topic": observed.kind if observed else _TURN}
    if observed is not None:
        known |= {"good": observed.good, "weight": observed.weight, "signal": observed.source}
    delta = build_delta(digest, curated, "rules", _TURN) if curated.ops or curated.refused or verdicts else None
    choice = sessions.playbook.turns.choice(session.id, digest.interaction) or {}
    held_back = tuple(choice.get("held_back", ()))
    return TurnLessons(
        digest.interaction, delta, verdicts, (), figures, known, turn.evidence.checks, digest.shown, held_back
    )


def _outcome_verdicts(
    sessions: SessionManager, session: Session, digest: TurnDigest, observed: Observation | None
) -> tuple[tuple[Verdict, ...], Mapping[str, Any]]:
    """The verdicts of an observation on what was shown, and the odds of that kind of turn afterwards."""
    if observed is None:
        return (), {}
    name = f"kind:{project_of(session)}:{observed.kind}"
    base = sessions.playbook.turns.figures([name]).get(name, 0.0)
    shown = roles(digest, observed, session.playbook.bullets)
    verdicts, moved = outcome_verdicts(
        shown, observed.good, observed.weight, float(base), (observed.source, observed.why)
    )
    return verdicts, {name: moved}


def lessons_from_mark(
    sessions: SessionManager, session: Session, digest: TurnDigest, *, good: bool, why: str
) -> TurnLessons:
    """The user's word on a turn; an earlier one of theirs gives way to it."""
    info, store = sessions.interaction_info(digest.interaction), sessions.playbook
    assert info is not None, "its digest was made of it"
    mark, words = "good" if good else "bad", redact(why)
    if (info.mark, info.why) == (mark, words):
        return TurnLessons(digest.interaction, lines=(f"T{info.number} was marked {mark} before",))
    note = f": {shorten(words, 80)}" if words else ""
    observed = Observation(good, 1.0, "mark", f"you marked it {mark}{note}")
    verdicts, figures = _outcome_verdicts(sessions, session, digest, observed)
    earlier = [
        row.delta.id
        for row in store.deltas_of_turns(session, digest.interaction, digest.interaction)
        if row.delta.reason in MARKS and not row.undone
    ]
    delta = Delta(uuid7(), (), "user", digest.session_id, digest.interaction, f"mark {mark}")  # a new word each time
    return TurnLessons(digest.interaction, delta, verdicts, (), figures, mark=mark, why=words, replaces=tuple(earlier))


def lessons_from_answer(
    sessions: SessionManager, session: Session, turn: InspectedTurn, asked: ReflectorCall, workspaces: Workspaces | None
) -> tuple[TurnLessons, tuple[str, ...]]:
    """What a model's answer comes to, and what of it was not taken."""
    digest = turn.digest
    read = read_answer(asked.answer, digest.shown) if asked.answer else None
    curated = Curated()
    verdicts: tuple[Verdict, ...] = ()
    figures: dict[str, Any] = {}
    if read is not None:
        verdicts, figures = _tag_verdicts(sessions, session, turn, asked.model, read.tags)
        if read.adds or read.updates:
            ground = _curator_context(sessions, session, digest, workspaces, asked.model)
            curated = curate(read.adds, read.updates, ground)
        curated.refused[:0] = read.losses
    delta = build_delta(digest, curated, asked.model, _TURN, asked.answer) if curated.ops or verdicts else None
    lessons = TurnLessons(
        digest.interaction,
        delta,
        verdicts,
        (),
        figures,
        final=True,
        failure=asked.failure,
        usage=asked.usage,
        cost=asked.cost,
    )
    return lessons, tuple(curated.refused)


def _tag_verdicts(
    sessions: SessionManager, session: Session, turn: InspectedTurn, author: str, tags: Sequence[TagProposal]
) -> tuple[tuple[Verdict, ...], dict[str, Any]]:
    """The verdicts of a model's tags on what was shown, one a bullet and turn; and what is known of the model."""
    store, digest = sessions.playbook.turns, turn.digest
    known = store.verdicts_on(session.id, digest.interaction)
    name = f"reflector:{author}"
    reflector = Reflector.from_json(store.figures([name]).get(name))
    fresh = [
        (session.playbook.bullets[tag.bullet_id], tag.tag, redact(shorten(tag.why, 200)))
        for tag in tags
        if tag.bullet_id in session.playbook.bullets and (tag.bullet_id, "tag") not in known
    ]
    first = {bullet.id: (bullet.id, "outcome") not in known for bullet, _, _ in fresh}
    observed = turn.evidence.observed
    verdicts, learned = tag_verdicts(fresh, observed.good if observed else None, (author, reflector), first)
    return verdicts, {name: learned.to_json()} if verdicts else {}


@dataclass(slots=True)
class PlaybookMemory:
    """What the tools `remember` and `recall` work with, for one program."""

    sessions: SessionManager
    workspaces: Workspaces
    count: Count = field(default=lambda text: len(text) // 4)
    index: BulletIndex = field(default_factory=BulletIndex)

    def remember(self, text: str, quote: str, when: str = "", scope: Scope = "project", replaces: str = "") -> str:
        """Keep what the user states, in the place of another bullet or of none; without a text only take that one out.
        Returns a line for the model. Raises BadInput when there is nothing to do, or it may not be done."""
        session = self._session()
        self.sessions.playbook.refresh(session)
        digest = load_digest(self.sessions, session, session.interactions)
        curated = Curated()
        if text.strip():
            add = AddProposal(text, when, "preference", quote=quote, scope=scope)
            curated = curate([add], [], _curator_context(self.sessions, session, digest, self.workspaces, _REMEMBERED))
        if replaces:
            self._replace(replaces, quote, digest, curated)
        if not curated.ops:
            raise BadInput("; ".join(curated.refused) or "There is nothing to remember.")
        applied = self.sessions.playbook.apply(build_delta(digest, curated, _REMEMBERED, _REMEMBERED), session)
        for name in (*applied.added, *applied.touched):
            check_new_anchors(self.sessions, session, self.workspaces, name)
        lines = [*(self._refusal_line(op, name, session) for name, op in applied.ops_by_id()), *curated.refused]
        return "; ".join(lines)

    def _replace(self, replaces: str, quote: str, digest: TurnDigest, curated: Curated) -> None:
        """Take a bullet out in the user's words; where they are not the user's, it stays and that is reported."""
        bullet = self.sessions.playbook.find(replaces, self._session())
        if not contains_quote(quote, digest.own_words):
            curated.refused.append(f"{bullet.id} stays: the quote is not in the user's message")
            return
        if any(op.bullet_id == bullet.id for op in curated.ops):
            return  # the new words were put into it
        quoted = Evidence(_REMEMBERED, shorten(redact(quote), 300), digest.session_id, digest.interaction, trust="user")
        curated.ops.append(Op("REMOVE", bullet.id, evidence=(quoted,)))

    def _refusal_line(self, op: Op, name: str, session: Session) -> str:
        if op.op == "REMOVE":
            return f"{name} is removed"
        bullet = session.playbook.bullets.get(name)
        if bullet is None or bullet.is_live:
            missing = bullet.stale if bullet else ""
            return f"kept as {name}" + (f"; it is stale: {missing}" if missing else "")
        return f"kept as {name}, and needs the user's approval: /playbook review"

    def recall(self, query: str) -> str:
        """The bullets that match a query, as prompt text, "" for none; they are recorded as shown in the running
        turn."""
        session = self._session()
        self.sessions.playbook.refresh(session)
        playbook = session.get_playbook()
        request = SelectionRequest(playbook.bullets, query, self.count, self.index, RECALLED)
        found = recall(request).bullets
        if found:
            self.sessions.note_shown([bullet.id for bullet in found])
        return render_bullets(found).strip()

    def _session(self) -> Session:
        session = self.sessions.current_session
        if session is None:
            raise BadInput("No session is open.")
        return session
