"""Bringing an exported playbook in: what is known is updated, what is new keeps its id where that is still free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from swecli.models.ids import uuid7
from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.by_hand import anchors
from swecli.playbook.markdown_read import Carried
from swecli.playbook.redact import has_secret

EDITABLE = ("content", "section", "kind", "scope", "state", "anchors")


@dataclass(slots=True)
class Plan:
    """What an import would do.

    `kept` are the new ones that keep their id, `renamed` the foreign ids that are given new ones (in the order of the
    ADDs without an id), `changed` and `same` those known here; `left_out` says what stays out and why.
    """

    ops: list[Op] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def delta(self, session: Session, source: str) -> Delta | None:
        """The change, None when there is none to make."""
        if not self.ops:
            return None
        return Delta(uuid7(), tuple(self.ops), "import", session.id, None, f"import of {source}")


def plan_import(carried: Sequence[Carried], session: Session, here: Mapping[str, Bullet], last_number: int) -> Plan:
    """Compare a file with what is here.

    Args:
        carried: the strategies of the file.
        session: where they are to belong.
        here: every strategy that may be seen from the session and has an id of the file, removed ones too, and all
            that are not removed.
        last_number: the highest number that was ever given here: a higher one is free.

    A strategy is known when one of its id was made at the same moment; with an id that belongs to another one here, or
    once did, it is foreign and gets a new id. One whose words are here already stays out. Counts of known ones stay as
    they are here.
    """
    plan = Plan()
    words = {_words(bullet): name for name, bullet in here.items() if bullet.state != "deleted"}
    for item in carried:
        bullet, known = item.bullet, here.get(item.bullet.id)
        if has_secret(bullet.content):
            plan.left_out.append(f"{bullet.id} (line {item.line}) holds a secret")
        elif bullet.scope == "session" and not session.id:
            plan.left_out.append(f"{bullet.id} belongs to a session, and there is none here")
        elif known is not None and (known.created_at == bullet.created_at or not item.dated):
            _update(plan, known, item)
        elif _words(bullet) in words:
            plan.left_out.append(f"{bullet.id} says what {words[_words(bullet)]} says here")
        elif bullet.state != "deleted":
            free = bullet.number > last_number
            (plan.kept if free else plan.renamed).append(bullet.id)
            plan.ops.append(_adding(item, bullet.id if free else ""))
            words[_words(bullet)] = bullet.id
    return plan


def _words(bullet: Bullet) -> str:
    return " ".join(bullet.content.lower().split())


def _update(plan: Plan, known: Bullet, item: Carried) -> None:
    fields = {name: getattr(item.bullet, name) for name in EDITABLE}
    changed = {name: value for name, value in fields.items() if value != getattr(known, name)}
    if "content" in changed and "anchors" not in changed:
        changed["anchors"] = anchors(item.bullet.content)  # only the words were edited in the file
    if not changed:
        plan.same.append(known.id)
        return
    if known.state == "deleted":
        plan.ops.append(Op("RESTORE", known.id, evidence=(_brought(item, "restored"),)))
    plan.ops.append(Op("UPDATE", known.id, fields=changed, evidence=(_brought(item, "edited"),)))
    plan.changed.append(known.id)


def _brought(item: Carried, how: str) -> Evidence:
    return Evidence("import", f"{how} in line {item.line} of the imported file", trust="user")


def _adding(item: Carried, bullet_id: str) -> Op:
    bullet = item.bullet
    fields: dict[str, Any] = {name: getattr(bullet, name) for name in (*EDITABLE, "trust")}
    fields["anchors"] = bullet.anchors or anchors(bullet.content)
    fields |= {name: getattr(bullet, name) for name in ("helpful", "harmful", "neutral")}
    times = {name: getattr(bullet, name) for name in ("updated_at", "last_used")}
    if item.dated:
        times["created_at"] = bullet.created_at
    fields |= {name: when.isoformat() for name, when in times.items() if when}
    return Op("ADD", bullet_id, fields=fields, evidence=item.evidence or (_brought(item, "written"),))
