"""The rule-based reflector: from a turn's signals to proposals. Runs every turn and asks no model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from swecli.models.ids import NUMBER
from swecli.models.playbook import Evidence, SessionPlaybook, Tag, Trust
from swecli.playbook import commands
from swecli.playbook.counted import key_of
from swecli.playbook.digest import PreviousTurn, TurnDigest
from swecli.playbook.learning import experience
from swecli.playbook.learning.proposals import AddProposal, Reflection, TagProposal
from swecli.playbook.learning.user_words import Lesson, lessons, remedy
from swecli.playbook.signals import ONLY_SEEN, WEIGHTS, Signal, signals_of, user_feedback
from swecli.playbook.words import containment, content_words, shorten

GUESS = 0.5  # share of a bullet's words that a corrected turn must hold, for an uncited bullet to be blamed
NAMED = re.compile(rf"\bP-?({NUMBER})\b")


class ExecutionReflector:
    """Turns what happened into proposals, by rules.

    Args:
        min_tool_calls: calls a turn needs before how it went says something about the bullets that were shown.
        min_confidence: weight a signal needs before it counts a bullet as helpful or harmful.
    """

    def __init__(self, min_tool_calls: int = 1, min_confidence: float = 0.5) -> None:
        self.min_tool_calls = min_tool_calls
        self.min_confidence = min_confidence

    def reflect(self, digest: TurnDigest, playbook: SessionPlaybook) -> Reflection:
        """What one turn teaches. Looks at nothing but its arguments; the same turn gives the same proposals."""
        signals = signals_of(digest)
        own = [s for s in signals if s.about == "turn"]
        said = [s for s in signals if s.about == "previous" or s.name == "mark"]
        tags, lines, blamed = self._judged(said, digest, playbook)
        if digest.mark is None:
            tags.extend(self._own_tags(own, digest, playbook, blamed))
        adds = list(_taught(digest)) if digest.mark is None else list(_after_mark(digest))
        if digest.mark is None:
            adds.extend(_refusals(own, digest))
            adds.extend(experience.strategies(digest))
        return Reflection(
            tags=tuple(t for t in tags if (t.bullet_id, t.tag) not in digest.tagged or t.about == "previous"),
            adds=tuple(add for add in adds if not any(key_of(e) in digest.taken for e in add.evidence)),
            friction=_friction(signals, digest),
            lines=tuple(lines),
            novel=digest.mark is None and _novel(own, digest, playbook),
            blameless=_blameless(own),
            user_said=_words_of(said, own),
        )

    def _judged(
        self, said: Sequence[Signal], digest: TurnDigest, playbook: SessionPlaybook
    ) -> tuple[list[TagProposal], list[str], frozenset[str]]:
        """Tags that the user's words give to a turn: the one before, or the marked one; and the bullets they blame."""
        signal = next((s for s in said if s.weight >= self.min_confidence), None)
        if signal is None:
            return [], [], frozenset()
        turn = digest.as_previous() if signal.name == "mark" else digest.previous
        if turn is None:
            return [], [], frozenset()
        blamed = _named(signal.quote, playbook) or turn.cited
        if signal.direction == "bad" and not blamed:
            blamed = _most_likely(turn, signal.quote, playbook)
        tag: Tag = "helpful" if signal.direction == "good" else "harmful"
        fresh = [i for i in blamed if (i, tag) not in turn.tagged]
        lines = [f"{i} is {tag} for that turn already" for i in blamed if i not in fresh]
        if not blamed and signal.direction == "bad":
            lines.append(f"noted ({signal.why}): no strategy was involved, so none was marked")
        elif not blamed and signal.name == "mark":
            lines.append(f"noted ({signal.why}): the answer named no strategy")
        trust: Trust = "user"
        wrong = frozenset(blamed) if signal.direction == "bad" else frozenset[str]()
        return [_tag(i, tag, signal, digest, trust) for i in fresh], lines, wrong

    def _own_tags(
        self, own: Sequence[Signal], digest: TurnDigest, playbook: SessionPlaybook, blamed: frozenset[str]
    ) -> Iterator[TagProposal]:
        """Tags that the turn's own outcome gives: at most one a bullet. What the user's words blame in it is named in
        the answer to them, not followed."""
        refusals = [s for s in own if s.name == "denial"]
        deciding = self._verdict([s for s in own if s.name != "denial"])
        refused = {i: s for s in refusals for i in _concerned(s, digest, playbook)} | _disproved(digest, playbook)
        for bullet_id in dict.fromkeys((*digest.cited, *refused)):
            if bullet_id in digest.contradicted or bullet_id in blamed:
                yield TagProposal(bullet_id, "neutral", "the answer set it aside", 0.0)
                continue
            signal = refused.get(bullet_id) or deciding
            if signal is None or (len(digest.calls) < self.min_tool_calls and bullet_id not in refused):
                yield TagProposal(bullet_id, "neutral", "used, with no sign of how it went", 0.0)
                continue
            tag: Tag = "helpful" if signal.direction == "good" else "harmful"
            yield _tag(bullet_id, tag, signal, digest, "reasoning")
        if len(digest.calls) >= self.min_tool_calls:
            for bullet_id in digest.shown:
                if bullet_id not in digest.cited and bullet_id not in refused:
                    yield TagProposal(bullet_id, "neutral", "shown, not used", 0.0)

    def _verdict(self, own: Sequence[Signal]) -> Signal | None:
        """The strongest signal; None when none is strong enough, or when good and bad weigh the same."""
        strong = [s for s in own if s.weight >= self.min_confidence]
        best = max(strong, key=lambda s: s.weight, default=None)
        if best is None or any(s.weight == best.weight and s.direction != best.direction for s in strong):
            return None
        return best


def _tag(bullet_id: str, tag: Tag, signal: Signal, digest: TurnDigest, trust: Trust) -> TagProposal:
    evidence = Evidence(
        source=signal.name,
        quote=signal.quote or signal.why,
        session_id=digest.session_id,
        interaction=digest.interaction,
        call_id=signal.call_id,
        trust=trust,
    )
    return TagProposal(bullet_id, tag, signal.why, signal.weight, signal.name, signal.about, (evidence,))


def _named(text: str, playbook: SessionPlaybook) -> tuple[str, ...]:
    """Bullets the user names by id in a judgement ("no, P-3 is wrong")."""
    ids = dict.fromkeys(f"P-{int(n)}" for n in NAMED.findall(text))
    return tuple(i for i in ids if i in playbook.bullets)


def _most_likely(turn: PreviousTurn, quote: str, playbook: SessionPlaybook) -> tuple[str, ...]:
    """The one shown bullet that a corrected turn most likely followed without naming it; () when none fits."""
    commands = " ".join(call.command for call in turn.calls)
    corrected = content_words(f"{turn.query} {turn.answer} {commands} {quote}")
    scores = []
    for bullet_id in turn.shown:
        bullet = playbook.bullets.get(bullet_id)
        words = content_words(bullet.content) if bullet else frozenset()
        if len(words & corrected) >= 2:
            scores.append((containment(words, corrected), bullet_id))
    best = max(scores, default=(0.0, ""), key=lambda pair: pair[0])
    return (best[1],) if best[0] >= GUESS else ()


def _concerned(signal: Signal, digest: TurnDigest, playbook: SessionPlaybook) -> Iterable[str]:
    """Cited bullets that speak of a refused call; where none does, a single citation is taken to be behind it."""
    call = next((c for c in digest.calls if c.id == signal.call_id), None)
    asked = content_words(" ".join(str(value) for value in call.parameters.values())) if call else frozenset()
    near = [i for i in digest.cited if i in playbook.bullets and content_words(playbook.bullets[i].content) & asked]
    return near or (digest.cited if len(digest.cited) == 1 else ())


def _disproved(digest: TurnDigest, playbook: SessionPlaybook) -> dict[str, Signal]:
    """Shown bullets whose own command turned out to be the wrong one here."""
    found: dict[str, Signal] = {}
    for bullet_id in digest.shown:
        bullet = playbook.bullets.get(bullet_id)
        call = experience.disproved(bullet.content, digest) if bullet else None
        if call:
            why = f"{shorten(call.command, 60)} fails here ({commands.misused(call)})"
            found[bullet_id] = Signal("command", "bad", WEIGHTS["command"], why, call_id=call.id)
    return found


def _taught(digest: TurnDigest) -> Iterator[AddProposal]:
    """What the user's own words teach: lessons anywhere, and what a correction says to do instead."""
    taught = lessons(digest.query)
    for lesson in taught:
        yield _user_add(lesson, digest, "teaching", "you said so")
    said = user_feedback(digest.query, digest.previous)
    if said is None or said.good or said.kind == "complaint":
        return
    better = remedy(said.rest)
    if better and better.content.lower() not in [lesson.content.lower() for lesson in taught]:
        yield _user_add(better, digest, "correction", "you corrected it", replaces=True)


def _refusals(own: Sequence[Signal], digest: TurnDigest) -> Iterator[AddProposal]:
    """What the reason of a refused call says to do instead."""
    for signal in own:
        better = remedy(signal.quote) if signal.name == "denial" and signal.quote else None
        if better:
            yield _user_add(better, digest, "denial", "you said so when you refused", call_id=signal.call_id)


def _after_mark(digest: TurnDigest) -> Iterator[AddProposal]:
    better = remedy(digest.why) if digest.why else None
    if better:
        yield _user_add(better, digest, "mark", "you said so", replaces=digest.mark == "bad")


def _user_add(
    lesson: Lesson, digest: TurnDigest, source: str, why: str, replaces: bool = False, call_id: str = ""
) -> AddProposal:
    evidence = Evidence(
        source=source,
        quote=lesson.quote,
        session_id=digest.session_id,
        interaction=digest.interaction,
        call_id=call_id,
        trust="user",
    )
    return AddProposal(
        content=lesson.content,
        section=lesson.section,
        kind=lesson.kind,
        scope=lesson.scope,
        trust="user",
        evidence=(evidence,),
        why=why,
        replaces=replaces,
    )


def _friction(signals: Sequence[Signal], digest: TurnDigest) -> bool:
    """Whether something went wrong, also when it went well in the end."""
    bad = [s for s in signals if s.direction == "bad"]
    if len(bad) >= 2 or any(s.name != "stumble" for s in bad):
        return True
    return digest.mark is None and any(commands.passed(call) is False for call in digest.calls)


def _blameless(own: Sequence[Signal]) -> bool:
    bad = [s for s in own if s.direction == "bad" and s.name != "stumble"]
    return bool(bad) and all(s.name in ("command", "transition") and s.weight == ONLY_SEEN for s in bad)


def _novel(own: Sequence[Signal], digest: TurnDigest, playbook: SessionPlaybook) -> bool:
    """First success of a kind: a command worked whose program no bullet names and the turn before did not run."""
    return any(
        s.direction == "good" and s.name in ("command", "transition") and experience.is_new(s.call_id, digest, playbook)
        for s in own
    )


def _words_of(said: Sequence[Signal], own: Sequence[Signal]) -> str:
    quotes = [s.quote for s in [*said, *own] if s.quote]
    return shorten(" / ".join(dict.fromkeys(quotes)), 400)
