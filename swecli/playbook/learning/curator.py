"""The curator checks what reflectors and the `remember` tool propose, and builds one delta from what passes."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

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
    shorten,
)
from swecli.models.session import Session
from swecli.playbook.action import DOUBT
from swecli.playbook.learning.evidence import CallDigest, TurnDigest
from swecli.playbook.ranking import clean, most_similar, stems
from swecli.playbook.workspace import WorkspaceLookup, find_anchors
from swecli.redact import has_secret, redact
from swecli.store.playbook.store import PlaybookStore

_PROVISIONAL = "seen in a result"  # the reason if a second turn may confirm the bullet
MAX_ADDS, MAX_UPDATES = 3, 2
_MAX_QUOTE = 300  # characters of stored evidence
_SAME = 0.8  # Jaccard similarity from which the user's words restate a bullet
_KNOWN = 0.75  # share of a text's stems in one line of the instructions from which they contain it
# URLs, programs that download, and flags that disable a check: spelled alike in every language.
_EXTERNAL = re.compile(
    r"\b[a-z][a-z0-9+.-]*://\S*|\bwww\.\S*|\b[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}/\S*|\b(?:curl|wget|sudo|chmod)\b|--no-[\w-]+|"
    r"--(?:force|insecure|trusted-host|index-url)\b|\|\s*(?:sudo\s+)?\w*sh\b",
    re.IGNORECASE,
)
# Further words of instructions that are never activated without the user, however often a result repeats them.
_ORDERS = re.compile(
    r"\b(?:install|download|upload|eval|disable|skip|ignore|bypass|always|never|must)\b",
    re.IGNORECASE,
)
_READERS = frozenset({"read_file", "search_files", "list_files"})
_QUOTES = str.maketrans("‘’‚“”„«»", "'''" + 5 * '"')
_MIN_WORDS, _MIN_LETTERS = 3, 8  # a quote needs one of them; a wide letter counts twice


@dataclass(frozen=True, slots=True)
class AddProposal:
    """A new bullet, or new content for `bullet_id`. `quote` is evidence copied from the turn, `call_id` the call whose
    result contains it ("": the user's words, or unknown)."""

    content: str
    when: str = ""
    kind: Kind = "strategy"
    quote: str = ""
    call_id: str = ""
    bullet_id: str = ""
    scope: Scope = "project"


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

    def curate(self, adds: Sequence[AddProposal], updates: Sequence[AddProposal] = ()) -> None:
        for add in adds:
            self._add(replace(add, content=clean(add.content), when=clean(add.when)))
        for update in updates:
            self._update(replace(update, content=clean(update.content), when=clean(update.when)))

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
        problem = _rejection_reason(add.content, trust or "tool", self.instructions)
        if problem or (trust is None and self.author != "remember"):
            self._refuse(add, problem or "its quote is not in this turn")
            return
        old = most_similar(add.content, self.session.playbook.bullets.values())
        if old is not None and trust != "user":
            self._confirm(add, old, trust or "tool")
        elif old is not None and most_similar(add.content, [old], _SAME):
            self._restate(add, old)
        elif trust != "user" and (
            gone := most_similar(add.content, self.store.removed(self.session))
        ):
            self._refuse(add, f"you removed {gone.id}, which covers it")
        else:
            self._add_new(add, trust)

    def _add_new(self, add: AddProposal, trust: Trust | None) -> None:
        """Add a bullet: active if it is in the user's words, else quarantined."""
        doubt = ""
        if trust != "user":
            doubt = _PROVISIONAL if trust else "the quote is not in your own words"
        elif self.author != "user" and _requests_beyond(add.content, self.digest.own_words):
            doubt = "it goes beyond what you wrote"
        fields: dict[str, Any] = {
            "content": add.content,
            "kind": add.kind,
            "scope": add.scope,
            "state": "quarantined" if doubt else "active",
            "trust": "user"
            if trust == "user" and not doubt
            else trust
            if trust in OUTSIDE
            else "tool",
        }
        fields |= {"when": add.when} if add.when else {}
        fields |= {"anchors": list(anchors)} if (anchors := find_anchors(add.content)) else {}
        evidence = self._evidence(add, fields["trust"])
        if doubt:
            evidence += (replace(evidence[0], source=DOUBT, quote=doubt, trust="tool"),)
        self.ops.append(Op("ADD", fields=fields, evidence=evidence))

    def _confirm(self, add: AddProposal, old: Bullet, trust: Trust) -> None:
        """Add evidence to a bullet that a result repeats; a provisional one becomes active."""
        if self._is_confirmed(old):
            fields = {"state": "active"}
        elif old.state in ("quarantined", "disabled"):
            self._refuse(add, f"it repeats {old.id}, which is {old.state}")
            return
        elif old.id in self.digest.shown:
            return  # the model repeats its own prompt
        else:
            fields = {"trust": old.trust}
        if sum(op.op == "UPDATE" for op in self.ops) >= MAX_UPDATES:
            self._refuse(add, f"at most {MAX_UPDATES} changes per turn")
            return
        self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, trust)))

    def _is_confirmed(self, bullet: Bullet) -> bool:
        """Return True for a provisional bullet with evidence from another session, no missing anchor and no
        instruction."""
        is_order = _EXTERNAL.search(bullet.content) or _ORDERS.search(bullet.content)
        if bullet.state != "quarantined" or bullet.trust not in OUTSIDE or is_order:
            return False
        lookup = WorkspaceLookup.of(self.session)
        is_missing = lookup is not None and lookup.first_missing(bullet.anchors) != ""
        return not is_missing and all(
            e.session_id != self.digest.session_id for e in self.store.evidence(bullet.id)
        )

    def _restate(self, add: AddProposal, old: Bullet) -> None:
        """Activate a bullet that the user's words repeat, and give it the user's trust."""
        fields: dict[str, Any] = {"trust": "user"} | ({} if old.is_live else {"state": "active"})
        if stems(old.content) < stems(add.content):
            fields |= {"content": add.content, "anchors": list(find_anchors(add.content))}
        self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, "user")))

    def _update(self, add: AddProposal) -> None:
        """Change a bullet's content, if the user's words are the evidence."""
        old = self.session.playbook.bullets.get(add.bullet_id)
        trust, words = self._source_of_quote(add), stems(add.content)
        if old is None:
            problem = "there is no such strategy"
        elif not (problem := _rejection_reason(add.content, trust or "tool")):
            if trust != "user" or _requests_beyond(add.content, self.digest.own_words):
                problem = "the words are not yours"
            elif len(words - stems(f"{old.content} {self.digest.query}")) * 2 > len(words):
                problem = "most words are neither yours nor its own"
        if old is None or problem:
            self.refused.append(f"not changed: {add.bullet_id}: {problem}")
            return
        fields: dict[str, Any] = {
            "content": add.content,
            "anchors": list(find_anchors(add.content)),
            "trust": "user",
        }
        fields |= {"when": add.when} if add.when else {}
        self.ops.append(Op("UPDATE", old.id, fields, self._evidence(add, "user")))

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
        if self.author == "user" or self.quotes_user(add.quote):
            return "user"
        calls = [call for call in self.digest.calls if call.id == add.call_id] or self.digest.calls
        names = [call.name for call in calls if _contains_quote(add.quote, _searchable_text(call))]
        if any("fetch" in name or "web" in name or "__" in name for name in names):
            return "web"
        return (
            None
            if not names
            else "repository"
            if all(name in _READERS for name in names)
            else "tool"
        )


def _contains_quote(quote: str, text: str) -> bool:
    """Return True if a text contains the normalized quote; False for quotes that are too short to be evidence."""
    words = _normalize(quote)
    letters = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in words)
    long_enough = len(words.split()) >= _MIN_WORDS or letters >= _MIN_LETTERS
    return long_enough and words in _normalize(text)


def _searchable_text(call: CallDigest) -> str:
    values = " ".join(str(value) for value in call.parameters.values())
    code = f"exit code {call.exit_code} exit {call.exit_code}" if call.exit_code is not None else ""
    return f"{call.output} {call.reason} {values} {code}"


def _normalize(text: str) -> str:
    """Normalize what models change when they copy: case, spacing, accents, width, quotes, invisible characters."""
    plain = (
        unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold().replace("i\u0307", "i")
    )
    return " ".join("".join(c for c in plain if unicodedata.category(c) != "Cf").split())


def _rejection_reason(content: str, trust: Trust, instructions: Callable[[], str] = str) -> str:
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
