"""The consolidation of a playbook after a session: its question, its answer, and what of the answer is applied."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from swecli.llm.lenient_json import find_json_values
from swecli.models.doubts import quotations
from swecli.models.ids import parse_short_id
from swecli.models.playbook import CONSOLIDATED, Bullet, Delta, Op
from swecli.models.session import Session
from swecli.playbook.learning.contradictions import Contradiction
from swecli.playbook.learning.curator import (
    is_hand_written,
    needs_approval,
    reads_as,
    rejection_reason,
    unknown_name,
)
from swecli.playbook.learning.question import fence, list_waiting
from swecli.playbook.ranking import clean
from swecli.playbook.wording import is_same_text
from swecli.redact import redact
from swecli.store.playbook.store import PlaybookStore
from swecli.text import shorten

What = Literal["same", "replaced", "broad", "stale", "contradiction"]
MANY = 30  # strategies in prompts from which a session's end is a reason to look for doubles
_MOST = 100  # strategies of one question, the newest: about 5,000 tokens
_MAX_FINDINGS = 20  # of one answer
_MAX_REWORDED = 2  # what the store allows a model to change in one delta
_WHY = 120  # characters of a reason


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a model found: `what` is true of the strategies `ids`. `keep` is the one that stays, "" if the
    finding names none; `text` is the narrower text of one that is too broad."""

    what: What
    ids: tuple[str, ...]
    keep: str = ""
    text: str = ""
    why: str = ""


@dataclass(slots=True)
class FindingsAnswer:
    """The findings of an answer, and a line for each item that cannot be used."""

    findings: list[Finding] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


def is_worthwhile(session: Session) -> bool:
    """Return whether a playbook may need tidying: proposals wait, or many strategies are in prompts."""
    bullets = session.playbook.bullets
    waiting = list_waiting(bullets)
    live = [bullet for bullet in bullets.values() if bullet.is_live]
    return len(waiting) + len(live) > 1 and (bool(waiting) or len(live) > MANY)


def select_bullets(session: Session) -> list[Bullet]:
    """Return the strategies that a question is about: the newest ones of those in prompts and of those that wait."""
    bullets = session.playbook.bullets
    live = sorted(
        (bullet for bullet in bullets.values() if bullet.is_live), key=lambda one: one.number
    )
    return [*live[-_MOST:], *list_waiting(bullets)]


def fingerprint(session: Session) -> str:
    """Return a hash of a playbook, which changes with each strategy that comes, goes or is reworded."""
    rows = [[one.id, one.content, one.state] for one in select_bullets(session)]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:24]


def build_question(bullets: Iterable[Bullet]) -> str:
    """Format strategies, without secrets, as one fenced JSON object."""
    rows: dict[str, list[dict[str, Any]]] = {"strategies": [], "waiting": []}
    for bullet in bullets:
        rows["strategies" if bullet.is_live else "waiting"].append(_row(bullet))
    return fence(rows)


def _row(bullet: Bullet) -> dict[str, Any]:
    row: dict[str, Any] = {"id": bullet.id, "text": redact(bullet.content)}
    if bullet.when:
        row["when"] = redact(bullet.when)
    row |= {"from": bullet.trust, "helped": bullet.helpful, "hurt": bullet.harmful}
    if bullet.stale:
        row["stale"] = redact(bullet.stale)
    return row


def findings_schema() -> dict[str, Any]:
    """Return the JSON schema of an answer."""
    text = {"type": "string"}
    properties = {
        "what": {"type": "string", "enum": [*get_args(What)]},
        "ids": {"type": "array", "items": text},
        "keep": text,
        "text": text,
        "why": text,
    }
    finding = _strict_object(properties)
    return _strict_object({"findings": {"type": "array", "items": finding}})


def _strict_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_findings(text: str, asked: Mapping[str, Bullet]) -> tuple[FindingsAnswer, str]:
    """Parse the last complete JSON object with findings about the strategies `asked`. Returns why the text is unusable,
    or ""."""
    objects = [
        one.value for one in find_json_values(text) if isinstance(one.value, dict) and not one.cut
    ]
    fitting = [value for value in objects if isinstance(value.get("findings"), list)]
    answer = FindingsAnswer()
    if not fitting:
        return answer, 'the answer has no complete JSON object with a list of "findings"'
    items = fitting[-1]["findings"]
    for item in items[:_MAX_FINDINGS]:
        finding = _read_finding(item)
        problem = (
            "it has not the form of a finding" if finding is None else _problem(finding, asked)
        )
        if problem or finding is None:
            answer.losses.append(f"{problem}: {shorten(json.dumps(item, default=str), 60)}")
        else:
            answer.findings.append(finding)
    if len(items) > _MAX_FINDINGS:
        answer.losses.append(f"{len(items) - _MAX_FINDINGS} more findings were dropped")
    if items and not answer.findings and len(answer.losses) == len(items):
        return answer, f"none of its findings can be used ({answer.losses[0]})"
    return answer, ""


def _read_finding(item: Any) -> Finding | None:
    if not isinstance(item, dict) or item.get("what") not in get_args(What):
        return None
    ids = item.get("ids")
    if not isinstance(ids, list):
        return None
    names = [_read_id(value) for value in ids]
    keep = item.get("keep")
    text = item.get("text")
    why = item.get("why")
    return Finding(
        what=cast(What, item["what"]),
        ids=tuple(dict.fromkeys(names)),
        keep=_read_id(keep) if keep else "",
        text=text if isinstance(text, str) else "",
        why=shorten(why, _WHY) if isinstance(why, str) else "",
    )


def _read_id(value: Any) -> str:
    """Return an id as `P-7`; what is none comes back as it is, so that a line can name it."""
    return parse_short_id("P", str(value).strip().strip("[]")) or shorten(str(value), 20)


def _problem(finding: Finding, asked: Mapping[str, Bullet]) -> str:
    """Return why a finding cannot be meant, or ""."""
    named = [*finding.ids, finding.keep] if finding.keep else [*finding.ids]
    unknown = [name for name in named if name not in asked]
    if unknown:
        return f"{unknown[0]} was not asked about"
    if not finding.ids:
        return "it names no strategy"
    if finding.what in ("same", "replaced"):
        if not finding.keep:
            return "it does not say which one stays"
        if finding.keep in finding.ids:
            return f"{finding.keep} cannot stay and go"
    if finding.what == "broad" and (len(finding.ids) != 1 or not finding.text.strip()):
        return "it gives no narrower text for one strategy"
    if finding.what == "contradiction" and len(named) < 2:
        return "one strategy alone is no contradiction"
    return ""


@dataclass(slots=True)
class Consolidation:
    """Applies findings. `ops` may be applied; `refused` has a line for each finding that may not."""

    session: Session
    store: PlaybookStore
    author: str
    ops: list[Op] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    contradictions: list[Contradiction] = field(default_factory=list)
    _touched: set[str] = field(default_factory=set)

    def take(self, findings: Sequence[Finding], asked: Mapping[str, Bullet]) -> None:
        """Take findings about strategies as they were `asked` about. A strategy that was changed meanwhile, or that an
        earlier finding has settled, stays as it is."""
        bullets = self.session.playbook.bullets
        for finding in findings:
            named = [*finding.ids, *filter(None, [finding.keep])]
            gone = [name for name in named if not reads_as(bullets.get(name), asked.get(name))]
            settled = [name for name in named if name in self._touched]
            if gone:
                self.refused.append(f"{gone[0]} was changed or removed meanwhile")
            elif finding.what == "contradiction":
                self.contradictions.append(Contradiction(tuple(named), finding.why))
            elif settled:
                self.refused.append(f"{settled[0]} is named by two findings; the first one counts")
            elif finding.what == "broad":
                self._narrow(bullets[finding.ids[0]], finding)
            else:
                for name in finding.ids:
                    self._drop(bullets[name], finding)

    def delta(self) -> Delta:
        """Build the delta of all changes, with a random part in its id only from its content: it is applied once."""
        rows = [[op.op, op.bullet_id, op.fields] for op in self.ops]
        version = self.session.playbook.version
        text = json.dumps([self.session.id, self.author, version, rows], sort_keys=True)
        name = "d-" + hashlib.sha256(text.encode()).hexdigest()[:24]
        refused = tuple(dict.fromkeys(self.refused))
        return Delta(
            name, tuple(self.ops), self.author, self.session.id, None, CONSOLIDATED, refused
        )

    def _drop(self, old: Bullet, finding: Finding) -> None:
        """Remove a strategy; what it was learned from goes to the one that is kept."""
        kept = self.session.playbook.bullets.get(finding.keep)
        reason = self._why_it_stays(old, finding)
        if reason:
            said = _SAID[finding.what].format(keep=finding.keep)
            self.refused.append(f"{old.id} stays, {reason}; a model says that it {said}")
            return
        self._touched.add(old.id)
        if kept is not None and finding.what == "same":
            self._merge(kept, old)
        self.ops.append(Op("REMOVE", old.id))

    def _why_it_stays(self, old: Bullet, finding: Finding) -> str:
        """Return why a model may not remove a strategy, or ""."""
        if old.state == "pinned":
            return "being pinned"
        if old.trust == "user":
            return "being the user's"
        if old.scope == "user":
            return "applying in all projects"
        if is_hand_written(self.store, old):
            return "being written by hand"
        if finding.what != "same" and old.helpful > old.harmful:
            return f"having helped {old.helpful} times"
        if finding.what == "same" and old.is_live and not self._serves(finding.keep):
            return f"being in prompts, as {finding.keep} is not"
        return ""

    def _serves(self, name: str) -> bool:
        bullet = self.session.playbook.bullets[name]
        return bullet.is_live and not bullet.is_left_out

    def _merge(self, kept: Bullet, old: Bullet) -> None:
        """Give the kept strategy the evidence of one that says the same. A proposal that two sessions made on their own
        is confirmed by that."""
        evidence = self.store.evidence_by_id((kept.id, old.id))
        fields: dict[str, Any] = {"trust": kept.trust}
        waits = kept.state == "quarantined" and not needs_approval(kept, evidence[kept.id])
        if waits and not unknown_name(kept.content, self.session):
            sessions = [{one.session_id for one in evidence[name]} for name in (kept.id, old.id)]
            if sessions[0].isdisjoint(sessions[1]):
                fields = {"state": "unconfirmed"}
        # no op at all would be refused, and one with the trust alone changes nothing but the evidence
        # not its doubts, nor what it would replace: they say nothing of the one that is kept
        given = tuple(replace(one, trust=old.trust) for one in quotations(evidence[old.id]))
        self.ops.append(Op("UPDATE", kept.id, fields, given))

    def _narrow(self, old: Bullet, finding: Finding) -> None:
        """Give a strategy that is no one's word the narrower text of a finding."""
        content = clean(finding.text)
        reason = self._why_it_stays(old, finding) or rejection_reason(content)
        if not reason and is_same_text(content, old.content):
            reason = "its narrower text says the same"
        reworded = sum("content" in op.fields for op in self.ops)
        if not reason and reworded >= _MAX_REWORDED:
            reason = f"after {_MAX_REWORDED} others were reworded"
        if reason:
            self.refused.append(f"{old.id} stays, {reason}; a model says that it is too broad")
            return
        self._touched.add(old.id)
        self.ops.append(Op("UPDATE", old.id, {"content": content}))


_SAID: dict[What, str] = {
    "same": "says the same as {keep}",
    "replaced": "is replaced by {keep}",
    "stale": "is outdated",
}
