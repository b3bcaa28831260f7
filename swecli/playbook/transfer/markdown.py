"""Export of the playbook as editable Markdown, without loss, and its parser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from itertools import groupby
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, Field, TypeAdapter, ValidationError

from swecli.models.errors import BadInput
from swecli.models.ids import parse_short_id
from swecli.models.playbook import Bullet, Evidence, Kind, Scope, State, Trust, length_problem

_FORMAT = 1
_NOTE = (
    "One strategy per line, under its section. Content, section, kind, scope and state may be edited; "
    "`swecli playbook add --from FILE` imports it."
)


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
    plain = text == " ".join(text.split()) and text and not text.startswith('"') and text.isprintable()
    return text if plain else json.dumps(text)


def _format_bullet(bullet: Bullet, evidence: Sequence[Evidence]) -> list[str]:
    facts: list[tuple[str, str]] = [(name, getattr(bullet, name)) for name in ("kind", "scope", "state", "trust")]
    facts.append(("counts", f"{bullet.helpful} helpful, {bullet.harmful} harmful, {bullet.neutral} neutral"))
    facts += [("when", _encode_line(bullet.when))] if bullet.when else []
    facts += [("anchors", json.dumps(bullet.anchors))] if bullet.anchors else []
    facts += [(name, when.isoformat()) for name, field in _TIMES.items() if (when := getattr(bullet, field))]
    rows = (_EvidenceRow.model_construct(**{n: getattr(e, f) for n, f in _EVIDENCE.items()}) for e in evidence)
    facts += [("evidence", json.dumps(row.model_dump(mode="json", exclude_defaults=True))) for row in rows]
    return [f"- [{bullet.id}] {_encode_line(bullet.content)}", *(f"  - {name}: {value}" for name, value in facts)]


_MARK = re.compile(r"<!--\s*swecli playbook (\d{1,9})\s*-->")
_MARKER = r"(?:[-*+]|[0-9]{1,9}[.)])"  # of a Markdown list item
_ITEM = re.compile(rf"\s*{_MARKER}\s")
_BULLET = re.compile(rf"{_MARKER}\s+\[([^\]\n]*)\]\s+(.*)")
_FIELD = re.compile(rf"\s+{_MARKER}\s+([a-z]+): ?(.*)")
_REMARK = re.compile(r"<!--.*-->")
_COUNTS = re.compile(r"(\d{1,30}) helpful, (\d{1,30}) harmful, (\d{1,30}) neutral")
_MAX_INTEGER = 2**63 - 1  # of SQLite
_TIMES = {"created": "created_at", "updated": "updated_at", "used": "last_used"}
_EVIDENCE = {
    "source": "source", "quote": "quote", "trust": "trust",
    "session": "session_id", "turn": "interaction", "call": "call_id", "when": "created_at",
}  # fmt: skip
_Moment = Annotated[AwareDatetime, AfterValidator(lambda when: when.astimezone(UTC))]
_FIELDS: dict[str, TypeAdapter[Any]] = {
    "kind": TypeAdapter(Kind), "scope": TypeAdapter(Scope), "state": TypeAdapter(State), "trust": TypeAdapter(Trust),
    **dict.fromkeys(_TIMES, TypeAdapter(_Moment)),
}  # fmt: skip
_ANCHORS = TypeAdapter(tuple[str, ...])


class _EvidenceRow(BaseModel, extra="forbid"):
    source: str
    quote: str
    trust: Trust = "reasoning"
    session: str = ""
    turn: int | None = Field(None, gt=0, le=_MAX_INTEGER)
    call: str = ""
    when: _Moment | None = None


_HINT = "Nothing was imported; correct that line and import it again."


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


def read_markdown(text: str) -> list[ImportedBullet]:
    """Parse a file of `to_markdown`, possibly edited by hand. Raises BadInput for the first invalid line, a newer
    format, and a file that is not a playbook."""
    mark = _MARK.search(text)
    if mark is None:
        raise BadInput(
            "The file is not an exported playbook: it has no line `<!-- swecli playbook 1 -->`.",
            "Make one with `swecli playbook list --export FILE`.",
        )
    if int(mark[1]) > _FORMAT:
        raise BadInput(
            f"The playbook was exported by a newer swecli (format {mark[1]}; this one reads {_FORMAT}).",
            "Update swecli to import it.",
        )
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
        found[name] = ImportedBullet(Bullet(name, content, section or "general", scope="project"), line=number)
    elif match := _FIELD.fullmatch(line):
        if not found:
            raise ValueError("it precedes the first strategy")
        name, imported = found.popitem()
        found[name] = _with_field(imported, match[1], match[2].strip())
    elif line.strip() and (section or found or _ITEM.match(line)) and not _REMARK.fullmatch(line.strip()):
        raise ValueError("it is neither a strategy, `- [P-1] content`, nor a field of one, `  - kind: strategy`")
    return section


def _with_field(imported: ImportedBullet, name: str, value: str) -> ImportedBullet:
    """Return a strategy with one more field. Raises ValueError, or OverflowError for a time out of range."""
    imported = replace(imported, named=imported.named | {_TIMES.get(name, name)})
    fields: dict[str, Any] = {}
    if name == "evidence":
        row = _EvidenceRow.model_validate_json(value)
        one = Evidence(**{field: getattr(row, key) for key, field in _EVIDENCE.items()})
        return replace(imported, evidence=(*imported.evidence, one))
    if name == "counts":
        if (match := _COUNTS.fullmatch(value)) is None:
            raise ValueError("counts have the form `1 helpful, 0 harmful, 2 neutral`")
        fields = dict(zip(("helpful", "harmful", "neutral"), map(int, match.groups()), strict=True))
        if max(fields.values()) > _MAX_INTEGER:
            raise ValueError(f"a count is at most {_MAX_INTEGER}")
    elif name == "when":
        fields[name] = _parse_text(value)
    elif name == "anchors":
        fields[name] = _ANCHORS.validate_json(value)
    elif name in _FIELDS:
        fields[_TIMES.get(name, name)] = _FIELDS[name].validate_python(value)
    else:
        raise ValueError(f"unknown field {name!r:.40}")
    return replace(imported, bullet=replace(imported.bullet, **fields))


def _parse_text(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text
