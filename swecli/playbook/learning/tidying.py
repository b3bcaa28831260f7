"""The tidying of a playbook: its question, its answer, and what of the answer is applied."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, get_args

from swecli.llm.model_json import read_object
from swecli.models.json_value import JsonObject
from swecli.models.playbook import TIDIED, Bullet, Delta, Op
from swecli.models.session import Session
from swecli.playbook.learning.curator import (
    is_hand_written,
    needs_approval,
    reads_as,
    rejection_reason,
    unknown_name,
)
from swecli.playbook.learning.question import fence, list_waiting
from swecli.playbook.pairs import Pair, PairKind, make_pairs
from swecli.playbook.ranking import clean
from swecli.playbook.wording import is_same_text
from swecli.redact import redact
from swecli.store.playbook.store import PlaybookStore
from swecli.text import shorten
from swecli.values import dataclass

FindingKind = Literal["same", "replaced", "broad", "stale", "contradiction"]
_MAX_STRATEGIES = 100  # of one question, the newest: about 5,000 tokens
_MAX_FINDINGS = 20  # of one answer
_MAX_REWORDED = 2  # what the store allows a model to change in one delta
_MAX_REASON = 120  # characters of a reason


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a model found: `kind` is true of the strategies `ids`. `keep` is the one that stays, "" if the
    finding names none; `text` is the narrower text of one that is too broad."""

    kind: FindingKind
    ids: tuple[str, ...]
    keep: str = ""
    text: str = ""
    reason: str = ""

    @property
    def named_ids(self) -> tuple[str, ...]:
        """The ids of all strategies that it names."""
        return (*self.ids, self.keep) if self.keep else self.ids


@dataclass(slots=True)
class FindingsAnswer:
    """The findings of an answer, and a line for each item that cannot be used."""

    findings: list[Finding] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


def select_bullets(session: Session) -> list[Bullet]:
    """Return the strategies that a question is about: the newest ones of those in prompts and of those that wait."""
    bullets = session.playbook.bullets
    live = [bullet for bullet in bullets.values() if bullet.is_live]
    live.sort(key=lambda bullet: bullet.number)
    return [*live[-_MAX_STRATEGIES:], *list_waiting(bullets)]


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


def findings_schema() -> JsonObject:
    """Return the JSON schema of an answer. What may be left out is empty then."""
    text = {"type": "string"}
    finding = {
        "type": "object",
        "properties": {
            "what": {"type": "string", "enum": [*get_args(FindingKind)]},
            "ids": {"type": "array", "items": text},
            "keep": text,
            "text": text,
            "why": text,
        },
        "required": ["what", "ids"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"findings": {"type": "array", "items": finding}},
        "required": ["findings"],
        "additionalProperties": False,
    }


def read_findings(text: str, asked_bullets: Mapping[str, Bullet]) -> tuple[FindingsAnswer, str]:
    """Read the findings about the strategies `asked_bullets`. Returns also what is wrong with the text, or ""."""
    answer = FindingsAnswer()
    value, fault = read_object(text, findings_schema())
    if fault:
        return answer, fault
    items = value["findings"]
    for item in items[:_MAX_FINDINGS]:
        finding = Finding(
            kind=item["what"],
            ids=tuple(dict.fromkeys(item["ids"])),
            keep=item.get("keep", ""),
            text=item.get("text", ""),
            reason=shorten(item.get("why", ""), _MAX_REASON),
        )
        if problem := _problem(finding, asked_bullets):
            answer.losses.append(f"{problem}: {shorten(json.dumps(item), 60)}")
        else:
            answer.findings.append(finding)
    if len(items) > _MAX_FINDINGS:
        answer.losses.append(f"{len(items) - _MAX_FINDINGS} more findings were dropped")
    if items and not answer.findings and len(answer.losses) == len(items):
        return answer, f"none of its findings can be used ({answer.losses[0]})"
    return answer, ""


def _problem(finding: Finding, asked_bullets: Mapping[str, Bullet]) -> str:
    """Return why a finding cannot be meant, or ""."""
    unknown = [name for name in finding.named_ids if name not in asked_bullets]
    if unknown:
        return f"{shorten(unknown[0], 20)} was not asked about"
    if not finding.ids:
        return "it names no strategy"
    if finding.kind in ("same", "replaced"):
        if not finding.keep:
            return "it does not say which one stays"
        if finding.keep in finding.ids:
            return f"{finding.keep} cannot stay and go"
    if finding.kind == "broad" and (len(finding.ids) != 1 or not finding.text.strip()):
        return "it gives no narrower text for one strategy"
    if finding.kind == "contradiction" and len(finding.named_ids) < 2:
        return "one strategy alone is no contradiction"
    return ""


@dataclass(slots=True)
class Tidying:
    """Applies findings. `ops` may be applied, `pairs` are for the user to decide, and `refusals` has a line for each
    finding that is neither."""

    session: Session
    store: PlaybookStore
    author: str
    ops: list[Op] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    _touched_ids: set[str] = field(default_factory=set)

    def take(self, findings: Sequence[Finding], asked_bullets: Mapping[str, Bullet]) -> None:
        """Take findings about `asked_bullets`, the strategies as the question showed them. A strategy that was changed
        meanwhile, or that an earlier finding has settled, stays as it is."""
        bullets = self.session.playbook.bullets
        for finding in findings:
            named_ids = finding.named_ids
            changed_ids = [
                name
                for name in named_ids
                if not reads_as(bullets.get(name), asked_bullets.get(name))
            ]
            settled = [name for name in named_ids if name in self._touched_ids]
            if changed_ids:
                self.refusals.append(f"{changed_ids[0]} was changed or removed meanwhile")
            elif finding.kind == "contradiction":
                self.pairs += make_pairs(PairKind.CONTRADICTION, named_ids, finding.reason)
            elif settled:
                self.refusals.append(f"{settled[0]} is named by two findings; the first one counts")
            elif finding.kind == "broad":
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
        refusals = tuple(dict.fromkeys(self.refusals))
        return Delta(name, tuple(self.ops), self.author, self.session.id, None, TIDIED, refusals)

    def _drop(self, old: Bullet, finding: Finding) -> None:
        """Remove a strategy; what it was learned from goes to the one that is kept."""
        reason = self._reason_to_keep(old, finding)
        kept_bullet = self.session.playbook.bullets.get(finding.keep)
        if reason and old.is_live and kept_bullet is not None and kept_bullet.is_live:
            self.pairs += make_pairs(PairKind.DOUBLE, (old.id, finding.keep), finding.reason)
            return
        if reason:
            self.refusals.append(f"{old.id} stays, {reason}; a model would remove it")
            return
        self._touched_ids.add(old.id)
        if finding.kind == "same":
            self._merge(self.session.playbook.bullets[finding.keep], old)
        self.ops.append(Op("REMOVE", old.id))

    def _reason_to_keep(self, old: Bullet, finding: Finding) -> str:
        """Return why a model may not remove a strategy, as in "it stays, being pinned"; "" if it may."""
        if old.state == "pinned":
            return "being pinned"
        if old.trust == "user":
            return "being the user's"
        if old.scope == "user":
            return "applying in all projects"
        if is_hand_written(self.store, old):
            return "being written by hand"
        if finding.kind != "same" and old.helpful > old.harmful:
            return f"having helped {old.helpful} times"
        if finding.kind == "same" and old.is_live:
            kept_bullet = self.session.playbook.bullets[finding.keep]
            if not kept_bullet.is_live or kept_bullet.is_left_out:
                return f"being in prompts, as {finding.keep} is not"
        return ""

    def _merge(self, kept_bullet: Bullet, old: Bullet) -> None:
        """Give the kept strategy the evidence of one that says the same. A proposal that two sessions made on their own
        is confirmed by that."""
        evidence = self.store.evidence_by_id((kept_bullet.id, old.id))
        fields: dict[str, Any] = {"trust": kept_bullet.trust}
        waits = kept_bullet.state == "quarantined" and not needs_approval(kept_bullet)
        if waits and not unknown_name(kept_bullet.content, self.session):
            of_kept = {item.session_id for item in evidence[kept_bullet.id]}
            of_old = {item.session_id for item in evidence[old.id]}
            if of_kept.isdisjoint(of_old):
                fields = {"state": "unconfirmed"}
        # an UPDATE needs a field, and the same trust changes nothing but the evidence;
        # a yes to the old text is none to the one that is kept
        quotes = (
            replace(item, trust=old.trust) for item in evidence[old.id] if not item.is_consent
        )
        self.ops.append(Op("UPDATE", kept_bullet.id, fields, tuple(quotes)))

    def _narrow(self, old: Bullet, finding: Finding) -> None:
        """Give a strategy that is no one's word the narrower text of a finding."""
        content = clean(finding.text)
        reason = self._reason_to_keep(old, finding) or rejection_reason(content)
        if not reason and is_same_text(content, old.content):
            reason = "its narrower text says the same"
        reworded = sum("content" in op.fields for op in self.ops)
        if not reason and reworded >= _MAX_REWORDED:
            reason = f"after {_MAX_REWORDED} others were reworded"
        if reason:
            self.refusals.append(f"{old.id} stays, {reason}; a model says that it is too broad")
            return
        self._touched_ids.add(old.id)
        self.ops.append(Op("UPDATE", old.id, {"content": content}))
