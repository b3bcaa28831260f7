"""The curator checks what reflectors and the `remember` tool propose, and builds one delta from what passes."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from swecli.models.message import Origin
from swecli.models.playbook import (
    OUTSIDE,
    Bullet,
    Delta,
    Evidence,
    Kind,
    Op,
    Scope,
    Trust,
    length_problem,
)
from swecli.models.session import Session
from swecli.playbook.action import DOUBT, REPLACES
from swecli.playbook.learning.answer import Lesson
from swecli.playbook.learning.evidence import CallDigest, TurnDigest
from swecli.playbook.ranking import clean, most_similar, stems
from swecli.playbook.wording import is_in_words_of, is_same_text, normalize
from swecli.playbook.workspace import find_anchors
from swecli.redact import has_secret, redact
from swecli.store.playbook.store import PlaybookStore
from swecli.text import shorten

_OLD = 200  # characters of a strategy in a question
RESTATED = "it says more than you wrote"  # the reason if the user may say at once what was meant
_PROVISIONAL = "seen in a result"  # the reason if a second turn may confirm the bullet
_MAX_QUOTE = 300  # characters of stored evidence
_KNOWN = 0.75  # share of a text's stems in one line of the instructions from which they contain it
# URLs, programs that download, and flags that disable a check: spelled alike in every language.
_EXTERNAL = re.compile(
    r"\b[a-z][a-z0-9+.-]*://\S*|\bwww\.\S*|\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}/\S*|\b(?:curl|wget|sudo|chmod)\b|--no-[\w-]+|"
    r"--(?:force|insecure|trusted-host|index-url)\b|\|\s*(?:sudo\s+)?\w*sh\b",
    re.IGNORECASE,
)
# Further words of instructions that are never confirmed without the user, however often a result repeats them.
_ORDERS = re.compile(
    r"\b(?:install|download|upload|eval|disable|ignore|bypass)\b",
    re.IGNORECASE,
)
_MIN_WORDS, _MIN_LETTERS = 3, 8  # a quote needs one of them; a wide letter counts twice


@dataclass(frozen=True, slots=True)
class AddProposal:
    """A new bullet. `quote` is evidence copied from the turn, `call_id` the call whose result contains it ("": the
    user's words, or unknown). `replaces` is the id of a bullet that no longer holds; `approved`: the user was asked
    and said yes; `from_result`: it is not the user's, whoever wrote its quote."""

    content: str
    when: str = ""
    kind: Kind = "strategy"
    quote: str = ""
    call_id: str = ""
    scope: Scope = "project"
    replaces: str = ""
    approved: bool = False
    from_result: bool = False

    @classmethod
    def of(cls, lesson: Lesson) -> AddProposal:
        """Convert a reflector's lesson."""
        return cls(
            clean(lesson.text),
            clean(lesson.when),
            lesson.kind,
            lesson.quote,
            lesson.call_id,
            replaces=lesson.replaces,
            from_result=lesson.source == "result",
        )


@dataclass(slots=True)
class Curator:
    """Checks the proposals of one turn. `author` is "user" for the user's own typed words; `instructions`
    returns those that no strategy should repeat. `ops` have passed; `refused` has a line per refused proposal."""

    author: str
    digest: TurnDigest
    session: Session
    store: PlaybookStore
    instructions: Callable[[], str] = str
    ops: list[Op] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def curate(self, adds: Sequence[AddProposal]) -> None:
        for add in adds:
            self._add(replace(add, content=clean(add.content), when=clean(add.when)))

    def take(self, lessons: Sequence[Lesson], asked: Mapping[str, Bullet]) -> None:
        """Take a reflector's lessons. Those that name a bullet as it was `asked` about, and is no more, are refused."""
        bullets = self.session.playbook.bullets
        for lesson in lessons:
            named = [name for name in (lesson.same_as, lesson.replaces) if name]
            gone = [name for name in named if not reads_as(bullets.get(name), asked.get(name))]
            if gone:
                self.refused.append(f"{gone[0]} was changed or removed meanwhile")
            elif lesson.same_as:
                self._confirm_by_id(lesson, bullets[lesson.same_as])
            elif lesson.replaces:
                self._replace(AddProposal.of(lesson), bullets[lesson.replaces])
            else:
                self._add(AddProposal.of(lesson))

    def delta(self, author: str, reason: str, salt: str = "") -> Delta:
        """Build a delta whose id is a hash of its turn, author, reason, `salt` and content, so that it is applied
        once."""
        rows = [
            [op.op, op.bullet_id, op.fields, [[e.source, e.quote, e.call_id] for e in op.evidence]]
            for op in self.ops
        ]
        place = (self.digest.session_id, self.digest.interaction)
        text = json.dumps([*place, author, reason, salt, rows], sort_keys=True)
        name, refused = (
            "d-" + hashlib.sha256(text.encode()).hexdigest()[:24],
            tuple(dict.fromkeys(self.refused)),
        )
        return Delta(name, tuple(self.ops), author, *place, reason, refused)

    def _add(self, add: AddProposal) -> None:
        trust = self._source_of_quote(add)
        problem = rejection_reason(add.content, trust or "tool", self.instructions)
        if problem or (trust is None and self.author != "remember"):
            self._refuse(add, problem or "its quote is not in this turn")
            return
        same, noted = self._find_same(add.content), self._find_noted(add)
        if same is not None and trust != "user":
            self._confirm(add, same, trust or "tool")
        elif same is not None:
            self._restate(add, same)
        elif noted is not None:
            self._take_noted(add, noted)
        elif trust != "user" and (
            gone := most_similar(add.content, self.store.removed(self.session))
        ):
            self._refuse(add, f"you removed {gone.id}, which covers it")
        else:
            self._add_new(add, trust, self._doubt(add, trust))

    def _find_noted(self, add: AddProposal) -> Bullet | None:
        """Return the bullet that somebody else learned from the same words of the user, which are a reaction to one
        turn and the query of the next. What `remember` stores for one quote twice is two bullets."""
        if add.from_result or add.replaces or self.digest.interaction < 1:
            return None
        turn = self.digest.interaction
        words = normalize(add.quote)
        by_hand = ("user", "remember")
        for name, item in self.store.said_in(self.session, turn - 1, turn + 1):
            if self.author in by_hand and item.source in by_hand:
                continue
            bullet = self.session.playbook.bullets.get(name)
            said = normalize(item.quote)
            if bullet is not None and words and (words in said or said in words):
                return bullet
        return None

    def _take_noted(self, add: AddProposal, noted: Bullet) -> None:
        """Keep what was noted; the words of the user, or of the model that `remember`s, go before a reflector's."""
        doubt = "" if self.author == "user" or add.approved else self._doubt(add, "user")
        if self.author in ("user", "remember") and not doubt:
            self._rewrite(add, noted)
        else:
            self._refuse(add, f"what its quote says is kept as {noted.id}")

    def _find_same(self, content: str) -> Bullet | None:
        bullets = self.session.playbook.bullets.values()
        return next((one for one in bullets if is_same_text(one.content, content)), None)

    def _doubt(self, add: AddProposal, trust: Trust | None) -> str:
        """Return why a new bullet must wait for the user's approval, or ""."""
        if trust != "user":
            return _PROVISIONAL if trust else "the quote is not in your own words"
        if self.author == "user" or add.approved:
            return ""
        old = self.session.playbook.bullets.get(add.replaces)
        if not self._is_said(add.content, old):
            return RESTATED
        return self.objection(add.content, add.scope, old)

    def objection(self, content: str, scope: Scope, replaced: Bullet | None) -> str:
        """Return why even the user's words need a yes before they become the bullet `content` ("": none) in place of
        `replaced`, or ""."""
        if content and scope == "user":
            return "it would apply in all your projects"
        if replaced is None:
            return ""
        verb = "replace" if content else "remove"
        old = f'it would {verb} {replaced.id} "{shorten(replaced.content, _OLD)}"'
        if replaced.scope == "user":
            return f"{old}, which applies in all your projects"
        if is_hand_written(self.store, replaced):
            return f"{old}, which you wrote"
        if not content and replaced.trust == "user":
            return f"{old}, which you said"
        return ""

    def _is_said(self, content: str, replaced: Bullet | None) -> bool:
        """Return True if a text is the user's: most of it stands in their own words, and so does every URL, flag and
        program that downloads."""
        words = self.digest.own_words
        before = replaced.content if replaced else ""
        goes_beyond = _requests_beyond(content, f"{words}\n{before}")
        return is_in_words_of(content, words, before) and not goes_beyond

    def _add_new(self, add: AddProposal, trust: Trust | None, doubt: str) -> None:
        """Add a bullet in place of the one it replaces; with a doubt it is quarantined, and replaces nothing yet."""
        fields: dict[str, Any] = {
            "content": add.content,
            "kind": add.kind,
            "scope": add.scope,
            "state": "quarantined" if doubt else "active",
            "trust": _stored_trust(trust, doubt),
        }
        fields |= {"when": add.when} if add.when else {}
        fields |= {"anchors": list(anchors)} if (anchors := find_anchors(add.content)) else {}
        evidence = self._evidence(add, fields["trust"])
        if doubt:
            evidence += (replace(evidence[0], source=DOUBT, quote=doubt, trust="tool"),)
        if doubt and add.replaces:
            evidence += (replace(evidence[0], source=REPLACES, quote=add.replaces, trust="tool"),)
        self.ops.append(Op("ADD", fields=fields, evidence=evidence))
        if add.replaces and not doubt:
            self._remove(add)

    def remove(self, add: AddProposal, old: Bullet) -> None:
        """Remove the bullet `old`, which a proposal without content names, if the user says so."""
        if not self.quotes_user(add.quote):
            self.refused.append(f"{old.id} stays: the quote is not in the user's message")
        elif not add.approved and (problem := self.objection("", add.scope, old)):
            self.refused.append(f"{old.id} stays: {problem}, so only a yes of the user removes it")
        else:
            self._remove(add)

    def _remove(self, add: AddProposal) -> None:
        self.ops.append(Op("REMOVE", add.replaces, evidence=self._evidence(add, "user")))

    def _confirm_by_id(self, lesson: Lesson, old: Bullet) -> None:
        """Confirm a bullet that a lesson names, and remove the one that both replace."""
        add = AddProposal.of(replace(lesson, replaces=""))
        trust = self._source_of_quote(add)
        if trust is None and (old.state == "quarantined" or lesson.replaces):
            self.refused.append(f"{old.id} is not confirmed: the quote is not in this exchange")
            return
        if trust == "user" and self._may_restate(old):
            self._restate(add, old)
        elif trust is not None:
            self._confirm(add, old, trust, by_id=True)
        if lesson.replaces:
            self.remove(replace(add, replaces=lesson.replaces), self._bullets[lesson.replaces])

    def _may_restate(self, old: Bullet) -> bool:
        """Return True if the user's words say what a bullet says, and nothing but that speaks for a yes."""
        waits_for_yes = old.scope == "user" or self._is_to_replace(old)
        is_new = old.trust != "user" or not old.is_live
        return is_new and not waits_for_yes and self._is_said(old.content, None)

    def _confirm(self, add: AddProposal, old: Bullet, trust: Trust, *, by_id: bool = False) -> None:
        """Add evidence to a bullet that a result repeats; `by_id`: the reflector says that it is the same. One that
        waits for a second exchange becomes unconfirmed; of one in prompts, the model repeats its own prompt."""
        if old.state in ("quarantined", "disabled"):
            if problem := self._confirmation_problem(old, trust, by_id=by_id):
                self.refused.append(f"{old.id} is not confirmed: {problem}")
                return
            fields = {"state": "unconfirmed"}
        elif old.id in self.digest.shown or by_id:
            return
        else:
            fields = {"trust": old.trust}
        self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, trust)))

    def _confirmation_problem(self, bullet: Bullet, trust: Trust, *, by_id: bool) -> str:
        """Return why another result does not confirm a bullet, or ""."""
        if bullet.state == "disabled":
            return "it is switched off"
        evidence = self.store.evidence(bullet.id)
        if needs_approval(bullet, evidence):
            return "it needs your approval"
        if self._is_to_replace(bullet):
            return "it would replace another one"
        if trust in ("repository", "web"):
            return "what is read twice is one observation"
        here = (self.digest.session_id, self.digest.interaction)
        turns = {(item.session_id, item.interaction) for item in evidence}
        if here in turns or (not by_id and here[0] in {session for session, _ in turns}):
            return "it comes from here"
        return ""

    def _is_to_replace(self, bullet: Bullet) -> bool:
        return any(item.source == REPLACES for item in self.store.evidence(bullet.id))

    @property
    def _bullets(self) -> Mapping[str, Bullet]:
        return self.session.playbook.bullets

    def _restate(self, add: AddProposal, old: Bullet) -> None:
        """Activate a bullet that the user's words repeat, and give it the user's trust."""
        is_active = old.state in ("active", "pinned")
        fields: dict[str, Any] = {"trust": "user"} | ({} if is_active else {"state": "active"})
        self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, "user")))
        if add.replaces and add.replaces != old.id:
            replaced = self.session.playbook.bullets.get(add.replaces)
            problem = "" if add.approved else self.objection(add.content, old.scope, replaced)
            if problem:
                self.refused.append(f"{add.replaces} stays: {problem}")
            else:
                self._remove(add)

    def _replace(self, add: AddProposal, old: Bullet) -> None:
        """Give a bullet the content of a reflector's lesson, or remove it if there is none. What the user wrote, or
        does not say, waits beside it."""
        if not add.content:
            self.remove(add, old)
            return
        trust = self._source_of_quote(add)
        problem = rejection_reason(add.content, trust or "tool", self.instructions)
        if problem or trust is None:
            self._refuse(add, problem or "its quote is not in this exchange")
        elif is_same_text(add.content, old.content):
            self._confirm(add, old, trust)
        elif trust == "user" and not (doubt := self._doubt(add, trust)):
            self._rewrite(add, old)
        elif trust != "user" and old.state == "quarantined" and old.trust in OUTSIDE:
            self._reword(add, old, trust)
        else:
            doubt = doubt if trust == "user" else f"seen in a result; it would replace {old.id}"
            self._add_new(add, trust, doubt)

    def _rewrite(self, add: AddProposal, old: Bullet) -> None:
        """Change a bullet's content on the user's words."""
        is_active = old.state in ("active", "pinned")
        self._change(
            add, old, {"trust": "user"} | ({} if is_active else {"state": "active"}), "user"
        )

    def _reword(self, add: AddProposal, old: Bullet, trust: Trust) -> None:
        """Change the content of a proposal that still waits."""
        self._change(add, old, {}, trust)

    def _change(self, add: AddProposal, old: Bullet, more: dict[str, Any], trust: Trust) -> None:
        fields = {"content": add.content, "anchors": list(find_anchors(add.content))} | more
        fields |= {"when": add.when} if add.when else {}
        self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, trust)))

    def _evidence(self, add: AddProposal, trust: str) -> tuple[Evidence, ...]:
        quote, digest = shorten(redact(clean(add.quote or add.content)), _MAX_QUOTE), self.digest
        place = (digest.session_id, digest.interaction or None, add.call_id)
        return (Evidence(self.author, quote, *place, cast(Trust, trust)),)

    def _refuse(self, add: AddProposal, why: str) -> None:
        self.refused.append(f'not learned: "{shorten(redact(add.content), 60)}": {why}')

    def quotes_user(self, quote: str) -> bool:
        """Return True if the user's own words in this turn contain the quote."""
        return _contains_quote(quote, self.digest.own_words)

    def _source_of_quote(self, add: AddProposal) -> Trust | None:
        """Return where a quote comes from, the least trusted place of several; None if the turn does not contain
        it."""
        if self.author == "user" or (self.quotes_user(add.quote) and not add.from_result):
            return "user"
        calls = [call for call in self.digest.calls if call.id == add.call_id] or self.digest.calls
        origins = [
            call.origin for call in calls if _contains_quote(add.quote, _searchable_text(call))
        ]
        if self.quotes_user(add.quote) and not origins:
            return "tool"  # the user's words, but not said to be theirs
        least_trusted: tuple[Origin, ...] = ("web", "tool", "repository")
        return next((origin for origin in least_trusted if origin in origins), None)


def is_hand_written(store: PlaybookStore, bullet: Bullet) -> bool:
    """Return True if the user added, changed or pinned a bullet by a command."""
    for applied in store.changes(bullet.id):
        if applied.delta.author != "user":
            continue
        for name, op in applied.ops_by_id():
            if name == bullet.id and (op.op in ("ADD", "PIN") or "content" in op.fields):
                return True
    return False


def needs_approval(bullet: Bullet, evidence: Sequence[Evidence]) -> bool:
    """Return True if only the user's yes brings a waiting bullet into prompts, however often it is seen."""
    doubts = [item.quote for item in evidence if item.source == DOUBT]
    if bullet.trust not in OUTSIDE or doubts[-1:] != [_PROVISIONAL]:
        return True
    return bool(_EXTERNAL.search(bullet.content) or _ORDERS.search(bullet.content))


def is_restated(evidence: Sequence[Evidence]) -> bool:
    """Return True if a waiting bullet quotes the user, and says it in other words."""
    return [item.quote for item in evidence if item.source == DOUBT][-1:] == [RESTATED]


def reads_as(bullet: Bullet | None, asked: Bullet | None) -> bool:
    """Return True if a bullet still says what a question said of it."""
    return bullet is not None and asked is not None and bullet.content == asked.content


def _contains_quote(quote: str, text: str) -> bool:
    """Return True if a text contains the normalized quote; False for quotes that are too short to be evidence."""
    words = normalize(quote)
    letters = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in words)
    long_enough = len(words.split()) >= _MIN_WORDS or letters >= _MIN_LETTERS
    return long_enough and words in normalize(text)


def _searchable_text(call: CallDigest) -> str:
    values = " ".join(str(value) for value in call.parameters.values())
    code = f"exit code {call.exit_code} exit {call.exit_code}" if call.exit_code is not None else ""
    return f"{call.output} {call.reason} {values} {code}"


def _stored_trust(trust: Trust | None, doubt: str) -> Trust:
    """Return the trust of a new bullet; the user's only if nothing speaks against it."""
    if trust == "user":
        return "tool" if doubt else "user"
    return trust if trust in OUTSIDE else "tool"


def rejection_reason(
    content: str, trust: Trust = "tool", instructions: Callable[[], str] = str
) -> str:
    """Return why a cleaned text may not become a bullet, or "". The user's words need only be short and not secret."""
    if not re.search(r"\w", content):
        return "it is empty"
    if problem := length_problem(content):
        return problem
    if has_secret(content):
        return "it contains a secret"
    words, lines = stems(content), instructions().splitlines() if trust != "user" else []
    known = any(len(words & stems(line)) >= _KNOWN * len(words) for line in lines if line.strip())
    return "the instructions contain it already" if known else ""


def _requests_beyond(content: str, query: str) -> bool:
    """Return True if a text names a URL, flag or download program that the user's message does not contain."""
    typed = query.casefold()
    return any(found[0].strip().casefold() not in typed for found in _EXTERNAL.finditer(content))
