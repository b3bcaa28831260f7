"""The curator: out of what reflectors propose it makes one validated, capped delta, and says what it refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from swecli.models.playbook import Bullet, Delta, Evidence, Op, SessionPlaybook
from swecli.playbook.anchors import anchors_of
from swecli.playbook.counted import safe
from swecli.playbook.digest import TurnDigest
from swecli.playbook.gate import DOUBT, Relation, clean, nearest, objection
from swecli.playbook.here import Here
from swecli.playbook.learning.proposals import AddProposal, Reflection, TagProposal
from swecli.playbook.learning.superseding import overtaken, succeeds
from swecli.playbook.words import content_words, jaccard, shorten
from swecli.redact import redact

MAX_ADDS = 3
MAX_CHANGES = 2
SINCE = "newer words"  # the source of the evidence for setting aside what newer words of the user replace
OUTSIDE = ("repository", "tool", "web")


@dataclass(slots=True)
class Sifted:
    """What passed, as the one `delta` it comes to (None: nothing passed), and a line for each thing that did not."""

    ops: list[Op] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    delta: Delta | None = None

    def count(self, *names: str) -> int:
        """How many operations of these kinds passed."""
        return sum(op.op in names for op in self.ops)


class Curator:
    """Makes deltas. Never changes a playbook itself.

    Args:
        max_adds: new bullets a turn, at most.
        max_changes: updates and merges a turn, at most.
        instructions: what the prompt says anyway; a bullet that repeats one of its lines is refused.
        here: the workspace; what a reflector proposes waits in quarantine when it names something that is not there.
            None: nothing is looked up.
        removed: bullets that the user removed, refused or took back: only the user's own words bring them in again.
    """

    def __init__(
        self,
        max_adds: int = MAX_ADDS,
        max_changes: int = MAX_CHANGES,
        instructions: str = "",
        here: Here | None = None,
        removed: Sequence[Bullet] = (),
    ) -> None:
        self.max_adds = max_adds
        self.max_changes = max_changes
        self.instructions = instructions
        self.here = here
        self.removed = removed

    def curate(
        self,
        reflections: Reflection | Sequence[Reflection],
        playbook: SessionPlaybook,
        digest: TurnDigest,
        *,
        author: str = "rules",
        refused: Sequence[str] = (),
    ) -> Sifted:
        """What of one turn's reflections passes, the most trusted first, as one delta.

        Args:
            reflections: proposals; where two tag one bullet alike or against each other, the first one counts.
            playbook: the bullets there are; ids that are not among them are refused.
            digest: the turn they came from.
            author: the model's name; the delta is by "rules" where nothing of it is the model's.
            refused: lines of what was dropped before, kept with the delta.
        """
        sifted = self.sift(reflections, playbook, digest)
        sifted.refused = list(dict.fromkeys((*refused, *sifted.refused)))
        if sifted.ops:
            by_model = any(evidence.source == "model" for op in sifted.ops for evidence in op.evidence)
            sifted.delta = make_delta(digest, sifted.ops, author if by_model else "rules", sifted.refused)
        return sifted

    def sift(
        self, reflections: Reflection | Sequence[Reflection], playbook: SessionPlaybook, digest: TurnDigest
    ) -> Sifted:
        """The operations that pass, and why the others do not."""
        many, sifted = [reflections] if isinstance(reflections, Reflection) else list(reflections), Sifted()
        self._tags([t for r in many for t in r.tags], playbook, sifted)
        adds = [a for r in many for a in r.adds]
        for add in sorted(adds, key=lambda a: a.trust != "user"):
            self._add(replace(add, content=clean(add.content)), playbook, digest, sifted)
        return sifted

    def _tags(self, tags: Sequence[TagProposal], playbook: SessionPlaybook, sifted: Sifted) -> None:
        """One tag for a bullet and a turn; a neutral one gives way to a later verdict."""
        chosen: dict[tuple[str, str], TagProposal] = {}
        for tag in tags:
            if tag.bullet_id not in playbook.bullets:
                if tag.tag != "neutral":  # that one was shown which is gone now is no news
                    sifted.refused.append(f"{tag.bullet_id} {tag.tag}: there is no such bullet")
                continue
            key = (tag.bullet_id, tag.about)
            if key not in chosen or (chosen[key].tag == "neutral" and tag.tag != "neutral"):
                chosen[key] = tag
        for tag in chosen.values():
            twin = chosen.get((tag.bullet_id, "previous")) if tag.about == "turn" else None
            if tag.source == "model" and twin is not None and twin.tag == tag.tag:
                continue  # the model repeats the user's verdict: one failure counts once
            op = Op("TAG", bullet_id=tag.bullet_id, tag=tag.tag, evidence=tuple(map(safe, tag.evidence)))
            sifted.ops.append(op)

    def _add(self, add: AddProposal, playbook: SessionPlaybook, digest: TurnDigest, sifted: Sifted) -> None:
        problem = objection(add.content, add.trust, self.instructions)
        if problem:
            sifted.refused.append(f"not learned: {_label(add)}: {problem}")
            return
        if _repeats(add, sifted):
            return
        found = nearest(add.content, playbook.bullets.values())
        if found is None:
            self._new(add, sifted, self._missing(add))
        elif add.trust == "user":
            self._user_knows_better(add, *found, sifted)
            self._overtaken(add, found[0], playbook, sifted)
        else:
            self._merge(add, *found, digest, sifted)

    def _anchors(self, add: AddProposal) -> list[str]:
        return list(anchors_of(add.content, self.here.tools if self.here else ()))

    def _missing(self, add: AddProposal) -> str:
        """What a reflector's text names that is not here, "" for nothing. Users may speak of what is still to come."""
        if self.here is None or add.trust == "user":
            return ""
        return self.here.of(anchors_of(add.content, self.here.tools)).missing

    def _new(self, add: AddProposal, sifted: Sifted, doubt: str = "") -> None:
        """A new bullet; with a doubt, or out of untrusted text, it waits in quarantine for the user's yes."""
        if gone := self._gone(add):
            sifted.refused.append(f"not learned: {_label(add)}: you removed {gone}, which says so")
            return
        if sifted.count("ADD") >= self.max_adds:
            sifted.refused.append(f"not learned: {_label(add)}: {self.max_adds} new ones a turn are the limit")
            return
        fields: dict[str, Any] = {
            "content": add.content,
            "section": add.section,
            "kind": add.kind,
            "scope": add.scope,
            "state": "quarantined" if doubt or add.trust in OUTSIDE else "active",
            "trust": add.trust,
        }
        if anchors := self._anchors(add):
            fields["anchors"] = anchors
        evidence = tuple(map(safe, add.evidence))
        if doubt:
            first = add.evidence[0] if add.evidence else None
            at = (first.session_id, first.interaction) if first else ("", None)
            evidence += (safe(Evidence(DOUBT, doubt, *at)),)
        sifted.ops.append(Op("ADD", fields=fields, evidence=evidence))

    def _gone(self, add: AddProposal) -> str:
        """The id of a bullet that the user did not want and that says what a reflector proposes; "" where none does."""
        found = None if add.trust == "user" else nearest(add.content, self.removed, gone=True)
        return found[0].id if found and found[1] != "opposite" else ""

    def _user_knows_better(self, add: AddProposal, old: Bullet, relation: Relation, sifted: Sifted) -> None:
        """The user's words about something a bullet speaks of already: their newest word wins.

        But what they pinned stays until they have chosen between the two.
        """
        if relation == "opposite" or (relation == "variant" and (add.replaces or succeeds(add, old))):
            doubt = f"it {'contradicts' if relation == 'opposite' else 'would replace'} {old.id}, which you pinned"
            if old.state == "active" and sifted.count("ADD") < self.max_adds:
                sifted.ops.append(Op("QUARANTINE", bullet_id=old.id, evidence=(_newer(add, relation),)))
            self._new(add, sifted, doubt if old.state == "pinned" else "")
        elif relation == "variant":
            self._new(add, sifted)
        elif not old.live:
            self._change(_update(old, add, state="active", trust="user"), add, sifted)
        elif relation == "narrower":
            anchors = self._anchors(add)
            self._change(_update(old, add, content=add.content, trust="user", anchors=anchors), add, sifted)
        else:
            self._change(_update(old, add, trust="user"), add, sifted)

    def _overtaken(self, add: AddProposal, old: Bullet, playbook: SessionPlaybook, sifted: Sifted) -> None:
        """What they said in between of the same matter is set aside where an older word of theirs comes back."""
        if old.live or not any(op.bullet_id == old.id for op in sifted.ops):
            return
        for other in overtaken(add, playbook.bullets.values(), but=old.id):
            sifted.ops.append(Op("QUARANTINE", bullet_id=other.id, evidence=(_newer(add, "variant"),)))

    def _merge(self, add: AddProposal, old: Bullet, relation: Relation, digest: TurnDigest, sifted: Sifted) -> None:
        """A reflector's proposal that speaks of what a bullet says already: evidence for it, or nothing."""
        if relation == "opposite":
            self._contradiction(add, old, sifted)
        elif _confirms(add, old):
            self._change(_update(old, add, state="active", trust=add.trust), add, sifted)
        elif not old.live:
            sifted.refused.append(f"not learned: {_label(add)}: it says what {old.id} says, which is {old.state}")
        elif add.trust in OUTSIDE:
            sifted.refused.append(f"not learned: {_label(add)}: it says what {old.id} says and comes from outside")
        elif old.id in digest.shown and not _witnessed(add, old, digest):
            sifted.refused.append(f"not learned: {_label(add)}: it repeats {old.id}, which was in the prompt")
        else:
            self._change(_update(old, add, trust=old.trust), add, sifted)

    def _contradiction(self, add: AddProposal, old: Bullet, sifted: Sifted) -> None:
        """The opposite of what a bullet says: it waits, linked to that bullet, until the user has chosen."""
        if add.trust in OUTSIDE or not old.live:
            sifted.refused.append(f"not learned: {_label(add)}: it contradicts {old.id}")
        else:
            self._new(add, sifted, f"it contradicts {old.id}")

    def _change(self, op: Op, add: AddProposal, sifted: Sifted) -> None:
        if sifted.count("UPDATE", "MERGE") >= self.max_changes:
            sifted.refused.append(f"not learned: {_label(add)}: {self.max_changes} changes a turn are the limit")
            return
        sifted.ops.append(op)


def _update(old: Bullet, add: AddProposal, **fields: Any) -> Op:
    """New evidence for a bullet. Its trust is always named: an update has to say something."""
    return Op("UPDATE", bullet_id=old.id, fields=dict(fields), evidence=tuple(map(safe, add.evidence)))


def _newer(add: AddProposal, relation: Relation) -> Evidence:
    """The evidence for setting aside what the user's newer words take the place of: those words."""
    evidence = safe(add.evidence[0]) if add.evidence else Evidence("teaching", add.content)
    if relation == "opposite" or add.replaces:
        return evidence
    return safe(replace(evidence, source=SINCE, quote=f"you said since: {add.content}"))


def _repeats(add: AddProposal, sifted: Sifted) -> bool:
    """Whether this turn's delta adds the same already; then the evidence goes there."""
    words = content_words(add.content)
    for at, op in enumerate(sifted.ops):
        if op.op == "ADD" and jaccard(words, content_words(op.fields["content"])) >= (
            1.0 if add.trust == "user" else 0.5
        ):
            sifted.ops[at] = replace(op, evidence=(*op.evidence, *map(safe, add.evidence)))
            return True
    return False


def _confirms(add: AddProposal, old: Bullet) -> bool:
    """Whether the work itself, and not just a model, shows what had waited because it came from outside."""
    waits = old.state == "quarantined" and old.trust in OUTSIDE
    return waits and add.trust == "reasoning" and any(e.source != "model" for e in add.evidence)


def _witnessed(add: AddProposal, old: Bullet, digest: TurnDigest) -> bool:
    """Whether a proposal quotes something that happened and is about the bullet it repeats, but is not the bullet."""
    about = content_words(old.content)
    scenes = [(text, "") for text in (digest.query, digest.why)]
    scenes += [(f"{call.command} {call.output}", call.command) for call in digest.calls]
    for evidence in add.evidence:
        quote = _told(evidence.quote)
        if len(quote) < 4 or quote in old.content.lower():
            continue
        if any(quote in _told(text) and about & content_words(f"{quote} {ran}") for text, ran in scenes):
            return True
    return False


def _told(text: str) -> str:
    return " ".join(text.split()).lower()


def _label(add: AddProposal) -> str:
    return f'"{shorten(redact(add.content), 60)}"'


def make_delta(digest: TurnDigest, ops: Sequence[Op], author: str, refused: Sequence[str] = ()) -> Delta:
    """A delta whose id follows from its turn, author and content: made twice, it is applied once."""
    rows = [
        [op.op, op.bullet_id, op.tag, op.into, op.fields, [[e.source, e.quote, e.call_id] for e in op.evidence]]
        for op in ops
    ]
    text = json.dumps([digest.session_id, digest.interaction, author, rows], ensure_ascii=True, sort_keys=True)
    return Delta(
        id="d-" + hashlib.sha256(text.encode()).hexdigest()[:24],
        ops=tuple(ops),
        author=author,
        session_id=digest.session_id,
        interaction=digest.interaction,
        reason=f"mark {digest.mark}" if digest.mark else "turn",
        refused=tuple(refused),
    )
