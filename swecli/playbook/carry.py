"""Bringing an exported playbook in: what is known is updated, what is new keeps its id where that is still free."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from swecli.models.ids import uuid7
from swecli.models.playbook import Bullet, Delta, Evidence, Op
from swecli.models.session import Session
from swecli.playbook.by_hand import anchors
from swecli.playbook.gate import DOUBT, clean, objection
from swecli.playbook.learning.curator import OUTSIDE
from swecli.playbook.lineage import diff_lines
from swecli.playbook.markdown_read import Carried
from swecli.redact import has_secret

EDITABLE = ("content", "section", "kind", "scope", "state", "anchors")
FAR = 100_000  # above the last number given here an id is nobody's: kept, it would push all later ones up there
_ELSEWHERE = "it comes from another playbook"


@dataclass(slots=True)
class Plan:
    """What an import would do.

    `kept` are the new ones that keep their id; `renamed` are the ids that are given new ones, with the reason, in the
    order of the ADDs without an id; `changed` and `same` are known here. `waiting` are the ids in the file of those
    that are set aside until the user has looked at them. `lines` say what becomes of the changed ones, `left_out` what
    stays out and why; of these `lost` are not here in other words either.
    """

    ops: list[Op] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    lost: int = 0

    def delta(self, session: Session, source: str) -> Delta | None:
        """The change, None when there is none to make."""
        if not self.ops:
            return None
        return Delta(uuid7(), tuple(self.ops), "import", session.id, None, f"import of {source}")


@dataclass(frozen=True, slots=True)
class Ground:
    """Where an import goes.

    Attributes:
        session: where the strategies are to belong.
        here: every strategy that may be seen from the session and has an id of the file, removed ones too, and all
            that are not removed.
        taken: the ids of the file that belong to a strategy of this database, whether it may be seen or not.
        last_number: the highest number that was ever given here: one above it is free.
        trusted: the user vouches for the file; else what did not come from here waits for the user's word.
    """

    session: Session
    here: Mapping[str, Bullet]
    taken: Collection[str] = ()
    last_number: int = 0
    trusted: bool = False


def plan_import(carried: Sequence[Carried], ground: Ground) -> Plan:
    """Compare a file with what is here.

    A strategy is known when one of its id, or of its words, was made at the same moment. Any other is from elsewhere:
    it keeps its id where that is free, and stays out when its words were here before the import. What a file says
    twice comes in twice. Counts of known ones stay as they are here.
    """
    plan, repeated = Plan(), 0
    words = {_words(bullet): name for name, bullet in ground.here.items() if bullet.state != "deleted"}
    twins = {(bullet.created_at, _words(bullet)): bullet for bullet in ground.here.values()}
    for item in sorted(carried, key=lambda item: item.bullet.number):  # ids that are kept are given in their order
        bullet = _scoped(item)
        known = _known(item, ground, twins, ground.here.get(words.get(_words(bullet), "")))
        if why := _unfit(item, bullet, ground):
            plan.left_out.append(f"{bullet.id} {why}")
        elif known is not None:
            _update(plan, known, item, ground.trusted)
        elif bullet.state == "deleted":
            plan.left_out.append(f"{bullet.id} is marked as removed")
        elif words.get(_words(bullet)) == bullet.id:
            plan.same.append(bullet.id)
        elif _words(bullet) in words:
            repeated += 1
            plan.left_out.append(f"{bullet.id} says what {words[_words(bullet)]} says here")
        else:
            _take_in(plan, replace(item, bullet=bullet), ground)
    plan.lost = len(plan.left_out) - repeated
    return plan


def _words(bullet: Bullet) -> str:
    return " ".join(bullet.content.lower().split())


def _scoped(item: Carried) -> Bullet:
    """The strategy; where the file does not say for whom it is, it is for the project."""
    return item.bullet if "scope" in item.said else replace(item.bullet, scope="project")


def _known(item: Carried, ground: Ground, twins: Mapping[Any, Bullet], alike: Bullet | None) -> Bullet | None:
    """The strategy here that this one is.

    Where the user vouches for the file, one without a date is it by its id, and one that waits here by its words.
    """
    known = ground.here.get(item.bullet.id)
    if known is not None and (known.created_at == item.bullet.created_at if item.dated else ground.trusted):
        return known
    if item.dated and (twin := twins.get((item.bullet.created_at, _words(item.bullet)))):
        return twin
    return alike if ground.trusted and alike is not None and alike.state == "quarantined" else None


def _unfit(item: Carried, bullet: Bullet, ground: Ground) -> str:
    if has_secret(bullet.content):
        return f"(line {item.line}) holds a secret"
    if bullet.scope == "session" and not ground.session.id:
        return "belongs to a session, and there is none here; write `scope: project` to have it for all"
    return ""


def _update(plan: Plan, known: Bullet, item: Carried, trusted: bool) -> None:
    named = [name for name in (*EDITABLE, *(["trust"] if trusted else ())) if name in item.said]
    fields = {name: getattr(item.bullet, name) for name in named}
    if trusted and known.state == "quarantined":
        fields["state"] = item.bullet.state
    if not trusted and _would_wake(known, item.bullet):
        fields["state"] = "quarantined"
        plan.waiting.append(known.id)
    changed = {name: value for name, value in fields.items() if value != getattr(known, name)}
    if "content" in changed and "anchors" not in changed:
        changed["anchors"] = anchors(item.bullet.content)  # only the words were edited in the file
    if not changed:
        plan.same.append(known.id)
        return
    if known.state == "deleted" and fields.get("state") != "deleted":
        plan.ops.append(Op("RESTORE", known.id, evidence=(_brought(item, "restored", "user"),)))
    plan.ops.append(Op("UPDATE", known.id, fields=changed, evidence=(_brought(item, "edited", "user"),)))
    plan.changed.append(known.id)
    plan.lines += diff_lines(known.id, known, replace(known, **changed))


def _would_wake(known: Bullet, brought: Bullet) -> bool:
    """Whether a file would let something into prompts that nobody here has said yes to."""
    asleep = known.state == "quarantined" or (known.state == "deleted" and known.trust in OUTSIDE)
    return asleep and brought.live


def _brought(item: Carried, how: str, trust: Any) -> Evidence:
    return Evidence("import", f"{how} in line {item.line} of the imported file", trust=trust)


def _take_in(plan: Plan, item: Carried, ground: Ground) -> None:
    name, number = item.bullet.id, item.bullet.number
    if ground.last_number < number <= ground.last_number + FAR:
        plan.kept.append(name)
    elif name in ground.taken:
        plan.renamed[name] = "that id belongs to another one"
    else:
        far = number > ground.last_number
        plan.renamed[name] = "its number is far above all that were given here" if far else "that id was given before"
    if not ground.trusted:
        item = _set_aside(item)
        plan.waiting += [name] if item.bullet.state == "quarantined" else []
    plan.ops.append(_adding(item, "" if name in plan.renamed else name, ground.trusted))


def _set_aside(item: Carried) -> Carried:
    """As one that nobody here vouches for: no more trusted than a file, and out of prompts until it is looked at."""
    bullet = replace(item.bullet, content=clean(item.bullet.content) or item.bullet.content)
    doubt = objection(bullet.content, "reasoning")
    trust = bullet.trust if bullet.trust in OUTSIDE else "repository"
    state = "quarantined" if bullet.live else bullet.state
    evidence = [replace(e, trust=e.trust if e.trust in OUTSIDE else "repository") for e in item.evidence]
    evidence.append(Evidence(DOUBT, f"{_ELSEWHERE}, and {doubt}" if doubt else _ELSEWHERE, trust="repository"))
    return replace(item, bullet=replace(bullet, trust=trust, state=state), evidence=tuple(evidence))


def _adding(item: Carried, bullet_id: str, trusted: bool) -> Op:
    bullet = item.bullet
    fields: dict[str, Any] = {name: getattr(bullet, name) for name in (*EDITABLE, "trust")}
    if not (bullet.anchors or item.dated):  # written by hand: an export says what it names
        fields["anchors"] = anchors(bullet.content)
    fields |= {name: getattr(bullet, name) for name in ("helpful", "harmful", "neutral")}
    times = {name: getattr(bullet, name) for name in ("updated_at", "last_used")}
    if item.dated:
        times["created_at"] = bullet.created_at
    fields |= {name: when.isoformat() for name, when in times.items() if when}
    written = _brought(item, "written", "user" if trusted else "repository")
    return Op("ADD", bullet_id, fields=fields, evidence=item.evidence or (written,))
