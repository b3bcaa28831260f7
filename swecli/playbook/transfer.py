"""Export of the playbook as editable Markdown, without loss, and its import: known strategies are updated, new ones get
the next numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    Field,
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
from swecli.store.earlier_doubts import EARLIER_SOURCES

_FORMAT = 1
_NOTE = (
    "One strategy per line, under its section. Content, section, kind, scope and state may be edited; "
    "`swecli playbook add --from FILE` imports it."
)
_HINT = "Nothing was imported; correct that line and import it again."
_MARK = re.compile(r"<!--\s*swecli playbook (\d{1,9})\s*-->")
_MARKER = r"(?:[-*+]|[0-9]{1,9}[.)])"  # of a Markdown list item
_ITEM = re.compile(rf"\s*{_MARKER}\s")
_BULLET = re.compile(rf"{_MARKER}\s+\[([^\]\n]*)\]\s+(.*)")
_FIELD = re.compile(rf"\s+{_MARKER}\s+([a-z]+): ?(.*)")
_REMARK = re.compile(r"<!--.*-->")
_COUNTS = re.compile(r"(\d{1,30}) helpful, (\d{1,30}) harmful, (\d{1,30}) neutral")
_COUNTED = ("helpful", "harmful", "neutral")
_EDITABLE = ("content", "when", "section", "kind", "scope", "paths", "state", "anchors")
_TIMES = {"created": "created_at", "updated": "updated_at", "used": "last_used"}
_EVIDENCE = {
    "source": "source", "quote": "quote", "trust": "trust",
    "session": "session_id", "turn": "interaction", "call": "call_id", "when": "created_at",
    "consent": "is_consent",
}  # fmt: skip
_MAX_INTEGER = 2**63 - 1  # of SQLite
_MAX_LISTED = 20  # lines of each kind that an import prints


def to_markdown(bullets: Iterable[Bullet], evidence: Mapping[str, Sequence[Evidence]]) -> str:
    """Format strategies with their evidence by id, grouped by section, in order of their numbers."""
    lines = ["# Playbook", "", f"<!-- swecli playbook {_FORMAT} -->", "", _NOTE]
    ordered = sorted(bullets, key=lambda b: (b.section, b.number))
    for section, group in groupby(ordered, key=lambda b: b.section):
        lines += ["", f"## {_encode_line(section)}", ""]
        for bullet in group:
            lines += _format_bullet(bullet, evidence.get(bullet.id, ()))
    return "\n".join(lines) + "\n"


def _encode_line(text: str) -> str:
    """Return a text unchanged, or as a JSON string if it would not be parsed back unchanged."""
    is_one_line = text == " ".join(text.split()) and text.isprintable()
    is_plain = is_one_line and text and not text.startswith('"')
    return text if is_plain else json.dumps(text)


def _parse_text(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def _format_bullet(bullet: Bullet, evidence: Sequence[Evidence]) -> list[str]:
    lines = [
        f"- [{bullet.id}] {_encode_line(bullet.content)}",
        f"  - kind: {bullet.kind}",
        f"  - scope: {bullet.scope}",
        f"  - state: {bullet.state}",
        f"  - trust: {bullet.trust}",
        f"  - counts: {bullet.helpful} helpful, {bullet.harmful} harmful, {bullet.neutral} neutral",
    ]
    if bullet.when:
        lines.append(f"  - when: {_encode_line(bullet.when)}")
    for name in ("anchors", "paths", "replaces"):
        if names := getattr(bullet, name):
            lines.append(f"  - {name}: {json.dumps(names)}")
    if bullet.doubt:
        lines.append(f"  - doubt: {bullet.doubt}")
    for name, field_name in _TIMES.items():
        moment = getattr(bullet, field_name)
        if moment:
            lines.append(f"  - {name}: {moment.isoformat()}")
    for item in evidence:
        values = {name: getattr(item, field_name) for name, field_name in _EVIDENCE.items()}
        row = _EvidenceRow.model_construct(**values)
        text = json.dumps(row.model_dump(mode="json", exclude_defaults=True))
        lines.append(f"  - evidence: {text}")
    return lines


_Moment = Annotated[AwareDatetime, AfterValidator(lambda moment: moment.astimezone(UTC))]
_Count = Annotated[int, Field(ge=0, le=_MAX_INTEGER)]


class _EvidenceRow(BaseModel, extra="forbid"):
    source: str
    quote: str
    trust: Trust = "reasoning"
    session: str = ""
    turn: int | None = Field(None, gt=0, le=_MAX_INTEGER)
    call: str = ""
    when: _Moment | None = None
    consent: bool = False


class _Fields(BaseModel, extra="forbid"):
    kind: Kind = "strategy"
    scope: Scope = "project"
    state: State = "active"
    trust: Trust = "reasoning"
    when: Annotated[str, BeforeValidator(_parse_text)] = ""
    anchors: Json[tuple[str, ...]] = ()
    paths: Json[tuple[str, ...]] = ()
    replaces: Json[tuple[str, ...]] = ()
    doubt: Doubt = Doubt.NONE
    created: _Moment | None = None
    updated: _Moment | None = None
    used: _Moment | None = None
    helpful: _Count = 0
    harmful: _Count = 0
    neutral: _Count = 0


@dataclass(frozen=True, slots=True)
class ImportedBullet:
    """A strategy of a file, which begins at a `line`. The file contains its `field_names`; other fields have their
    defaults."""

    bullet: Bullet
    evidence: tuple[Evidence, ...] = ()
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
            "Make one with `swecli playbook list --export FILE`.",
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
    if name == "evidence":
        row = _EvidenceRow.model_validate_json(value)
        if row.source in EARLIER_SOURCES:
            return imported
        item = Evidence(**{field: getattr(row, key) for key, field in _EVIDENCE.items()})
        return replace(imported, evidence=(*imported.evidence, item))
    texts = {name: value}
    if name == "counts":
        match = _COUNTS.fullmatch(value)
        if match is None:
            raise ValueError("counts have the form `1 helpful, 0 harmful, 2 neutral`")
        texts = dict(zip(_COUNTED, match.groups(), strict=True))
    parsed = _Fields.model_validate(texts)
    fields: dict[str, Any] = {_TIMES.get(key, key): getattr(parsed, key) for key in texts}
    return replace(
        imported,
        bullet=replace(imported.bullet, **fields),
        field_names=imported.field_names | fields.keys(),
    )


@dataclass(slots=True)
class ImportPlan:
    """The operations of an import with the ids they concern: `new` as in the file, in the order of the ADDs; `waiting`
    need the user's approval; `left_out` are lines on what is skipped. `trusted`: the user vouches for the file."""

    trusted: bool
    ops: list[Op] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def update(self, known: Bullet, item: ImportedBullet) -> None:
        """Plan to update a known strategy."""
        editable = (*_EDITABLE, "trust") if self.trusted else _EDITABLE
        fields = {name: getattr(item.bullet, name) for name in editable if name in item.field_names}
        is_outside = known.state == "deleted" and known.trust in OUTSIDE
        is_unapproved = known.state == "quarantined" or is_outside
        if not self.trusted and is_unapproved and item.bullet.is_live:
            # a file does not activate what the user has not approved here
            fields["state"] = "quarantined"
            self.waiting.append(known.id)
        changed = {name: value for name, value in fields.items() if value != getattr(known, name)}
        if not changed:
            self.same.append(known.id)
            return
        if "content" in changed and "anchors" not in changed:
            # only the content was edited in the file
            changed["anchors"] = list(find_anchors(item.bullet.content))
        quote = f"edited in line {item.line} of the imported file"
        evidence = (Evidence("import", quote, trust="user"),)
        if known.state == "deleted" and fields.get("state") != "deleted":
            self.ops.append(Op("RESTORE", known.id, evidence=evidence))
        self.ops.append(Op("UPDATE", known.id, fields=changed, evidence=evidence))
        self.changed.append(known.id)

    def add(self, item: ImportedBullet) -> None:
        """Plan to add a strategy; without the user's trust it is quarantined, with the trust of a file at most."""
        bullet = item.bullet
        evidence = item.evidence
        self.new.append(bullet.id)
        if not self.trusted:
            content = clean(bullet.content) or bullet.content
            bullet = replace(bullet, content=content, trust=_outside_trust(bullet.trust))
            if bullet.is_live:
                bullet = replace(bullet, state="quarantined")
            if bullet.state == "quarantined":
                self.waiting.append(bullet.id)
            # the ids of what it would replace are those of the other playbook
            bullet = replace(bullet, doubt=Doubt.IMPORTED, replaces=())
            evidence = tuple(
                replace(quote, trust=_outside_trust(quote.trust), is_consent=False)
                for quote in evidence
            )
        elif not evidence:
            quote = f"line {item.line} of the imported file"
            evidence = (Evidence("import", quote, trust="user"),)
        fields: dict[str, Any] = {
            name: getattr(bullet, name) for name in (*_EDITABLE, "trust", "doubt", *_COUNTED)
        }
        if not (bullet.anchors or item.is_dated):  # written by hand: an export contains them
            fields["anchors"] = list(find_anchors(bullet.content))
        for name in _TIMES.values():
            moment = getattr(bullet, name)
            if moment and (item.is_dated or name != "created_at"):
                fields[name] = moment.isoformat()
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
        known: Bullet | None = None
        if item.is_dated:
            known = present.get(bullet.id)
            if known is None or known.created_at != bullet.created_at:
                known = by_origin.get((bullet.created_at, content))
        same = by_content.get(content)
        if known is None and bullet.state == "deleted":
            plan.left_out.append(f"{bullet.id} is marked as removed")
        elif has_secret(bullet.content):
            plan.left_out.append(f"{bullet.id} (line {item.line}) contains a secret")
        elif known is not None:
            plan.update(known, item)
        elif same is None:
            plan.add(item)
        elif trusted and bullet.is_live and same.state == "quarantined":
            approved = Evidence("import", f"line {item.line} of the imported file", trust="user")
            plan.ops.append(Op("RESTORE", same.id, evidence=(approved,)))
            plan.changed.append(same.id)
        else:
            plan.same.append(same.id)
    return plan


def _normalize(bullet: Bullet) -> str:
    return " ".join(bullet.content.lower().split())


def import_file(ctx: ActionContext, file: str, *, trusted: bool) -> ActionResult:
    """Import an exported playbook. New strategies need the user's approval unless `trusted`. Raises BadInput."""
    if not file:
        raise ctx.usage_error("No file was named.", "add --from FILE")
    path = resolve_file(file, ctx.asked.folder)
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
        "changed": plan.changed,
        "same": plan.same,
        "waiting": [new_ids.get(name, name) for name in plan.waiting],
        "left_out": plan.left_out,
    }
    lines = tuple(_summary(ctx, plan, new_ids, path))
    return ActionResult(value, lines, code=1 if plan.left_out else 0)


def _summary(
    ctx: ActionContext, plan: ImportPlan, new_ids: Mapping[str, str], path: Path
) -> Iterator[str]:
    """Yield the lines of an import. `new_ids` maps ids of the file to those that its strategies got."""
    yield f"{len(new_ids)} imported, {len(plan.changed)} changed, {len(plan.same)} the same."
    renamed = [(old, new) for old, new in new_ids.items() if old != new]
    yield from (f"{old} of the file is {new} here." for old, new in renamed[:_MAX_LISTED])
    yield from (f"skipped: {reason}." for reason in plan.left_out[:_MAX_LISTED])
    if count := len(plan.waiting):
        need = "needs" if count == 1 else "need"
        yield f"{count} of them {need} your approval: `{ctx.command} review`, or add --from {path} --trust for all."
