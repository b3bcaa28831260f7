"""The curator checks what reflectors and the `remember` tool propose, and builds one delta from what passes."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

from swecli.models.counts import pluralize
from swecli.models.doubts import Doubt
from swecli.models.message import Origin
from swecli.models.playbook import (
    LIVE,
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
from swecli.playbook.learning.answer import Lesson
from swecli.playbook.learning.evidence import CallDigest, TurnDigest
from swecli.playbook.ranking import clean, most_similar, stems
from swecli.playbook.wording import has_clauses, is_same_text, is_statement_in, names_in, normalize
from swecli.playbook.workspace import WorkspaceLookup, find_anchors
from swecli.redact import has_secret, redact
from swecli.store.playbook.store import PlaybookStore
from swecli.text import shorten
from swecli.values import dataclass

_MAX_OLD = 200  # characters of a strategy in a question
_MAX_QUOTE = 300  # characters of stored evidence
_COVERED = (
    0.75  # share of a text's stems in one line of the instructions from which they contain it
)
_MIN_WORDS, _MIN_LETTERS = 3, 8  # a quote needs one of them; a wide letter counts twice


@dataclass(frozen=True, slots=True)
class AddProposal:
    """A new bullet. `quote` is evidence copied from the turn, `call_id` the call whose result contains it ("": the
    user's words, or unknown). `replaces` is the id of a bullet that no longer holds. `scope` "" is that of the bullet
    it replaces, else the project; `paths` () are those of that bullet. `approved`: the user was asked and said yes;
    `from_result`: it is not the user's, whoever wrote its quote; `is_uncertain`: it may hold more than he wants to
    keep."""

    content: str
    when: str = ""
    kind: Kind = "strategy"
    quote: str = ""
    call_id: str = ""
    scope: Scope | Literal[""] = ""
    paths: tuple[str, ...] = ()
    replaces: str = ""
    approved: bool = False
    from_result: bool = False
    is_uncertain: bool = False

    @classmethod
    def of(cls, lesson: Lesson) -> AddProposal:
        """Convert a reflector's lesson."""
        return cls(
            content=clean(lesson.text),
            when=clean(lesson.when),
            kind=lesson.kind,
            quote=lesson.quote,
            call_id=lesson.call_id,
            scope=lesson.scope,
            paths=lesson.paths,
            replaces=lesson.replaces,
            from_result=lesson.source == "result",
        )


@dataclass(slots=True)
class Curator:
    """Checks the proposals of one turn. `author` is "user" for the user's own typed words; `instructions`
    returns those that no strategy should repeat. `ops` have passed; `refusals` has a line per refused proposal."""

    author: str
    digest: TurnDigest
    session: Session
    store: PlaybookStore
    instructions: Callable[[], str] = str
    ops: list[Op] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def curate(self, adds: Sequence[AddProposal]) -> None:
        for add in adds:
            self._add(replace(add, content=clean(add.content), when=clean(add.when)))

    def keep(self, statement: str) -> None:
        """Keep a statement of the user's that no model has read. Behind a mark an errand may follow that is not to be
        kept, so that he is asked."""
        add = AddProposal(statement, kind="preference", quote=statement)
        self._add(replace(add, content=clean(statement), is_uncertain=has_clauses(statement)))

    def forget(self, statement: str) -> None:
        """Remove what the user no longer wants, as no model has read: what says it in his words, else he is asked
        about what is most like it."""
        live = [bullet for bullet in self._bullets.values() if bullet.is_live]
        same = [bullet for bullet in live if is_same_text(bullet.content, statement)]
        old = same[0] if same else most_similar(statement, live)
        if old is None:
            self.refusals.append(f'no strategy says "{shorten(redact(statement), _MAX_OLD)}"')
            return
        evidence = self._evidence(AddProposal("", quote=statement), "user" if same else "tool")
        doubtful = Op("UPDATE", old.id, {"doubt": Doubt.TAKEN_BACK.value}, evidence)
        self.ops.append(Op("REMOVE", old.id, evidence=evidence) if same else doubtful)

    def take(self, lessons: Sequence[Lesson], asked_bullets: Mapping[str, Bullet]) -> None:
        """Take a reflector's lessons. Those that name a bullet that is not as in `asked_bullets` any more, as the
        question showed it, are refused."""
        bullets = self._bullets
        for lesson in lessons:
            old_names = [name for name in (lesson.same_as, lesson.replaces) if name]
            changed_names = [
                name
                for name in old_names
                if not reads_as(bullets.get(name), asked_bullets.get(name))
            ]
            if changed_names:
                self.refusals.append(f"{changed_names[0]} was changed or removed meanwhile")
            elif lesson.same_as:
                self._confirm_by_id(lesson, bullets[lesson.same_as])
            elif lesson.replaces:
                self._replace(AddProposal.of(lesson), bullets[lesson.replaces])
            else:
                self._add(AddProposal.of(lesson))

    def delta(self, author: str, reason: str, salt: str = "") -> Delta:
        """Build a delta whose id is a hash of its turn, author, reason, `salt` and content, so that it is applied
        once."""
        rows = []
        for op in self.ops:
            quotes = [[item.source, item.quote, item.call_id] for item in op.evidence]
            rows.append([op.op, op.bullet_id, op.fields, quotes])
        turn = (self.digest.session_id, self.digest.interaction)
        text = json.dumps([*turn, author, reason, salt, rows], sort_keys=True)
        name = "d-" + hashlib.sha256(text.encode()).hexdigest()[:24]
        refusals = tuple(dict.fromkeys(self.refusals))
        return Delta(name, tuple(self.ops), author, *turn, reason, refusals)

    def _add(self, add: AddProposal) -> None:
        trust = self._source_of_quote(add)
        problem = rejection_reason(add.content, trust or "tool", self.instructions)
        if problem or (trust is None and self.author != "remember"):
            self._refuse(add, problem or "its quote is not in this turn")
            return
        for same in self._bullets.values():
            if is_same_text(same.content, add.content):
                self._repeat(add, same, trust or "tool")
                return
        if trust != "user":
            removed = most_similar(add.content, self.store.deleted_bullets(self.session))
            if removed is not None:
                self._refuse(add, f"you removed {removed.id}, which covers it")
                return
        self._add_new(add, trust, self._doubt(add, trust))

    def _doubt(self, add: AddProposal, trust: Trust | None) -> Doubt:
        """Return why a proposal must wait for the user's approval."""
        if self.author == "user" or add.approved:
            return Doubt.UNCERTAIN if add.is_uncertain else Doubt.NONE
        if trust is None:
            return Doubt.UNQUOTED
        if trust != "user":
            return Doubt.SEEN
        if not self._is_said(add.content):
            return Doubt.RESTATED
        replaced = self._bullets.get(add.replaces)
        reason = self.objection(add.content, scope_of(add, replaced), replaced)
        return Doubt.REACHING if reason else Doubt.NONE

    def objection(self, content: str, scope: Scope, replaced: Bullet | None) -> str:
        """Return why even the user's words need a yes before they become the bullet `content` ("": none) in place of
        `replaced`, or ""."""
        if content and scope == "user":
            return "it would apply in all your projects"
        if replaced is None:
            return ""
        verb = "replace" if content else "remove"
        clause = f'it would {verb} {replaced.id} "{shorten(replaced.content, _MAX_OLD)}"'
        if replaced.scope == "user":
            return f"{clause}, which applies in all your projects"
        if is_hand_written(self.store, replaced):
            return f"{clause}, which you wrote"
        if not content and replaced.trust == "user":
            return f"{clause}, which you said"
        if replaced.helpful:
            return f"{clause}, which helped in {pluralize(replaced.helpful, 'exchange')}"
        return ""

    def _is_said(self, content: str) -> bool:
        """Return True if a text is what the user wrote in this exchange. A quote beside it makes no other text his, and
        neither does the strategy that it repeats or replaces."""
        return self.author == "user" or is_statement_in(content, self.digest.own_texts)

    def _add_new(self, add: AddProposal, trust: Trust | None, doubt: Doubt) -> None:
        """Add a bullet in place of the one it replaces; with a doubt it is quarantined, and replaces nothing yet."""
        fields = _fields_of(add, self._bullets.get(add.replaces)) | {
            "state": "quarantined" if doubt else "active",
            "trust": "user" if add.approved else _stored_trust(trust, doubt),
        }
        if doubt:
            fields |= {"doubt": doubt.value, "replaces": [add.replaces] if add.replaces else []}
        self.ops.append(Op("ADD", fields=fields, evidence=self._evidence(add, fields["trust"])))
        if add.replaces and not doubt:
            self._remove(add)

    def remove(self, add: AddProposal, old: Bullet) -> None:
        """Remove the bullet `old`, which a proposal without content names, if the user says so. What needs his yes
        stays until he was asked."""
        if not self.quotes_user(add.quote):
            self.refusals.append(f"{old.id} stays: the quote is not in the user's message")
        elif not add.approved and self.objection("", old.scope, old):
            fields = {"doubt": Doubt.TAKEN_BACK.value}
            self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, "tool")))
        else:
            self._remove(add)

    def _remove(self, add: AddProposal) -> None:
        self.ops.append(Op("REMOVE", add.replaces, evidence=self._evidence(add, "user")))

    def _confirm_by_id(self, lesson: Lesson, old: Bullet) -> None:
        """Confirm a bullet that a lesson names, and remove the one that both replace."""
        add = AddProposal.of(replace(lesson, text=old.content, replaces=""))
        trust = self._source_of_quote(add)
        if trust is None and (old.state == "quarantined" or lesson.replaces):
            self.refusals.append(f"{old.id} is not confirmed: the quote is not in this exchange")
            return
        if trust is not None:
            self._repeat(add, old, trust, by_id=True)
        states = [op.fields.get("state") for op in self.ops if op.bullet_id == old.id]
        becomes_live = any(state in LIVE for state in states)
        if lesson.replaces and (old.is_live or becomes_live):
            self.remove(replace(add, replaces=lesson.replaces), self._bullets[lesson.replaces])
        elif lesson.replaces:
            self.refusals.append(f"{lesson.replaces} stays as long as {old.id} waits")

    def _repeat(self, add: AddProposal, old: Bullet, trust: Trust, *, by_id: bool = False) -> None:
        """Take a proposal that says what a bullet says already; `by_id`: the reflector says that it is the same."""
        if trust == "user" or add.approved:
            self._restate(add, old, by_id=by_id)
        else:
            self._confirm(add, old, trust, by_id=by_id)

    def _restate(self, add: AddProposal, old: Bullet, *, by_id: bool) -> None:
        """Let the user's words repeat a bullet. If they are the bullet's own words it is his from now on, and if it is
        his already it stays so; otherwise he is asked."""
        is_in_use = old.state in ("active", "pinned")
        is_wider = add.scope == "user" and old.scope != "user"
        instead = add.replaces if add.replaces != old.id else ""
        same = replace(
            add, content=old.content, scope="user" if is_wider else old.scope, replaces=instead
        )
        if is_in_use and old.trust == "user" and not is_wider:
            self._keep(same, old, by_id=by_id)
            return
        doubt = self._doubt_about(same, "user", old)
        if not doubt:
            fields = {
                "trust": "user",
                "scope": same.scope,
                "paths": list(add.paths or old.paths),
                "state": old.state if is_in_use else "active",
            }
            self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, "user")))
            if instead:
                self._remove(same)
        elif old.state == "quarantined":
            if not (by_id and self._is_stored_of_exchange(old)):
                self._wait_again(same, old, "tool", doubt)
        elif is_wider:
            self._add_new(replace(same, replaces=old.id), "user", doubt)
        elif not by_id:
            self._refuse(
                add,
                f"{old.id} says it, and {doubt.describe(same.scope, [*filter(None, [instead])])}",
            )

    def _is_stored_of_exchange(self, old: Bullet) -> bool:
        """Return whether a bullet was stored from the words of this exchange, of which the next query is a part: told a
        second time, they are nothing new."""
        turn = self.digest.interaction
        return any(
            item.session_id == self.digest.session_id and item.interaction in (turn, turn + 1)
            for item in self.store.evidence(old.id)
        )

    def _doubt_about(self, add: AddProposal, trust: Trust, old: Bullet) -> Doubt:
        """Return why a proposal must wait that makes a bullet the user's: also because that would replace others."""
        doubt = self._doubt(add, trust)
        is_unasked = self.author != "user" and not add.approved
        if not doubt and is_unasked and old.state == "quarantined" and old.replaces:
            return Doubt.REACHING
        return doubt

    def _wait_again(self, add: AddProposal, old: Bullet, trust: Trust, doubt: Doubt) -> None:
        """Let a bullet that waits take the text and the reach of a proposal, and the doubt about it."""
        replaced = dict.fromkeys([*old.replaces, *filter(None, [add.replaces])])
        replaced.pop(old.id, None)
        fields = _fields_of(add, old) | {"doubt": doubt.value, "replaces": [*replaced]}
        if add.content == old.content:
            del fields["content"], fields["anchors"]  # which is told as a new text
        self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, trust)))

    def _keep(self, add: AddProposal, old: Bullet, *, by_id: bool) -> None:
        """Note that the user said again what is his already, and remove what it replaces."""
        if by_id:
            return  # what it replaces is removed by the caller, and the model repeats its own prompt
        fields = {"trust": "user"} | ({"paths": list(add.paths)} if add.paths else {})
        self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, "user")))
        if add.replaces:
            self.remove(replace(add, content=""), self._bullets[add.replaces])

    def _confirm(self, add: AddProposal, old: Bullet, trust: Trust, *, by_id: bool) -> None:
        """Add evidence to a bullet that a result repeats; `by_id`: the reflector says that it is the same. One that
        waits for a second exchange becomes unconfirmed; of one in prompts, the model repeats its own prompt."""
        if old.state in ("quarantined", "disabled"):
            if problem := self._confirmation_problem(old, trust, by_id=by_id):
                self.refusals.append(f"{old.id} is not confirmed: {problem}")
                return
            fields = {"state": "unconfirmed"}
        elif old.id in self.digest.shown_ids or by_id:
            return
        else:
            fields = {"trust": old.trust}
        self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, trust)))

    def _confirmation_problem(self, bullet: Bullet, trust: Trust, *, by_id: bool) -> str:
        """Return why another result does not confirm a bullet, or ""."""
        if bullet.state == "disabled":
            return "it is switched off"
        if bullet.replaces:
            return "it would replace another one"
        if needs_approval(bullet):
            return "it needs your approval"
        evidence = self.store.evidence(bullet.id)
        if trust in ("repository", "web"):
            return "what is read twice is one observation"
        session_id = self.digest.session_id
        turns = [item.interaction for item in evidence if item.session_id == session_id]
        if self.digest.interaction in turns or (turns and not by_id):
            return "it comes from here"
        if not is_shown_again(self.digest, evidence):
            return "no result here says what was seen first"
        if name := unknown_name(bullet.content, self.session, self.digest.calls):
            return f"{name} was never used here, so it needs your approval"
        return ""

    @property
    def _bullets(self) -> Mapping[str, Bullet]:
        return self.session.playbook.bullets

    def _replace(self, add: AddProposal, old: Bullet) -> None:
        """Give a bullet the content of a reflector's lesson, or remove it if there is none. In place of what the user
        wrote by hand, or without his own words, it waits beside it."""
        if not add.content:
            self.remove(add, old)
            return
        trust = self._source_of_quote(add)
        problem = rejection_reason(add.content, trust or "tool", self.instructions)
        if problem or trust is None:
            self._refuse(add, problem or "its quote is not in this exchange")
            return
        if is_same_text(add.content, old.content):
            self._repeat(replace(add, replaces=""), old, trust)
            return
        doubt = self._doubt_about(add, trust, old)
        if not doubt:
            self._rewrite(add, old)
        elif old.state == "quarantined" and (trust == "user" or old.doubt is Doubt.SEEN):
            self._wait_again(add, old, trust if trust in OUTSIDE else "tool", doubt)
        else:
            self._add_new(add, trust, doubt)

    def _rewrite(self, add: AddProposal, old: Bullet) -> None:
        """Give a bullet what the user says now."""
        state = old.state if old.state in ("active", "pinned") else "active"
        fields = _fields_of(add, old) | {"trust": "user", "state": state}
        self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, "user")))

    def _evidence(self, add: AddProposal, trust: Trust) -> tuple[Evidence, ...]:
        """Return the evidence of a proposal: its quote, and the user's yes if there was one."""
        quotation = Evidence(
            source=self.author,
            quote=shorten(redact(clean(add.quote or add.content)), _MAX_QUOTE),
            session_id=self.digest.session_id,
            interaction=self.digest.interaction or None,
            call_id=add.call_id,
            trust=trust,
        )
        if not add.approved:
            return (quotation,)
        trust_in_quote: Trust = "user" if self.quotes_user(add.quote) else "tool"
        consent = replace(quotation, quote="yes", trust="user", is_consent=True)
        return (replace(quotation, trust=trust_in_quote), consent)

    def _refuse(self, add: AddProposal, reason: str) -> None:
        self.refusals.append(f'not learned: "{shorten(redact(add.content), 60)}": {reason}')

    def quotes_user(self, quote: str) -> bool:
        """Return True if one of the user's own texts in this turn contains the quote."""
        return any(_contains_quote(quote, text) for text in self.digest.own_texts)

    def _source_of_quote(self, add: AddProposal) -> Trust | None:
        """Return where a quote comes from, the least trusted place of several; None if the turn does not contain
        it."""
        is_users = self.quotes_user(add.quote)
        if self.author == "user" or (is_users and not add.from_result):
            return "user"
        calls = [call for call in self.digest.calls if call.id == add.call_id] or self.digest.calls
        origins = [
            call.origin for call in calls if _contains_quote(add.quote, _searchable_text(call))
        ]
        least_trusted: tuple[Origin, ...] = ("web", "tool", "repository")
        for origin in least_trusted:
            if origin in origins:
                return origin
        return "tool" if is_users else None  # the user's words, but not said to be theirs


def is_hand_written(store: PlaybookStore, bullet: Bullet) -> bool:
    """Return True if the user added, changed or pinned a bullet by a command."""
    for applied in store.changes(bullet.id):
        if applied.delta.author != "user":
            continue
        for name, op in applied.ops_by_id():
            if name == bullet.id and (op.op in ("ADD", "PIN") or "content" in op.fields):
                return True
    return False


def is_shown_again(digest: TurnDigest, evidence: Sequence[Evidence]) -> bool:
    """Return True if a command's result shows what the newest quotation of a bullet says."""
    quotes = [item.quote for item in evidence if not item.is_consent]
    if not quotes:
        return False
    newest = quotes[-1].removesuffix("…")  # of a long one, its beginning is stored
    results = [_searchable_text(call) for call in digest.calls if call.origin == "tool"]
    return any(_contains_quote(newest, result) for result in results)


def needs_approval(bullet: Bullet) -> bool:
    """Return True if only the user's yes brings a waiting bullet into prompts, however often it is seen."""
    is_seen = bullet.doubt is Doubt.SEEN and bullet.trust in OUTSIDE
    return not is_seen or bullet.scope == "user" or bool(bullet.replaces)


def unknown_name(content: str, session: Session, calls: Sequence[CallDigest] = ()) -> str:
    """Return the first path, flag, address or other code in a text that is neither in the workspace nor used by one of
    these calls, which were permitted; "" for none. What results say brings nothing of that kind into prompts."""
    used_names = set[str]()
    for call in calls:
        if not call.denied:
            for value in call.parameters.values():
                used_names.update(names_in(str(value)))
    lookup = WorkspaceLookup.of(session, deep=False)
    for name in names_in(content):
        if name not in used_names and (lookup is None or not lookup.has(name)):
            return name
    return ""


def reads_as(bullet: Bullet | None, asked_bullet: Bullet | None) -> bool:
    """Return True if a bullet still says what a question said of it."""
    return (
        bullet is not None and asked_bullet is not None and bullet.content == asked_bullet.content
    )


def _contains_quote(quote: str, text: str) -> bool:
    """Return True if a text contains the normalized quote; False for quotes that are too short to be evidence."""
    words = normalize(quote)
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in words)
    is_enough = len(words.split()) >= _MIN_WORDS or len(words) + wide >= _MIN_LETTERS
    return is_enough and words in normalize(text)


def _searchable_text(call: CallDigest) -> str:
    values = " ".join(str(value) for value in call.parameters.values())
    code = f"exit code {call.exit_code} exit {call.exit_code}" if call.exit_code is not None else ""
    return f"{call.output} {call.reason} {values} {code}"


def _stored_trust(trust: Trust | None, doubt: Doubt) -> Trust:
    """Return the trust of a new bullet; the user's only if nothing speaks against it."""
    if trust == "user":
        return "tool" if doubt else "user"
    return trust if trust in OUTSIDE else "tool"


def scope_of(add: AddProposal, replaced: Bullet | None) -> Scope:
    """Return where a proposal applies: where what it replaces does, if it does not say."""
    if add.scope:
        return add.scope
    return replaced.scope if replaced is not None else "project"


def _fields_of(add: AddProposal, replaced: Bullet | None) -> dict[str, Any]:
    """Return all that a proposal says of a bullet, for a new one and for one that gets its text."""
    fields: dict[str, Any] = {
        "content": add.content,
        "kind": add.kind,
        "scope": scope_of(add, replaced),
        "paths": list(add.paths or (replaced.paths if replaced is not None else ())),
        "anchors": list(find_anchors(add.content)),
    }
    return fields | ({"when": add.when} if add.when else {})


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
    if trust == "user":
        return ""
    words = stems(content)
    for line in instructions().splitlines():
        if line.strip() and len(words & stems(line)) >= _COVERED * len(words):
            return "the instructions contain it already"
    return ""
