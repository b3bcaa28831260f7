"""The curator checks what reflectors and the `remember` tool propose, and builds one delta from what passes."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Sequence
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
    Tag,
    Trust,
    length_problem,
    shorten,
)
from swecli.models.session import Session
from swecli.playbook.describe import DOUBT
from swecli.playbook.similarity import clean, jaccard, most_similar, stems
from swecli.playbook.turn_digest import CallDigest, TurnDigest
from swecli.playbook.workspace import Workspaces, find_anchors
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
    r"\b(?:install|download|upload|eval|disable|skip|ignore|bypass|always|never|must)\b", re.IGNORECASE
)
_READERS = frozenset({"read_file", "search_files", "list_files"})
_QUOTES = str.maketrans("‘’‚“”„«»", "'''" + 5 * '"')
_MIN_WORDS, _MIN_LETTERS = 3, 8  # a quote needs one of them; a wide letter counts twice


@dataclass(frozen=True, slots=True)
class TagProposal:
    """A reflector's tag on one shown bullet."""

    bullet_id: str
    tag: Tag
    why: str = ""


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


@dataclass(frozen=True, slots=True)
class CuratorContext:
    """What proposals are checked against. `author` is "user" for the user's own typed words; without `workspaces`,
    neither instructions nor anchors are checked."""

    author: str
    digest: TurnDigest
    session: Session
    store: PlaybookStore
    workspaces: Workspaces | None = None


@dataclass(slots=True)
class Curated:
    """The operations that passed, and one line per refused proposal."""

    ops: list[Op] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def curate(adds: Sequence[AddProposal], updates: Sequence[AddProposal], context: CuratorContext) -> Curated:
    """Check the proposals of one turn."""
    curated = Curated()
    for add in adds:
        _add(replace(add, content=clean(add.content), when=clean(add.when)), context, curated)
    for update in updates:
        _update(replace(update, content=clean(update.content), when=clean(update.when)), context, curated)
    return curated


def _add(add: AddProposal, context: CuratorContext, curated: Curated) -> None:
    trust = _source_of_quote(add, context)
    problem = _rejection_reason(add.content, trust or "tool", context.workspaces)
    if problem or (trust is None and context.author != "remember"):
        curated.refused.append(_refusal_line(add, problem or "its quote is not in this turn"))
        return
    old = most_similar(add.content, context.session.playbook.bullets.values())
    if old is not None and trust != "user":
        _confirm(add, old, trust or "tool", context, curated)
    elif old is not None and jaccard(stems(add.content), stems(old.content)) >= _SAME:
        _restate(add, old, context, curated)
    elif trust != "user" and (gone := most_similar(add.content, context.store.removed(context.session))):
        curated.refused.append(_refusal_line(add, f"you removed {gone.id}, which covers it"))
    else:
        _add_new(add, trust, context, curated)


def _add_new(add: AddProposal, trust: Trust | None, context: CuratorContext, curated: Curated) -> None:
    """Add a bullet: active if it is in the user's words, else quarantined."""
    doubt = ""
    if trust != "user":
        doubt = _PROVISIONAL if trust else "the quote is not in your own words"
    elif context.author != "user" and _requests_beyond(add.content, context.digest.own_words):
        doubt = "it asks for more than you said"
    fields: dict[str, Any] = {
        "content": add.content,
        "kind": add.kind,
        "scope": add.scope,
        "state": "quarantined" if doubt else "active",
        "trust": "user" if trust == "user" and not doubt else trust if trust in OUTSIDE else "tool",
    }
    fields |= {"when": add.when} if add.when else {}
    fields |= {"anchors": list(anchors)} if (anchors := find_anchors(add.content)) else {}
    evidence = _evidence(add, fields["trust"], context)
    if doubt:
        evidence += (replace(evidence[0], source=DOUBT, quote=doubt, trust="tool"),)
    curated.ops.append(Op("ADD", fields=fields, evidence=evidence))


def _confirm(add: AddProposal, old: Bullet, trust: Trust, context: CuratorContext, curated: Curated) -> None:
    """Add evidence to a bullet that a result repeats; a provisional one becomes active."""
    if _is_confirmed(old, context):
        fields = {"state": "active"}
    elif old.state in ("quarantined", "disabled"):
        curated.refused.append(_refusal_line(add, f"it repeats {old.id}, which is {old.state}"))
        return
    elif old.id in context.digest.shown:
        return  # the model repeats its own prompt
    else:
        fields = {"trust": old.trust}
    if sum(op.op == "UPDATE" for op in curated.ops) >= MAX_UPDATES:
        curated.refused.append(_refusal_line(add, f"at most {MAX_UPDATES} changes per turn"))
        return
    curated.ops.append(Op("UPDATE", old.id, fields, _evidence(add, trust, context)))


def _is_confirmed(bullet: Bullet, context: CuratorContext) -> bool:
    """Return True for a provisional bullet with evidence from another session, no missing anchor and no instruction."""
    text = bullet.content
    if bullet.state != "quarantined" or bullet.trust not in OUTSIDE or _EXTERNAL.search(text) or _ORDERS.search(text):
        return False
    lookup = context.workspaces.lookup(context.session) if context.workspaces else None
    is_missing = lookup is not None and lookup.first_missing(bullet.anchors) != ""
    return not is_missing and all(e.session_id != context.digest.session_id for e in context.store.evidence(bullet.id))


def _restate(add: AddProposal, old: Bullet, context: CuratorContext, curated: Curated) -> None:
    """Activate a bullet that the user's words repeat, and give it the user's trust."""
    fields: dict[str, Any] = {"trust": "user"} | ({} if old.is_live else {"state": "active"})
    if stems(old.content) < stems(add.content):
        fields |= {"content": add.content, "anchors": list(find_anchors(add.content))}
    curated.ops.append(Op("UPDATE", old.id, fields, _evidence(add, "user", context)))


def _update(add: AddProposal, context: CuratorContext, curated: Curated) -> None:
    """Change a bullet's content, if the user's words are the evidence."""
    old = context.session.playbook.bullets.get(add.bullet_id)
    trust, words = _source_of_quote(add, context), stems(add.content)
    if old is None:
        curated.refused.append(f"not changed: {add.bullet_id}: there is no such strategy")
    elif problem := _rejection_reason(add.content, trust or "tool"):
        curated.refused.append(f"not changed: {old.id}: {problem}")
    elif trust != "user" or _requests_beyond(add.content, context.digest.own_words):
        curated.refused.append(f"not changed: {old.id}: the words are not yours")
    elif context.author != "remember" and len(words - stems(f"{old.content} {context.digest.query}")) * 2 > len(words):
        curated.refused.append(f"not changed: {old.id}: most words are neither yours nor its own")
    else:
        fields: dict[str, Any] = {"content": add.content, "anchors": list(find_anchors(add.content)), "trust": "user"}
        fields |= {"when": add.when} if add.when else {}
        curated.ops.append(Op("UPDATE", old.id, fields, _evidence(add, "user", context)))


def _evidence(add: AddProposal, trust: str, context: CuratorContext) -> tuple[Evidence, ...]:
    quote, digest = shorten(redact(clean(add.quote or add.content)), _MAX_QUOTE), context.digest
    place = (digest.session_id, digest.interaction or None, add.call_id)
    return (Evidence(context.author, quote, *place, cast(Trust, trust)),)


def _refusal_line(add: AddProposal, why: str) -> str:
    return f'not learned: "{shorten(redact(add.content), 60)}": {why}'


def build_delta(digest: TurnDigest, curated: Curated, author: str, reason: str, salt: str = "") -> Delta:
    """Build a delta whose id is a hash of its turn, author, reason, `salt` and content, so that it is applied once."""
    rows = [
        [op.op, op.bullet_id, op.fields, [[e.source, e.quote, e.call_id] for e in op.evidence]] for op in curated.ops
    ]
    text = json.dumps([digest.session_id, digest.interaction, author, reason, salt, rows], sort_keys=True)
    name, refused = "d-" + hashlib.sha256(text.encode()).hexdigest()[:24], tuple(dict.fromkeys(curated.refused))
    return Delta(name, tuple(curated.ops), author, digest.session_id, digest.interaction, reason, refused)


def contains_quote(quote: str, text: str) -> bool:
    """Return True if a text contains the normalized quote; False for quotes that are too short to be evidence."""
    words = _normalize(quote)
    letters = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in words)
    long_enough = len(words.split()) >= _MIN_WORDS or letters >= _MIN_LETTERS
    return long_enough and words in _normalize(text)


def _source_of_quote(add: AddProposal, context: CuratorContext) -> Trust | None:
    """Return where a quote comes from, the least trusted place of several; None if the turn does not contain it."""
    digest = context.digest
    if context.author == "user" or contains_quote(add.quote, digest.own_words):
        return "user"
    calls = [call for call in digest.calls if call.id == add.call_id] or digest.calls
    names = [call.name for call in calls if contains_quote(add.quote, _searchable_text(call))]
    if any("fetch" in name or "web" in name or "__" in name for name in names):
        return "web"
    return None if not names else "repository" if all(name in _READERS for name in names) else "tool"


def _searchable_text(call: CallDigest) -> str:
    values = " ".join(str(value) for value in call.parameters.values())
    code = f"exit code {call.exit_code} exit {call.exit_code}" if call.exit_code is not None else ""
    return f"{call.output} {call.reason} {values} {code}"


def _normalize(text: str) -> str:
    """Normalize what models change when they copy: case, spacing, accents, width, quotes, invisible characters."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold().replace("i\u0307", "i")
    return " ".join("".join(c for c in plain if unicodedata.category(c) != "Cf").split())


def _rejection_reason(content: str, trust: Trust, workspaces: Workspaces | None = None) -> str:
    """Return why a cleaned text may not become a bullet, or "". The user's words need only be short and not secret."""
    if not re.search(r"\w", content):
        return "it is empty"
    if problem := length_problem(content):
        return problem
    if has_secret(content):
        return "it holds a secret"
    words, lines = stems(content), workspaces.instructions().splitlines() if workspaces and trust != "user" else []
    known = any(len(words & stems(line)) >= _KNOWN * len(words) for line in lines if line.strip())
    return "the instructions contain it already" if known else ""


def _requests_beyond(content: str, query: str) -> bool:
    """Return True if a text names a URL, flag or download program that the user's message does not contain."""
    typed = query.casefold()
    return any(found[0].strip().casefold() not in typed for found in _EXTERNAL.finditer(content))
