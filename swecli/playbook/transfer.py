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
from swecli.models.doubts import DoubtKind
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
_EDITABLE = ("content", "when", "section", "kind", "scope", "state", "anchors")
_TIMES = {"created": "created_at", "updated": "updated_at", "used": "last_used"}
_EVIDENCE = {
    "source": "source", "quote": "quote", "trust": "trust",
    "session": "session_id", "turn": "interaction", "call": "call_id", "when": "created_at",
}  # fmt: skip
_MAX_INTEGER = 2**63 - 1  # of SQLite


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
    plain = (
        text == " ".join(text.split()) and text and not text.startswith('"') and text.isprintable()
    )
    return text if plain else json.dumps(text)


def _parse_text(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def _format_bullet(bullet: Bullet, evidence: Sequence[Evidence]) -> list[str]:
    facts: list[tuple[str, str]] = [
        (name, getattr(bullet, name)) for name in ("kind", "scope", "state", "trust")
    ]
    facts.append(
        ("counts", f"{bullet.helpful} helpful, {bullet.harmful} harmful, {bullet.neutral} neutral")
    )
    facts += [("when", _encode_line(bullet.when))] if bullet.when else []
    facts += [("anchors", json.dumps(bullet.anchors))] if bullet.anchors else []
    facts += [
        (name, when.isoformat())
        for name, field in _TIMES.items()
        if (when := getattr(bullet, field))
    ]
    rows = (
        _EvidenceRow.model_construct(**{n: getattr(e, f) for n, f in _EVIDENCE.items()})
        for e in evidence
    )
    facts += [
        ("evidence", json.dumps(row.model_dump(mode="json", exclude_defaults=True))) for row in rows
    ]
    return [
        f"- [{bullet.id}] {_encode_line(bullet.content)}",
        *(f"  - {name}: {value}" for name, value in facts),
    ]


_Moment = Annotated[AwareDatetime, AfterValidator(lambda when: when.astimezone(UTC))]
_Count = Annotated[int, Field(ge=0, le=_MAX_INTEGER)]


class _EvidenceRow(BaseModel, extra="forbid"):
    source: str
    quote: str
    trust: Trust = "reasoning"
    session: str = ""
    turn: int | None = Field(None, gt=0, le=_MAX_INTEGER)
    call: str = ""
    when: _Moment | None = None


class _Fields(BaseModel, extra="forbid"):
    kind: Kind = "strategy"
    scope: Scope = "project"
    state: State = "active"
    trust: Trust = "reasoning"
    when: Annotated[str, BeforeValidator(_parse_text)] = ""
    anchors: Json[tuple[str, ...]] = ()
    created: _Moment | None = None
    updated: _Moment | None = None
    used: _Moment | None = None
    helpful: _Count = 0
    harmful: _Count = 0
    neutral: _Count = 0


@dataclass(frozen=True, slots=True)
class ImportedBullet:
    """A strategy of a file. `named` are the fields that the file contains; the others are defaults."""

    bullet: Bullet
    evidence: tuple[Evidence, ...] = ()
    line: int = 0
    named: frozenset[str] = frozenset({"content", "section"})

    @property
    def dated(self) -> bool:
        """True if the file contains its creation time."""
        return "created_at" in self.named


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
    section, found = "", dict[str, ImportedBullet]()
    for number, line in enumerate(text.split("\n"), 1):
        try:
            section = _read_line(line.rstrip("\r"), section, found, number)
        except ValidationError as error:
            first = error.errors()[0]
            where = "".join(f"{place}: " for place in first["loc"])
            raise BadInput(f"Line {number} cannot be read: {where}{first['msg']}.", _HINT) from None
        except (ValueError, OverflowError, RecursionError) as error:
            raise BadInput(f"Line {number} cannot be read: {error}.", _HINT) from None
    return list(found.values())


def _read_line(line: str, section: str, found: dict[str, ImportedBullet], number: int) -> str:
    """Parse one line into `found` and return the next one's section. Text may precede the first. Raises ValueError."""
    if line.startswith("## "):
        if not (section := _parse_text(line[3:].strip())).strip():
            raise ValueError("the section has no name")
    elif match := _BULLET.fullmatch(line):
        name, content = parse_short_id("P", match[1]), _parse_text(match[2].strip())
        if name in (None, "P-0"):
            raise ValueError(f"{match[1]!r:.40} is not an id such as P-7")
        if name in found:
            raise ValueError(f"{name} occurs twice")
        if problem := f"{name} has no content" if not content.strip() else length_problem(content):
            raise ValueError(problem)
        found[name] = ImportedBullet(
            Bullet(name, content, section or "general", scope="project"), line=number
        )
    elif match := _FIELD.fullmatch(line):
        if not found:
            raise ValueError("it precedes the first strategy")
        name, imported = found.popitem()
        found[name] = _with_field(imported, match[1], match[2].strip())
    elif (
        line.strip()
        and (section or found or _ITEM.match(line))
        and not _REMARK.fullmatch(line.strip())
    ):
        raise ValueError(
            "it is neither a strategy, `- [P-1] content`, nor a field of one, `  - kind: strategy`"
        )
    return section


def _with_field(imported: ImportedBullet, name: str, value: str) -> ImportedBullet:
    """Return a strategy with one more field. Raises ValueError, or OverflowError for a time out of range."""
    if name == "evidence":
        row = _EvidenceRow.model_validate_json(value)
        one = Evidence(**{field: getattr(row, key) for key, field in _EVIDENCE.items()})
        return replace(imported, evidence=(*imported.evidence, one))
    raw: dict[str, Any] = {name: value}
    if name == "counts":
        if (match := _COUNTS.fullmatch(value)) is None:
            raise ValueError("counts have the form `1 helpful, 0 harmful, 2 neutral`")
        raw = dict(zip(_COUNTED, match.groups(), strict=True))
    parsed = _Fields.model_validate(raw)
    fields: dict[str, Any] = {_TIMES.get(key, key): getattr(parsed, key) for key in raw}
    return replace(
        imported, bullet=replace(imported.bullet, **fields), named=imported.named | fields.keys()
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
        named = [
            name
            for name in (*_EDITABLE, *(["trust"] if self.trusted else ()))
            if name in item.named
        ]
        fields = {name: getattr(item.bullet, name) for name in named}
        asleep = known.state == "quarantined" or (
            known.state == "deleted" and known.trust in OUTSIDE
        )
        if not self.trusted and asleep and item.bullet.is_live:
            fields["state"] = (
                "quarantined"  # a file does not activate what the user has not approved here
            )
            self.waiting.append(known.id)
        changed = {name: value for name, value in fields.items() if value != getattr(known, name)}
        if "content" in changed and "anchors" not in changed:
            changed["anchors"] = list(
                find_anchors(item.bullet.content)
            )  # only the content was edited in the file
        if not changed:
            self.same.append(known.id)
            return
        evidence = (
            Evidence("import", f"edited in line {item.line} of the imported file", trust="user"),
        )
        if known.state == "deleted" and fields.get("state") != "deleted":
            self.ops.append(Op("RESTORE", known.id, evidence=evidence))
        self.ops.append(Op("UPDATE", known.id, fields=changed, evidence=evidence))
        self.changed.append(known.id)

    def add(self, item: ImportedBullet) -> None:
        """Plan to add a strategy; without the user's trust it is quarantined, with the trust of a file at most."""
        bullet, evidence, place = (
            item.bullet,
            item.evidence,
            f"line {item.line} of the imported file",
        )
        self.new.append(bullet.id)
        if not self.trusted:
            self.waiting += [bullet.id] if bullet.is_live or bullet.state == "quarantined" else []
            content, state = (
                clean(bullet.content) or bullet.content,
                "quarantined" if bullet.is_live else bullet.state,
            )
            trust = bullet.trust if bullet.trust in OUTSIDE else "repository"
            bullet = replace(bullet, content=content, trust=trust, state=state)
            evidence = tuple(
                replace(e, trust=e.trust if e.trust in OUTSIDE else "repository") for e in evidence
            )
            evidence += (
                Evidence(DoubtKind.OTHER, "it comes from another playbook", trust="repository"),
            )
        fields: dict[str, Any] = {
            name: getattr(bullet, name) for name in (*_EDITABLE, "trust", *_COUNTED)
        }
        if not (bullet.anchors or item.dated):  # written by hand: an export contains them
            fields["anchors"] = list(find_anchors(bullet.content))
        times = (
            ("created_at", "updated_at", "last_used") if item.dated else ("updated_at", "last_used")
        )
        fields |= {name: when.isoformat() for name in times if (when := getattr(bullet, name))}
        written = Evidence("import", place, trust="user" if self.trusted else "repository")
        self.ops.append(Op("ADD", fields=fields, evidence=evidence or (written,)))


def plan_import(
    imported: Sequence[ImportedBullet], present: Mapping[str, Bullet], *, trusted: bool = False
) -> ImportPlan:
    """Compare a file with the strategies `present`, removed ones included. A strategy is known if one with its id or
    content has the same creation time, or one has the same content."""
    plan = ImportPlan(trusted)
    words = {
        _normalize(bullet): name for name, bullet in present.items() if bullet.state != "deleted"
    }
    twins = {(bullet.created_at, _normalize(bullet)): bullet for bullet in present.values()}
    for item in sorted(imported, key=lambda item: item.bullet.number):
        bullet, known = item.bullet, present.get(item.bullet.id)
        if known is None or not item.dated or known.created_at != bullet.created_at:
            known = twins.get((bullet.created_at, _normalize(bullet))) if item.dated else None
        alike = words.get(_normalize(bullet))
        if has_secret(bullet.content) or (known is None and bullet.state == "deleted"):
            why = (
                "is marked as removed"
                if bullet.state == "deleted"
                else f"(line {item.line}) contains a secret"
            )
            plan.left_out.append(f"{bullet.id} {why}")
        elif known is not None:
            plan.update(known, item)
        elif alike and trusted and bullet.is_live and present[alike].state == "quarantined":
            approved = Evidence("import", f"line {item.line} of the imported file", trust="user")
            plan.ops.append(Op("RESTORE", alike, evidence=(approved,)))
            plan.changed.append(alike)
        elif alike:
            plan.same.append(alike)
        else:
            plan.add(item)
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
        for bullet in (*ctx.bullets(), *ctx.sessions.playbook.removed(ctx.session))
    }
    plan = plan_import(imported, present, trusted=trusted)
    added: tuple[str, ...] = ()
    if plan.ops:
        delta = Delta(
            uuid7(), tuple(plan.ops), "import", ctx.session.id, None, f"import of {path.name}"
        )
        added = ctx.apply(delta).added
    named = dict(zip(plan.new, added, strict=True))
    waiting = [named.get(name, name) for name in plan.waiting]
    value = {
        "added": named,
        "changed": plan.changed,
        "same": plan.same,
        "waiting": waiting,
        "left_out": plan.left_out,
    }
    return ActionResult(
        value, tuple(_summary(ctx, plan, named, path)), code=1 if plan.left_out else 0
    )


def _summary(
    ctx: ActionContext, plan: ImportPlan, named: Mapping[str, str], path: Path
) -> Iterator[str]:
    yield f"{len(named)} imported, {len(plan.changed)} changed, {len(plan.same)} the same."
    yield from [f"{old} of the file is {name} here." for old, name in named.items() if old != name][
        :20
    ]
    yield from (f"skipped: {why}." for why in plan.left_out[:20])
    if count := len(plan.waiting):
        need = "needs" if count == 1 else "need"
        yield f"{count} of them {need} your approval: `{ctx.command} review`, or add --from {path} --trust for all."
