"""Export of the playbook as one Markdown file to read and edit, and its import: known strategies are updated, new ones
get the next numbers. What exchanges say of a strategy stays in the database."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    Json,
    ValidationError,
)

from swecli.models.action import ActionResult
from swecli.models.doubts import Doubt
from swecli.models.errors import BadInput
from swecli.models.ids import parse_short_id, uuid7
from swecli.models.playbook import (
    OUTSIDE,
    Bullet,
    Delta,
    EffectCounts,
    Evidence,
    Kind,
    Op,
    Scope,
    State,
    Trust,
    length_problem,
)
from swecli.playbook.action import ActionContext, read_text_file, resolve_file
from swecli.playbook.ranking import clean
from swecli.playbook.workspace import find_anchors
from swecli.redact import has_secret
from swecli.values import dataclass

_FORMAT = 1
_NOTE = (
    "One strategy a line. Its text, scope, state, kind and when may be edited; "
    "`swecli playbook add --from FILE` takes the file back, by the ids."
)
_HINT = "Nothing was imported; correct that line and import it again."
_MARK = re.compile(r"<!--\s*swecli playbook (\d{1,9})\s*-->")
_MARKER = r"(?:[-*+]|[0-9]{1,9}[.)])"  # of a Markdown list item
_ITEM = re.compile(rf"\s*{_MARKER}\s")
_BULLET = re.compile(rf"{_MARKER}\s+\[([^\]\n]*)\]\s+(.*)")
_FIELD = re.compile(rf"\s+{_MARKER}\s+([a-z]+): ?(.*)")
_REMARK = re.compile(r"<!--.*-->")
_EDITABLE = ("content", "when", "section", "kind", "scope", "paths", "state", "anchors")
# what a file tells of a strategy beside its fields, and earlier versions wrote: read by people only
_ORIGIN_NOTES = (
    "effects",
    "quote",
    "anchors",
    "counts",
    "updated",
    "used",
    "evidence",
    "replaces",
    "doubt",
)
_MAX_LISTED = 20  # lines of each kind that an import prints


def to_markdown(
    bullets: Iterable[Bullet],
    evidence: Mapping[str, Sequence[Evidence]],
    effects: Mapping[str, EffectCounts],
) -> str:
    """Format strategies with their quotations and what they did, by id, in order of their numbers."""
    lines = ["# Playbook", "", f"<!-- swecli playbook {_FORMAT} -->", "", _NOTE, ""]
    for bullet in sorted(bullets, key=lambda bullet: bullet.number):
        lines += _format_bullet(bullet)
        counts = effects.get(bullet.id, EffectCounts())
        if counts.summary:
            lines.append(f"  - effects: {counts.summary}")
        for item in evidence.get(bullet.id, ()):
            lines.append(f"  - quote: {_encode_line(item.quote)} ({item.trust})")
    return "\n".join(lines) + "\n"


def _encode_line(text: str) -> str:
    """Return a text unchanged, or as a JSON string if it would not be parsed back unchanged."""
    is_one_line = text == " ".join(text.split()) and text.isprintable()
    is_plain = is_one_line and text and not text.startswith('"')
    return text if is_plain else json.dumps(text)


def _parse_text(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def _format_bullet(bullet: Bullet) -> Iterator[str]:
    """Yield the lines of a strategy that an import reads, without fields that say nothing."""
    yield f"- [{bullet.id}] {_encode_line(bullet.content)}"
    defaults = _Fields()
    for name in ("kind", "scope", "state", "trust"):
        value = getattr(bullet, name)
        if value != getattr(defaults, name):
            yield f"  - {name}: {value}"
    if bullet.when:
        yield f"  - when: {_encode_line(bullet.when)}"
    if bullet.paths:
        yield f"  - paths: {json.dumps(bullet.paths)}"
    yield f"  - created: {bullet.created_at.isoformat()}"


_Moment = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC))]


class _Fields(BaseModel, extra="forbid"):
    kind: Kind = "strategy"
    scope: Scope = "project"
    state: State = "active"
    trust: Trust = "reasoning"
    when: Annotated[str, BeforeValidator(_parse_text)] = ""
    paths: Json[tuple[str, ...]] = ()
    created: _Moment | None = None


@dataclass(frozen=True, slots=True)
class ImportedBullet:
    """A strategy of a file, which begins at a `line`. The file contains its `field_names`; other fields have their
    defaults."""

    bullet: Bullet
    line: int = 0
    field_names: frozenset[str] = frozenset({"content", "section"})

    @property
    def is_dated(self) -> bool:
        """Whether the file contains its creation time."""
        return "created_at" in self.field_names


def _read_markdown(text: str) -> list[ImportedBullet]:
    """Parse a file of `to_markdown`, possibly edited by hand. Raises BadInput for the first invalid line, a newer
    format, and a file that is not a playbook."""
    mark = _MARK.search(text)
    if mark is None:
        raise BadInput(
            "The file is not an exported playbook: it has no line `<!-- swecli playbook 1 -->`.",
            "Make one with `swecli playbook export FILE`.",
        )
    if int(mark[1]) > _FORMAT:
        problem = f"The playbook was exported by a newer swecli (format {mark[1]}; this one reads {_FORMAT})."
        raise BadInput(problem, "Update swecli to import it.")
    section = ""
    bullets: dict[str, ImportedBullet] = {}
    for number, line in enumerate(text.split("\n"), 1):
        try:
            section = _read_line(line.rstrip("\r"), section, bullets, number)
        except ValidationError as error:
            first = error.errors()[0]
            path = "".join(f"{name}: " for name in first["loc"])
            raise BadInput(f"Line {number} cannot be read: {path}{first['msg']}.", _HINT) from None
        except (ValueError, OverflowError, RecursionError) as error:
            raise BadInput(f"Line {number} cannot be read: {error}.", _HINT) from None
    return list(bullets.values())


def _read_line(line: str, section: str, bullets: dict[str, ImportedBullet], number: int) -> str:
    """Parse one line into `bullets` and return the section of the next one. Text may precede the first section. Raises
    ValueError."""
    if line.startswith("## "):
        section = _parse_text(line[3:].strip())
        if not section.strip():
            raise ValueError("the section has no name")
    elif match := _BULLET.fullmatch(line):
        name = parse_short_id("P", match[1])
        content = _parse_text(match[2].strip())
        if name in (None, "P-0"):
            raise ValueError(f"{match[1]!r:.40} is not an id such as P-7")
        if name in bullets:
            raise ValueError(f"{name} occurs twice")
        if not content.strip():
            raise ValueError(f"{name} has no content")
        if problem := length_problem(content):
            raise ValueError(problem)
        bullet = Bullet(name, content, section or "general", scope="project")
        bullets[name] = ImportedBullet(bullet, line=number)
    elif match := _FIELD.fullmatch(line):
        if not bullets:
            raise ValueError("it precedes the first strategy")
        name, imported = bullets.popitem()
        bullets[name] = _with_field(imported, match[1], match[2].strip())
    elif not line.strip() or _REMARK.fullmatch(line.strip()):
        return section
    elif section or bullets or _ITEM.match(line):
        raise ValueError(
            "it is neither a strategy, `- [P-1] content`, nor a field of one, `  - kind: strategy`"
        )
    return section


def _with_field(imported: ImportedBullet, name: str, value: str) -> ImportedBullet:
    """Return a strategy with one more field. Raises ValueError, or OverflowError for a time out of range."""
    if name in _ORIGIN_NOTES:
        return imported
    parsed = _Fields.model_validate({name: value})
    field_name = "created_at" if name == "created" else name
    return replace(
        imported,
        bullet=replace(imported.bullet, **{field_name: getattr(parsed, name)}),
        field_names=imported.field_names | {field_name},
    )


@dataclass(slots=True)
class ImportPlan:
    """The operations of an import with the ids they concern: `new` as in the file, in the order of the ADDs;
    `waiting_ids` need the user's approval; `left_out` are lines on what is skipped. `trusted`: the user vouches for the
    file."""

    trusted: bool
    ops: list[Op] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    changed_ids: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    waiting_ids: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def update(self, present_bullet: Bullet, item: ImportedBullet) -> None:
        """Plan to update a known strategy."""
        editable = (*_EDITABLE, "trust") if self.trusted else _EDITABLE
        fields = {name: getattr(item.bullet, name) for name in editable if name in item.field_names}
        is_outside = present_bullet.state == "deleted" and present_bullet.trust in OUTSIDE
        is_unapproved = present_bullet.state == "quarantined" or is_outside
        if not self.trusted and is_unapproved and item.bullet.is_live:
            # a file does not activate what the user has not approved here
            fields["state"] = "quarantined"
            self.waiting_ids.append(present_bullet.id)
        changed_fields = {
            name: value for name, value in fields.items() if value != getattr(present_bullet, name)
        }
        if not changed_fields:
            self.same.append(present_bullet.id)
            return
        if "content" in changed_fields and "anchors" not in changed_fields:
            # only the content was edited in the file
            changed_fields["anchors"] = list(find_anchors(item.bullet.content))
        quote = f"edited in line {item.line} of the imported file"
        evidence = (Evidence("import", quote, trust="user"),)
        if present_bullet.state == "deleted" and fields.get("state") != "deleted":
            self.ops.append(Op("RESTORE", present_bullet.id, evidence=evidence))
        self.ops.append(Op("UPDATE", present_bullet.id, fields=changed_fields, evidence=evidence))
        self.changed_ids.append(present_bullet.id)

    def add(self, item: ImportedBullet) -> None:
        """Plan to add a strategy; without the user's trust it is quarantined, with the trust of a file at most."""
        bullet = item.bullet
        self.new.append(bullet.id)
        quote = f"line {item.line} of the imported file"
        evidence: tuple[Evidence, ...] = (Evidence("import", quote, trust="user"),)
        if not self.trusted:
            content = clean(bullet.content) or bullet.content
            bullet = replace(bullet, content=content, trust=_outside_trust(bullet.trust))
            if bullet.is_live:
                bullet = replace(bullet, state="quarantined")
            if bullet.state == "quarantined":
                self.waiting_ids.append(bullet.id)
            # the ids of what it would replace are those of the other playbook
            bullet = replace(bullet, doubt=Doubt.IMPORTED, replaces=())
        fields: dict[str, Any] = {
            name: getattr(bullet, name) for name in (*_EDITABLE, "trust", "doubt")
        }
        fields["anchors"] = list(bullet.anchors or find_anchors(bullet.content))
        if item.is_dated:
            fields["created_at"] = bullet.created_at.isoformat()
        self.ops.append(Op("ADD", fields=fields, evidence=evidence))


def _outside_trust(trust: Trust) -> Trust:
    """Return the trust of something in a file for which the user does not vouch."""
    return trust if trust in OUTSIDE else "repository"


def plan_import(
    imported: Sequence[ImportedBullet], present: Mapping[str, Bullet], *, trusted: bool = False
) -> ImportPlan:
    """Compare a file with the strategies `present`, removed ones included. A strategy is known if one with its id or
    content has the same creation time, or one has the same content."""
    plan = ImportPlan(trusted)
    by_content = {
        _normalize(bullet): bullet for bullet in present.values() if bullet.state != "deleted"
    }
    by_origin = {(bullet.created_at, _normalize(bullet)): bullet for bullet in present.values()}
    for item in sorted(imported, key=lambda item: item.bullet.number):
        bullet = item.bullet
        content = _normalize(bullet)
        present_bullet: Bullet | None = None
        if item.is_dated:
            present_bullet = present.get(bullet.id)
            if present_bullet is None or present_bullet.created_at != bullet.created_at:
                present_bullet = by_origin.get((bullet.created_at, content))
        same = by_content.get(content)
        if present_bullet is None and bullet.state == "deleted":
            plan.left_out.append(f"{bullet.id} is marked as removed")
        elif has_secret(bullet.content):
            plan.left_out.append(f"{bullet.id} (line {item.line}) contains a secret")
        elif present_bullet is not None:
            plan.update(present_bullet, item)
        elif same is None:
            plan.add(item)
        elif trusted and bullet.is_live and same.state == "quarantined":
            approved = Evidence("import", f"line {item.line} of the imported file", trust="user")
            plan.ops.append(Op("RESTORE", same.id, evidence=(approved,)))
            plan.changed_ids.append(same.id)
        else:
            plan.same.append(same.id)
    return plan


def _normalize(bullet: Bullet) -> str:
    return " ".join(bullet.content.lower().split())


def import_file(ctx: ActionContext, file: str, *, trusted: bool) -> ActionResult:
    """Import an exported playbook. New strategies need the user's approval unless `trusted`. Raises BadInput."""
    if not file:
        raise ctx.usage_error("No file was named.", "add --from FILE")
    path = resolve_file(file, ctx.invocation.folder)
    imported = _read_markdown(read_text_file(path))
    present = {
        bullet.id: bullet
        for bullet in (*ctx.bullets(), *ctx.sessions.playbook.deleted_bullets(ctx.session))
    }
    plan = plan_import(imported, present, trusted=trusted)
    added: tuple[str, ...] = ()
    if plan.ops:
        delta = Delta(
            uuid7(), tuple(plan.ops), "import", ctx.session.id, None, f"import of {path.name}"
        )
        added = ctx.apply(delta).added
    new_ids = dict(zip(plan.new, added, strict=True))
    value = {
        "added": new_ids,
        "changed": plan.changed_ids,
        "same": plan.same,
        "waiting": [new_ids.get(name, name) for name in plan.waiting_ids],
        "left_out": plan.left_out,
    }
    lines = tuple(_summary(ctx, plan, new_ids, path))
    return ActionResult(value, lines, code=1 if plan.left_out else 0)


def _summary(
    ctx: ActionContext, plan: ImportPlan, new_ids: Mapping[str, str], path: Path
) -> Iterator[str]:
    """Yield the lines of an import. `new_ids` maps ids of the file to those that its strategies got."""
    yield f"{len(new_ids)} imported, {len(plan.changed_ids)} changed, {len(plan.same)} the same."
    renamed = [(old, new) for old, new in new_ids.items() if old != new]
    yield from (f"{old} of the file is {new} here." for old, new in renamed[:_MAX_LISTED])
    yield from (f"skipped: {reason}." for reason in plan.left_out[:_MAX_LISTED])
    if count := len(plan.waiting_ids):
        need = "needs" if count == 1 else "need"
        yield f"{count} of them {need} your approval: `{ctx.command} review`, or add --from {path} --trust for all."
