"""Reads the findings that a model reports as JSON: each entry follows the schema of the report tool, or is in the form
of the first version, with `issues`, `codeSmellType` and `range`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from swecli.llm.model_json import find_fault
from swecli.models.finding import SMELLS, Finding, FindingKind
from swecli.models.json_value import Json, JsonObject

MAX_LINE = 10**9
_MAX_LENGTHS = {
    "path": 1_000,
    "message": 4_000,
    "improvement": 8_000,
    "evidence": 4_000,
    "suggestion": 8_000,
}
_LISTS = ("findings", "issues")
_SUGGESTION = re.compile(r"```suggestion[^\n]*\n(?P<code>.*?)\n?```", re.DOTALL)
_EXCERPT = 80  # characters of an entry that cannot be used

FINDING_SCHEMA: JsonObject = json.loads(
    Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)


def list_entries(value: Json) -> list[Json] | None:
    """Return the entries of a report, None if the value is no report."""
    if not isinstance(value, dict):
        return None
    return next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None)


def find_entries(value: Json) -> list[Json]:
    """Return the entries in a JSON value of an answer: of a report, of a list of findings, or the value itself."""
    listed = list_entries(value)
    if listed is not None:
        return listed
    candidates = value if isinstance(value, list) else [value]
    return [entry for entry in candidates if isinstance(entry, dict) and _is_entry(entry)]


def _is_entry(fields: Mapping[str, Json]) -> bool:
    return "code_smell_type" in fields or "codeSmellType" in fields


def parse_finding(entry: Json, loop: int, losses: list[str]) -> Finding | None:
    """Parse an entry. One that does not follow the schema gives None and a line in `losses`."""
    fields = _from_first_version(entry)
    if fault := find_fault(fields, FINDING_SCHEMA):
        losses.append(f"an entry cannot be used, {fault}: {str(entry)[:_EXCERPT]}")
        return None
    path = " ".join(_clean(fields, "path").split()).removeprefix("./")
    message = _clean(fields, "message")
    kind, rule = _name_rule(fields)
    if not (path and message and rule):
        losses.append(f"an entry without a path, a message or a type: {str(entry)[:_EXCERPT]}")
        return None
    improvement = _clean(fields, "improvement")
    suggestion = _clean(fields, "suggestion")
    if fenced := _SUGGESTION.search(improvement):
        suggestion = fenced["code"]
        improvement = _SUGGESTION.sub("", improvement).strip()
    line = _to_line(fields["line"])
    end_line = _to_line(fields.get("end_line", 0))
    return Finding(
        path,
        line,
        rule,
        message,
        severity=fields.get("severity", "medium"),
        improvement=improvement,
        end_line=end_line if 0 < line < end_line else None,
        loop=loop,
        kind=kind,
        suggestion=suggestion,
        evidence=_clean(fields, "evidence"),
        same_as=fields.get("same_as", ""),
    )


def _from_first_version(entry: Json) -> Json:
    """Return an entry with the names of today; one that has them already is returned equal."""
    if not isinstance(entry, dict) or "codeSmellType" not in entry:
        return entry
    fields = {**entry, "code_smell_type": entry["codeSmellType"]}
    lines = entry.get("range")
    if isinstance(lines, dict) and "endLine" in lines:
        fields.setdefault("end_line", lines["endLine"])
    return fields


def _clean(fields: Mapping[str, Json], name: str) -> str:
    """Return a field as printable text of limited length, "" if it is left out."""
    value = fields.get(name, "")
    printable = [
        character
        for character in value
        if character in "\n\t" or character.isprintable() or not character.isascii()
    ]
    text = "".join(printable).strip("\n")
    is_code = name in ("suggestion", "evidence")  # whose indentation counts
    return (text if is_code else text.strip())[: _MAX_LENGTHS[name]]


def _name_rule(fields: Mapping[str, Json]) -> tuple[FindingKind, str]:
    """Return the kind of a finding and the name of its rule: in capitals, except for the project's own checks."""
    kind = fields.get("kind", "smell")
    code_smell_type = fields["code_smell_type"].strip()[:_EXCERPT]
    if kind == "check":
        return "check", code_smell_type
    rule = re.sub(r"[^A-Z0-9]+", "_", code_smell_type.upper()).strip("_")
    if rule in SMELLS:
        return "smell", rule
    return ("correctness" if kind == "smell" else kind), rule


def _to_line(number: float) -> int:
    """Return a number as a line, from 1 to `MAX_LINE`; 0 for one that is none."""
    return min(int(number), MAX_LINE) if number >= 1 else 0
