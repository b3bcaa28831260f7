"""The curator: out of what reflectors and the `remember` tool propose it makes one checked, capped delta."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from swecli.models.playbook import OUTSIDE, Bullet, Delta, Evidence, Kind, Op, Scope, Tag, Trust, shorten
from swecli.playbook.quarantine import DOUBT, PROVISIONAL, clean, is_confirmed, rejection_reason, requests_beyond
from swecli.playbook.similarity import jaccard, most_similar, stems
from swecli.playbook.turn_digest import CallDigest, TurnDigest
from swecli.playbook.workspace import WorkspaceLookup, anchors_of
from swecli.redact import redact

_READERS = frozenset({"read_file", "search_files", "list_files"})
_QUOTES = str.maketrans("‘’‚“”„«»", "'''" + 5 * '"')
_WORDS, _LETTERS = 3, 8  # a quote has at least so many of one of them; a Chinese letter is two


def contains_quote(quote: str, text: str) -> bool:
    """Whether a quote stands literally in a text, however it is spaced and capitalised; one that is too short to prove
    anything does not."""
    words = _normalize(quote)
    letters = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in words)
    long_enough = len(words.split()) >= _WORDS or letters >= _LETTERS
    return long_enough and words in _normalize(text)


def _source_of_quote(quote: str, call_id: str, digest: TurnDigest) -> Trust | None:
    """Where a quote comes from: the user's own message of the turn, a file, a command's output, the web; None where it
    stands nowhere in the turn."""
    if contains_quote(quote, digest.own_words):
        return "user"
    named = [call for call in digest.calls if call.id == call_id] or list(digest.calls)
    found = [call for call in named if contains_quote(quote, _searchable_text(call))]
    return _least_trusted(found) if found else None


def _searchable_text(call: CallDigest) -> str:
    values = " ".join(str(value) for value in call.parameters.values())
    code = f"exit code {call.exit_code} exit {call.exit_code}" if call.exit_code is not None else ""
    return f"{call.output} {call.reason} {values} {code}"


def _least_trusted(calls: Sequence[CallDigest]) -> Trust:
    """The least trusted of them counts."""
    names = [call.name for call in calls]
    if any("fetch" in name or "web" in name or "__" in name for name in names):
        return "web"
    return "repository" if all(name in _READERS for name in names) else "tool"


def _normalize(text: str) -> str:
    """Without what a model's copy changes unasked: case, spacing, the form of accents, wide letters, quotes, and what
    is not seen."""
    plain = unicodedata.normalize("NFKC", text.translate(_QUOTES)).casefold().replace("i\u0307", "i")
    return " ".join("".join(c for c in plain if unicodedata.category(c) != "Cf").split())


MAX_ADDS, MAX_UPDATES = 3, 2
_QUOTE = 300  # characters of a quoted span
_SAME = 0.8  # shared stems from which the user's words say what a bullet says already


@dataclass(frozen=True, slots=True)
class TagProposal:
    """A verdict on one bullet that was shown, with the reason given."""

    bullet_id: str
    tag: Tag
    why: str = ""


@dataclass(frozen=True, slots=True)
class AddProposal:
    """A new bullet, or with `bullet_id` other words for one. `quote` are words of the turn that show it, `call_id` the
    call in whose result they stand ("": the user's own words, or none named)."""

    content: str
    when: str = ""
    kind: Kind = "strategy"
    quote: str = ""
    call_id: str = ""
    bullet_id: str = ""
    scope: Scope = "project"


@dataclass(frozen=True, slots=True)
class CuratorContext:
    """What a proposal is held against: who proposes ("user": the user's own typed words), the turn, the bullets that
    apply, those the user `removed`, what the prompt says anyway, the workspace (None: nothing is looked up), and
    `seen_in`: the sessions that a bullet's evidence is from, by its id."""

    author: str
    digest: TurnDigest
    bullets: Sequence[Bullet]
    removed: Sequence[Bullet] = ()
    instructions: str = ""
    lookup: WorkspaceLookup | None = None
    seen_in: Callable[[str], Sequence[str]] = lambda name: ()


@dataclass(slots=True)
class Curated:
    """What passed, and a line for each thing that did not."""

    ops: list[Op] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def count(self, name: str) -> int:
        return sum(op.op == name for op in self.ops)


def curate(adds: Sequence[AddProposal], updates: Sequence[AddProposal], ground: CuratorContext) -> Curated:
    """What of one turn's proposals passes: new bullets, and other words for some."""
    curated = Curated()
    for add in adds:
        _add(replace(add, content=clean(add.content), when=clean(add.when)), ground, curated)
    for update in updates:
        _update(replace(update, content=clean(update.content), when=clean(update.when)), ground, curated)
    return curated


def _trusted(add: AddProposal, ground: CuratorContext) -> Trust | None:
    return "user" if ground.author == "user" else _source_of_quote(add.quote, add.call_id, ground.digest)


def _add(add: AddProposal, ground: CuratorContext, curated: Curated) -> None:
    trust = _trusted(add, ground)
    problem = rejection_reason(add.content, trust or "tool", ground.instructions)
    if problem or (trust is None and ground.author != "remember"):
        curated.refused.append(_refusal_line(add, problem or "its quote is not in this turn"))
        return
    old = most_similar(add.content, ground.bullets)
    if old is not None and trust != "user":
        _confirm(add, old, trust or "tool", ground, curated)
    elif old is not None and jaccard(stems(add.content), stems(old.content)) >= _SAME:
        _restate(add, old, ground, curated)
    elif trust != "user" and (gone := most_similar(add.content, ground.removed)):
        curated.refused.append(_refusal_line(add, f"you removed {gone.id}, which covers it"))
    elif trust != "user" and curated.count("ADD") >= MAX_ADDS:
        curated.refused.append(_refusal_line(add, f"{MAX_ADDS} new ones a turn are the limit"))
    else:
        _add_new(add, trust, ground, curated)


def _add_new(add: AddProposal, trust: Trust | None, ground: CuratorContext, curated: Curated) -> None:
    """A new bullet: active in the user's words, else waiting."""
    doubt = ""
    if trust != "user":
        doubt = PROVISIONAL if trust else "the quote is not in your own words"
    elif ground.author != "user" and requests_beyond(add.content, ground.digest.own_words):
        doubt = "it asks for more than you said"
    fields: dict[str, Any] = {
        "content": add.content,
        "kind": add.kind,
        "scope": add.scope,
        "state": "quarantined" if doubt else "active",
        "trust": "user" if trust == "user" and not doubt else trust if trust in OUTSIDE else "tool",
    }
    if add.when:
        fields["when"] = add.when
    if anchors := anchors_of(add.content):
        fields["anchors"] = list(anchors)
    evidence = [_evidence(add, str(fields["trust"]), ground)]
    if doubt:
        evidence.append(replace(evidence[0], source=DOUBT, quote=doubt, trust="tool"))
    curated.ops.append(Op("ADD", fields=fields, evidence=tuple(evidence)))


def _confirm(add: AddProposal, old: Bullet, trust: Trust, ground: CuratorContext, curated: Curated) -> None:
    """A second sight of what a bullet says: it is evidence, and makes one active that waited for it."""
    missing = ground.lookup.first_missing(old.anchors) if ground.lookup else ""
    if is_confirmed(old, ground.seen_in(old.id), ground.digest.session_id, missing):
        fields = {"state": "active"}
    elif old.state in ("quarantined", "disabled"):
        curated.refused.append(_refusal_line(add, f"it repeats {old.id}, which is {old.state}"))
        return
    elif old.id in ground.digest.shown:
        return  # the playbook's own words come back: no news, and no fault
    else:
        fields = {"trust": old.trust}
    _append_change(Op("UPDATE", old.id, fields=fields, evidence=(_evidence(add, trust, ground),)), add, curated)


def _restate(add: AddProposal, old: Bullet, ground: CuratorContext, curated: Curated) -> None:
    """The user's words say what a bullet says: it is theirs from now on, and active."""
    fields: dict[str, Any] = {"trust": "user"} | ({} if old.is_live else {"state": "active"})
    if stems(old.content) < stems(add.content):
        fields |= {"content": add.content, "anchors": list(anchors_of(add.content))}
    curated.ops.append(Op("UPDATE", old.id, fields=fields, evidence=(_evidence(add, "user", ground),)))


def _update(add: AddProposal, ground: CuratorContext, curated: Curated) -> None:
    """Other words for a bullet: in the user's words any, else only for what a reflector wrote."""
    old = next((bullet for bullet in ground.bullets if bullet.id == add.bullet_id), None)
    trust = _trusted(add, ground)
    if old is None:
        curated.refused.append(f"not changed: {add.bullet_id}: there is no such strategy")
    elif problem := rejection_reason(add.content, trust or "tool"):
        curated.refused.append(f"not changed: {old.id}: {problem}")
    elif trust != "user" or requests_beyond(add.content, ground.digest.own_words):
        curated.refused.append(f"not changed: {old.id}: the words are not yours")
    else:
        fields: dict[str, Any] = {"content": add.content, "anchors": list(anchors_of(add.content)), "trust": "user"}
        fields |= {"when": add.when} if add.when else {}
        _append_change(Op("UPDATE", old.id, fields=fields, evidence=(_evidence(add, "user", ground),)), add, curated)


def _append_change(op: Op, add: AddProposal, curated: Curated) -> None:
    if curated.count("UPDATE") >= MAX_UPDATES:
        curated.refused.append(_refusal_line(add, f"{MAX_UPDATES} changes a turn are the limit"))
    else:
        curated.ops.append(op)


def _evidence(add: AddProposal, trust: str, ground: CuratorContext) -> Evidence:
    quote = shorten(redact(clean(add.quote or add.content)), _QUOTE)
    digest, known = ground.digest, cast(Trust, trust)
    return Evidence(ground.author, quote, digest.session_id, digest.interaction or None, add.call_id, known)


def _refusal_line(add: AddProposal, why: str) -> str:
    return f'not learned: "{shorten(redact(add.content), 60)}": {why}'


def build_delta(digest: TurnDigest, curated: Curated, author: str, reason: str, salt: str = "") -> Delta:
    """A delta whose id follows from its turn, author, reason and content: made twice, it is applied once."""
    rows = [
        [op.op, op.bullet_id, op.fields, [[e.source, e.quote, e.call_id] for e in op.evidence]] for op in curated.ops
    ]
    text = json.dumps([digest.session_id, digest.interaction, author, reason, salt, rows], sort_keys=True)
    return Delta(
        id="d-" + hashlib.sha256(text.encode()).hexdigest()[:24],
        ops=tuple(curated.ops),
        author=author,
        session_id=digest.session_id,
        interaction=digest.interaction,
        reason=reason,
        refused=tuple(dict.fromkeys(curated.refused)),
    )
