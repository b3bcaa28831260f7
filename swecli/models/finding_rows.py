"""Parse findings from the JSON values of a model, with other field names and missing fields."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from swecli.models.finding import KINDS, SEVERITIES, SMELLS, Finding, FindingKind

MAX_LINE = 10**9
MAX_LENGTHS = {
    "path": 1_000,
    "message": 4_000,
    "improvement": 8_000,
    "evidence": 4_000,
    "suggestion": 8_000,
}

_PATH = ("path", "file", "filename", "file_path", "filepath")
_LINE = ("line", "line_number", "lineno", "start_line", "startline", "row")
_END = ("end_line", "endline", "line_end", "lineend", "end")
_TYPE = (
    "code_smell_type",
    "codesmelltype",
    "smell_type",
    "smelltype",
    "smell",
    "rule",
    "rule_id",
    "check",
    "category",
)
_MESSAGE = (
    "message",
    "description",
    "issue",
    "title",
    "problem",
    "text",
    "summary",
    "body",
    "comment",
)
_IMPROVEMENT = ("improvement", "fix", "recommendation", "advice", "remedy")
_EVIDENCE = ("evidence", "quote", "code", "snippet", "quoted_code")
_SUGGESTION = re.compile(r"```suggestion[^\n]*\n(?P<code>.*?)\n?```", re.DOTALL)
# `12`, `L12-L19`, `12:4-19:7`, `lines 12 to 19`, `12, 13, 14`; negative numbers do not match
_LINES = re.compile(
    r"[^\d-]{0,12}(?P<start>\d{1,12})(?::\d+)?(?:\s*(?:(?:,\s*\d+)*,|-|–|\.\.+|…|to)\s*L?(?P<end>\d{1,12}))?(?!\w)"
)
_PATH_KEY = re.compile(r"\S*\w[/.]\w\S*")
_PATH_AND_LINES = re.compile(r"(?P<path>.+?\w)[:#]L?(?P<place>\d.*)")
_LEVEL = re.compile(
    r"(?:p|s|sev|prio)[ -]?(?P<step>[0-4])|(?:cvss\D*)?(?P<score>\d{1,2}(?:\.\d+)?)(?:\s*/\s*10)?"
)


@cache
def _synonyms(table: str) -> dict[str, str]:
    """Load a table of `finding_rows.toml` as synonym → our word."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {word: ours for ours, words in data[table].items() for word in words.split()}


def find_rows(
    value: Any, lost: list[str], shared: Mapping[str, Any] | None = None, depth: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield every dict in a value that looks like a finding, at any depth. `shared` are the path and severity of the
    enclosing objects, which may also be keys: `{"high": {"src/a.py": [...]}}`."""
    shared = shared or {}
    if depth > 12:
        lost.append("a part was nested too deeply to be read")
    elif isinstance(value, list):
        for item in value:
            yield from find_rows(item, lost, shared, depth + 1)
    elif isinstance(value, dict):
        row = {_normalize_key(key): item for key, item in value.items()}
        own = _first_value(row, _PATH)
        below = {**shared, "path": own} if isinstance(own, str) else shared
        words = _first_value(row, _MESSAGE) or _first_value(row, _TYPE)
        placed = own is not None and (words or "line" in row)
        if placed or (below.get("path") and words and _first_value(row, _LINE) is not None):
            yield {
                **{name: item for name, item in shared.items() if name != "path" or own is None},
                **row,
            }
            return
        for key, item in value.items():
            first = _normalize_key(key).partition("_")[0]  # of high_severity, too
            is_level = _synonyms("severity").get(first, first) in SEVERITIES
            name = "severity" if is_level else "path" if _PATH_KEY.fullmatch(str(key)) else ""
            yield from find_rows(
                item,
                lost,
                {**below, name: first if is_level else key} if name else below,
                depth + 1,
            )


def _normalize_key(key: object) -> str:
    """Normalize a key to snake case: `codeSmellType` and `code-smell-type` become `code_smell_type`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", str(key)).replace("-", "_").replace(" ", "_").lower()


def _first_value(row: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "", [], {})), None)


def parse_finding(
    row: dict[str, Any], loop: int, lost: list[str], source: str = "json"
) -> Finding | None:
    """Parse a row; a row without a path or a message gives None and a line in `lost`."""
    row = {_normalize_key(key): item for key, item in row.items()}
    path = (
        " ".join(_to_text(_first_value(row, _PATH), "path").split())
        .strip("`'\"")
        .replace("\\", "/")
    )
    path = re.sub(r"^(?:\./)+", "", path)
    behind = _PATH_AND_LINES.fullmatch(path)
    path = behind["path"] if behind else path
    kind, rule = _parse_rule(row)
    message = _to_text(_first_value(row, _MESSAGE), "message") or SMELLS.get(rule, "")
    if not path or not (message or rule):
        lost.append(f"an entry without a {'path' if not path else 'message'}: {str(row)[:80]}")
        return None
    start = end = None
    ranges = row.get("range") or row.get("lines") or row.get("location")
    for value in (_first_value(row, _LINE), ranges, behind["place"] if behind else ""):
        first, last = _parse_span(value)
        start, end = start or first, end or last
    end = _parse_span(_first_value(row, _END))[0] or end
    improvement = _to_text(_first_value(row, _IMPROVEMENT), "improvement")
    suggestion = _to_text(row.get("suggestion") or row.get("replacement"), "suggestion")
    if match := _SUGGESTION.search(improvement or suggestion):
        suggestion = match["code"]
        improvement = _SUGGESTION.sub("", improvement).strip()
    return Finding(
        path,
        start or 0,
        rule or kind.upper(),
        message or rule,
        severity=_parse_severity(row, lost),
        improvement=improvement,
        end_line=end if end and start and end > start else None,
        loop=loop,
        kind=kind,
        suggestion=suggestion,
        evidence=_to_text(_first_value(row, _EVIDENCE), "evidence"),
        source=source,
        same_as=_to_text(row.get("same_as"), "path")[:20],
    )


def _to_text(value: Any, name: str) -> str:
    """Convert a field to printable text of at most `MAX_LENGTHS` characters."""
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, list):
        value = "\n".join(str(item) for item in value)
    text = "".join(
        c for c in str(value) if c in "\n\t" or c.isprintable() or not c.isascii()
    ).strip("\n")
    return (
        text[: MAX_LENGTHS[name]]
        if name in ("suggestion", "evidence")
        else text.strip()[: MAX_LENGTHS[name]]
    )


def _parse_rule(row: Mapping[str, Any]) -> tuple[FindingKind, str]:
    """Return kind and rule; the rule is in capitals, except for the project's own checks."""
    named = (
        str(row.get("kind") or row.get("type") or "").strip().lower().replace("code_smell", "smell")
    )
    name = _first_value(row, _TYPE)
    if name is None and named and named not in KINDS:
        name = row.get("type") or row.get("kind")
    rule = _to_text(name, "path")[:80].strip()
    if named == "check":
        return "check", rule
    capitals = re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", rule).upper()).strip(
        "_"
    )
    capitals = _synonyms("type").get(capitals, capitals)
    if capitals in SMELLS:
        return "smell", capitals
    kind: FindingKind = "security" if named == "security" else "correctness"
    if named in ("smell", "") and capitals:
        kind = "security" if "SECUR" in capitals or "INJECTION" in capitals else "correctness"
    return kind, capitals


def _parse_severity(row: Mapping[str, Any], lost: list[str]) -> str:
    """Parse a severity: words (the highest counts), a level such as P0 (highest) to P4, or a CVSS score. Anything else
    is "medium", with a line in `lost`."""
    given = (
        str(row.get("severity") or row.get("level") or row.get("priority") or "").strip().lower()
    )
    words = [_synonyms("severity").get(word, word) for word in re.findall(r"[^\W\d_]+", given)]
    if known := [severity for severity in SEVERITIES if severity in words]:
        return known[-1]
    if (match := _LEVEL.fullmatch(given)) is not None:
        return SEVERITIES[
            max(0, 3 - int(match["step"]))
            if match["step"]
            else bisect((4, 7, 9), float(match["score"]))
        ]
    line = f"the severity {given[:40]!r} is unknown (known: {', '.join(SEVERITIES)}), medium is assumed"
    lost += [line] if given and line not in lost else []
    return "medium"


def _parse_span(value: Any) -> tuple[int | None, int | None]:
    """Parse first and last line, from 1, from a number, text, list or object; None if there are none."""
    if isinstance(value, dict):
        inner = {_normalize_key(key): item for key, item in value.items()}
        return _parse_span(_first_value(inner, (*_LINE, "start")))[0], _parse_span(
            _first_value(inner, _END)
        )[0]
    if isinstance(value, list):
        return (_parse_span(value[0])[0], _parse_span(value[-1])[0]) if value else (None, None)
    if isinstance(value, str):
        match = _LINES.match(value.strip())
        return (
            (_parse_span(int(match["start"]))[0], _parse_span(int(match["end"] or 0))[0])
            if match
            else (None, None)
        )
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    fit = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return (min(value, MAX_LINE) if fit else None), None
