"""Bringing an exported playbook in: what is known is updated, what is new gets the next numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from swecli.models.errors import BadInput
from swecli.models.playbook import OUTSIDE, Bullet, Delta, Evidence, Op
from swecli.models.session import uuid7
from swecli.playbook.action import ActionContext, ActionResult, usage_error
from swecli.playbook.quarantine import DOUBT, clean
from swecli.playbook.transfer.markdown import ImportedBullet, read_markdown
from swecli.playbook.workspace import anchors_of
from swecli.redact import has_secret

_EDITABLE = ("content", "when", "section", "kind", "scope", "state", "anchors")
_COUNTS = ("helpful", "harmful", "neutral")
_ELSEWHERE = "it comes from another playbook"


@dataclass(slots=True)
class _ImportPlan:
    """What an import would do. `new` ones are named as the file does, in the order of their ADDs; `changed` and `same`
    are known; `waiting` need the user's look; `left_out` says what stays out and why."""

    ops: list[Op] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def plan_import(
    carried: Sequence[ImportedBullet], present: Mapping[str, Bullet], *, trusted: bool = False
) -> _ImportPlan:
    """Compare a file with every strategy `present`, removed ones too; `trusted` says that the user vouches for the
    file. A strategy is known when one of its id or words was made at the same moment, or its words are there."""
    plan = _ImportPlan()
    words = {_words(bullet): name for name, bullet in present.items() if bullet.state != "deleted"}
    twins = {(bullet.created_at, _words(bullet)): bullet for bullet in present.values()}
    for item in sorted(carried, key=lambda item: item.bullet.number):
        bullet, known = item.bullet, present.get(item.bullet.id)
        if known is None or not item.dated or known.created_at != bullet.created_at:
            known = twins.get((bullet.created_at, _words(bullet))) if item.dated else None
        alike = words.get(_words(bullet))
        if has_secret(bullet.content) or (known is None and bullet.state == "deleted"):
            why = "is marked as removed" if bullet.state == "deleted" else f"(line {item.line}) holds a secret"
            plan.left_out.append(f"{bullet.id} {why}")
        elif known is not None:
            _update(plan, known, item, trusted=trusted)
        elif alike:
            plan.same.append(alike)
        else:
            _plan_add(plan, item, trusted=trusted)
    return plan


def _words(bullet: Bullet) -> str:
    return " ".join(bullet.content.lower().split())


def _update(plan: _ImportPlan, known: Bullet, item: ImportedBullet, *, trusted: bool) -> None:
    named = [name for name in (*_EDITABLE, *(["trust"] if trusted else ())) if name in item.named]
    fields = {name: getattr(item.bullet, name) for name in named}
    asleep = known.state == "quarantined" or (known.state == "deleted" and known.trust in OUTSIDE)
    if not trusted and asleep and item.bullet.is_live:
        fields["state"] = "quarantined"  # a file lets nothing into prompts that nobody here has said yes to
        plan.waiting.append(known.id)
    changed = {name: value for name, value in fields.items() if value != getattr(known, name)}
    if "content" in changed and "anchors" not in changed:
        changed["anchors"] = list(anchors_of(item.bullet.content))  # only the words were edited in the file
    if not changed:
        plan.same.append(known.id)
        return
    evidence = (Evidence("import", f"edited in line {item.line} of the imported file", trust="user"),)
    if known.state == "deleted" and fields.get("state") != "deleted":
        plan.ops.append(Op("RESTORE", known.id, evidence=evidence))
    plan.ops.append(Op("UPDATE", known.id, fields=changed, evidence=evidence))
    plan.changed.append(known.id)


def _plan_add(plan: _ImportPlan, item: ImportedBullet, *, trusted: bool) -> None:
    """Plan a new one; where nobody vouches for it no more trusted than a file, and out of prompts until it is seen."""
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
    if not (bullet.anchors or item.dated):  # written by hand: an export says what it names
        fields["anchors"] = list(anchors_of(bullet.content))
    times = ("created_at", "updated_at", "last_used") if item.dated else ("updated_at", "last_used")
    fields |= {name: when.isoformat() for name in times if (when := getattr(bullet, name))}
    written = Evidence("import", f"line {item.line} of the imported file", trust="user" if trusted else "repository")
    plan.ops.append(Op("ADD", fields=fields, evidence=evidence or (written,)))


_LARGEST = 20_000_000  # bytes of a file that is read


def write_file(path: Path, text: str, *, force: bool, hint: str) -> None:
    """Write a file; one that is there only with `force`. Raises BadInput."""
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    except FileExistsError:
        raise BadInput(f"{path} already exists.", hint) from None
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from error


def import_file(ctx: ActionContext, file: str, *, trusted: bool) -> ActionResult:
    """Take in an exported playbook. What does not come from this project waits for the user's yes, unless they vouch
    for the file. Raises BadInput."""
    if not file:
        raise usage_error(ctx, "No file was named.", "add --from FILE")
    path = Path(file).expanduser()
    carried = read_markdown(_read(path))
    if not ctx.session.id and (own := [item.line for item in carried if item.bullet.scope == "session"]):
        raise BadInput(
            f"Line {own[0]} belongs to a session, and there is none.", "Write `scope: project` in its place."
        )
    present = {bullet.id: bullet for bullet in (*ctx.bullets(), *ctx.sessions.playbook.removed(ctx.session))}
    plan = plan_import(carried, present, trusted=trusted)
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
    yield from (f"left out: {why}." for why in plan.left_out[:20])
    if count := len(plan.waiting):
        wait = "needs" if count == 1 else "need"
        yield f"{count} of them {wait} your approval: `{ctx.command} review`, or add --from {path} --trust for all."


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            if len(data := file.read(_LARGEST + 1)) > _LARGEST:
                raise BadInput(f"{path} is too large to be a playbook: over {_LARGEST // 1_000_000} MB.")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}.") from error
