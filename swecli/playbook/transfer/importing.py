"""Import of an exported playbook: known strategies are updated, new ones get the next numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.playbook import OUTSIDE, Bullet, Delta, Evidence, Op
from swecli.models.session import uuid7
from swecli.playbook.action import DOUBT, ActionContext, ActionResult, usage_error
from swecli.playbook.similarity import clean
from swecli.playbook.transfer.markdown import ImportedBullet, read_markdown
from swecli.playbook.workspace import find_anchors
from swecli.redact import has_secret

_EDITABLE = ("content", "when", "section", "kind", "scope", "state", "anchors")
_COUNTS = ("helpful", "harmful", "neutral")
_ELSEWHERE = "it comes from another playbook"


@dataclass(slots=True)
class _ImportPlan:
    """The operations of an import with the ids they concern: `new` as in the file, in the order of the ADDs; `waiting`
    need the user's approval; `left_out` are lines on what is skipped."""

    ops: list[Op] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def plan_import(
    imported: Sequence[ImportedBullet], present: Mapping[str, Bullet], *, trusted: bool = False
) -> _ImportPlan:
    """Compare a file with the strategies `present`, removed ones included. A strategy is known if one with its id or
    content has the same creation time, or one has the same content. `trusted`: the user vouches for the file."""
    plan = _ImportPlan()
    words = {_normalize(bullet): name for name, bullet in present.items() if bullet.state != "deleted"}
    twins = {(bullet.created_at, _normalize(bullet)): bullet for bullet in present.values()}
    for item in sorted(imported, key=lambda item: item.bullet.number):
        bullet, known = item.bullet, present.get(item.bullet.id)
        if known is None or not item.dated or known.created_at != bullet.created_at:
            known = twins.get((bullet.created_at, _normalize(bullet))) if item.dated else None
        alike = words.get(_normalize(bullet))
        if has_secret(bullet.content) or (known is None and bullet.state == "deleted"):
            why = "is marked as removed" if bullet.state == "deleted" else f"(line {item.line}) contains a secret"
            plan.left_out.append(f"{bullet.id} {why}")
        elif known is not None:
            _plan_update(plan, known, item, trusted=trusted)
        elif alike and trusted and bullet.is_live and present[alike].state == "quarantined":
            approved = Evidence("import", f"line {item.line} of the imported file", trust="user")
            plan.ops.append(Op("RESTORE", alike, evidence=(approved,)))
            plan.changed.append(alike)
        elif alike:
            plan.same.append(alike)
        else:
            _plan_add(plan, item, trusted=trusted)
    return plan


def _normalize(bullet: Bullet) -> str:
    return " ".join(bullet.content.lower().split())


def _plan_update(plan: _ImportPlan, known: Bullet, item: ImportedBullet, *, trusted: bool) -> None:
    named = [name for name in (*_EDITABLE, *(["trust"] if trusted else ())) if name in item.named]
    fields = {name: getattr(item.bullet, name) for name in named}
    asleep = known.state == "quarantined" or (known.state == "deleted" and known.trust in OUTSIDE)
    if not trusted and asleep and item.bullet.is_live:
        fields["state"] = "quarantined"  # a file does not activate what the user has not approved here
        plan.waiting.append(known.id)
    changed = {name: value for name, value in fields.items() if value != getattr(known, name)}
    if "content" in changed and "anchors" not in changed:
        changed["anchors"] = list(find_anchors(item.bullet.content))  # only the content was edited in the file
    if not changed:
        plan.same.append(known.id)
        return
    evidence = (Evidence("import", f"edited in line {item.line} of the imported file", trust="user"),)
    if known.state == "deleted" and fields.get("state") != "deleted":
        plan.ops.append(Op("RESTORE", known.id, evidence=evidence))
    plan.ops.append(Op("UPDATE", known.id, fields=changed, evidence=evidence))
    plan.changed.append(known.id)


def _plan_add(plan: _ImportPlan, item: ImportedBullet, *, trusted: bool) -> None:
    """Plan to add a strategy; without the user's trust it is quarantined, with the trust of a file at most."""
    bullet, evidence = item.bullet, item.evidence
    plan.new.append(bullet.id)
    if not trusted:
        plan.waiting += [bullet.id] if bullet.is_live or bullet.state == "quarantined" else []
        content, state = clean(bullet.content) or bullet.content, "quarantined" if bullet.is_live else bullet.state
        trust = bullet.trust if bullet.trust in OUTSIDE else "repository"
        bullet = replace(bullet, content=content, trust=trust, state=state)
        evidence = tuple(replace(e, trust=e.trust if e.trust in OUTSIDE else "repository") for e in evidence)
        evidence += (Evidence(DOUBT, _ELSEWHERE, trust="repository"),)
    fields: dict[str, Any] = {name: getattr(bullet, name) for name in (*_EDITABLE, "trust", *_COUNTS)}
    if not (bullet.anchors or item.dated):  # written by hand: an export contains them
        fields["anchors"] = list(find_anchors(bullet.content))
    times = ("created_at", "updated_at", "last_used") if item.dated else ("updated_at", "last_used")
    fields |= {name: when.isoformat() for name in times if (when := getattr(bullet, name))}
    written = Evidence("import", f"line {item.line} of the imported file", trust="user" if trusted else "repository")
    plan.ops.append(Op("ADD", fields=fields, evidence=evidence or (written,)))


_MAX_BYTES = 20_000_000


def import_file(ctx: ActionContext, file: str, *, trusted: bool) -> ActionResult:
    """Import an exported playbook. New strategies need the user's approval unless `trusted`. Raises BadInput."""
    if not file:
        raise usage_error(ctx, "No file was named.", "add --from FILE")
    path = resolve_file(file)
    imported = read_markdown(_read_file(path))
    present = {bullet.id: bullet for bullet in (*ctx.bullets(), *ctx.sessions.playbook.removed(ctx.session))}
    plan = plan_import(imported, present, trusted=trusted)
    added: tuple[str, ...] = ()
    if plan.ops:
        delta = Delta(uuid7(), tuple(plan.ops), "import", ctx.session.id, None, f"import of {path.name}")
        added = ctx.apply(delta).added
    named = dict(zip(plan.new, added, strict=True))
    waiting = [named.get(name, name) for name in plan.waiting]
    value = {"added": named, "changed": plan.changed, "same": plan.same, "waiting": waiting, "left_out": plan.left_out}
    return ActionResult(value, tuple(_summary(ctx, plan, named, path)), code=1 if plan.left_out else 0)


def _summary(ctx: ActionContext, plan: _ImportPlan, named: Mapping[str, str], path: Path) -> Iterator[str]:
    yield f"{len(named)} imported, {len(plan.changed)} changed, {len(plan.same)} the same."
    yield from [f"{old} of the file is {name} here." for old, name in named.items() if old != name][:20]
    yield from (f"skipped: {why}." for why in plan.left_out[:20])
    if count := len(plan.waiting):
        need = "needs" if count == 1 else "need"
        yield f"{count} of them {need} your approval: `{ctx.command} review`, or add --from {path} --trust for all."


def resolve_file(file: str) -> Path:
    """Expand `~`. Raises BadInput for what exists but is not a regular file: opening a pipe may block forever."""
    try:
        path = Path(file).expanduser()
        if not path.exists() or path.is_file():
            return path
    except (OSError, RuntimeError) as error:  # the name is too long, or its user is unknown
        raise BadInput(f"{file:.60} cannot be opened: {getattr(error, 'strerror', error)}") from None
    raise BadInput(f"{path} is not a regular file.", "Save it to a file first, or name another one.")


def _read_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if len(data := file.read(_MAX_BYTES + 1)) > _MAX_BYTES:
                raise BadInput(f"{path} is too large to be a playbook: over {_MAX_BYTES // 1_000_000} MB.")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}.") from error
