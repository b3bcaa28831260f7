"""Parse findings from the JSON values of a model, which names fields differently and leaves some out."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from swecli.models.finding import KINDS, SEVERITIES, SMELLS, Finding, FindingKind
from swecli.models.json_value import Json, JsonObject

MAX_LINE = 10**9
_MAX_DEPTH = 12  # of nested objects and lists
_CVSS = (4, 7, 9)  # scores at which medium, high and critical begin (CVSS v3.1, section 5)
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
    """Load a table of `finding_parser.toml` as synonym → our word."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    rows: dict[str, str] = tomllib.loads(text)[table]
    ours_by_word: dict[str, str] = {}
    for ours, words in rows.items():
        ours_by_word |= dict.fromkeys(words.split(), ours)
    return ours_by_word


def find_rows(
    value: Json, lost: list[str], shared: Mapping[str, Json] | None = None, depth: int = 0
) -> Iterator[JsonObject]:
    """Yield every dict in a value that looks like a finding, at any depth. `shared` are the path and severity of the
    enclosing objects, which may also be keys: `{"high": {"src/a.py": [...]}}`."""
    shared = shared or {}
    if depth > _MAX_DEPTH:
        lost.append("a part was nested too deeply to be read")
    elif isinstance(value, list):
        for item in value:
            yield from find_rows(item, lost, shared, depth + 1)
    elif isinstance(value, dict):
        yield from _find_in_object(value, lost, shared, depth)


def _find_in_object(
    value: dict[Json, Json], lost: list[str], shared: Mapping[str, Json], depth: int
) -> Iterator[JsonObject]:
    """Yield the object itself if it looks like a finding, else the findings in its values."""
    row = _normalize_keys(value)
    own_path = _first_value(row, _PATH)
    below = {**shared, "path": own_path} if isinstance(own_path, str) else shared
    if _is_finding(row, has_path_above=bool(below.get("path"))):
        inherited = dict(shared)
        if own_path is not None:
            inherited.pop("path", None)
        yield {**inherited, **row}
        return
    for key, item in value.items():
        yield from find_rows(item, lost, {**below, **_shared_by_key(key)}, depth + 1)


def _is_finding(row: Mapping[str, Json], *, has_path_above: bool) -> bool:
    """Return whether an object says what is wrong and where; the path may be that of an enclosing object."""
    words = _first_value(row, _MESSAGE) or _first_value(row, _TYPE)
    if _first_value(row, _PATH) is not None and (words or "line" in row):
        return True
    return bool(has_path_above and words and _first_value(row, _LINE) is not None)


def _shared_by_key(key: object) -> JsonObject:
    """Return what a key says of everything below it: a severity (also `high_severity`), a path, or nothing."""
    first = _normalize_key(key).partition("_")[0]
    if _synonyms("severity").get(first, first) in SEVERITIES:
        return {"severity": first}
    if _PATH_KEY.fullmatch(str(key)):
        return {"path": key}
    return {}


def _normalize_keys(value: Mapping[Json, Json]) -> JsonObject:
    return {_normalize_key(key): item for key, item in value.items()}


def _normalize_key(key: object) -> str:
    """Normalize a key to snake case: `codeSmellType` and `code-smell-type` become `code_smell_type`."""
    return _split_words(str(key)).replace("-", "_").replace(" ", "_").lower()


def _split_words(name: str) -> str:
    """Put an underscore between the words of a name in camel case."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)


def _first_value(row: Mapping[str, Json], names: Iterable[str]) -> Json:
    """Return the first of the named fields that is not empty, or None."""
    for name in names:
        if row.get(name) not in (None, "", [], {}):
            return row[name]
    return None


def parse_finding(
    row: JsonObject, loop: int, lost: list[str], source: str = "json"
) -> Finding | None:
    """Parse a row; a row without a path or a message gives None and a line in `lost`."""
    row = _normalize_keys(row)
    path, place = _parse_path(row)
    kind, rule = _parse_rule(row)
    message = _to_text(_first_value(row, _MESSAGE), "message") or SMELLS.get(rule, "")
    if not path or not (message or rule):
        missing = "message" if path else "path"
        lost.append(f"an entry without a {missing}: {str(row)[:80]}")
        return None
    start, end = _parse_lines(row, place)
    improvement, suggestion = _parse_advice(row)
    return Finding(
        path,
        start,
        rule or kind.upper(),
        message or rule,
        severity=_parse_severity(row, lost),
        improvement=improvement,
        end_line=end,
        loop=loop,
        kind=kind,
        suggestion=suggestion,
        evidence=_to_text(_first_value(row, _EVIDENCE), "evidence"),
        source=source,
        same_as=_to_text(row.get("same_as"), "path")[:20],
    )


def _parse_path(row: Mapping[str, Json]) -> tuple[str, str]:
    """Return the path, and the lines that are written behind it (`a.py:12-19`), or ""."""
    written = " ".join(_to_text(_first_value(row, _PATH), "path").split())
    path = written.strip("`'\"").replace("\\", "/")
    path = re.sub(r"^(?:\./)+", "", path)
    both = _PATH_AND_LINES.fullmatch(path)
    return (both["path"], both["place"]) if both else (path, "")


def _parse_lines(row: Mapping[str, Json], place: str) -> tuple[int, int | None]:
    """Return the first line, 0 if there is none, and the last one if it is below."""
    ranges = row.get("range") or row.get("lines") or row.get("location")
    spans = [_parse_span(value) for value in (_first_value(row, _LINE), ranges, place)]
    start = next((first for first, _ in spans if first), 0)
    end = _parse_span(_first_value(row, _END))[0]
    if end is None:
        end = next((last for _, last in spans if last), None)
    is_range = bool(end and start and end > start)
    return start, end if is_range else None


def _parse_advice(row: Mapping[str, Json]) -> tuple[str, str]:
    """Return the improvement, and the code that would replace the lines: a field, or a fence in either of them."""
    improvement = _to_text(_first_value(row, _IMPROVEMENT), "improvement")
    suggestion = _to_text(row.get("suggestion") or row.get("replacement"), "suggestion")
    fenced = _SUGGESTION.search(improvement or suggestion)
    if fenced:
        suggestion = fenced["code"]
        improvement = _SUGGESTION.sub("", improvement).strip()
    return improvement, suggestion


def _to_text(value: Json, name: str) -> str:
    """Convert a field to printable text of at most `MAX_LENGTHS` characters."""
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, list):
        value = "\n".join(str(item) for item in value)
    kept = [c for c in str(value) if c in "\n\t" or c.isprintable() or not c.isascii()]
    text = "".join(kept).strip("\n")
    is_code = name in ("suggestion", "evidence")  # whose indentation counts
    return (text if is_code else text.strip())[: MAX_LENGTHS[name]]


def _parse_rule(row: Mapping[str, Json]) -> tuple[FindingKind, str]:
    """Return kind and rule; the rule is in capitals, except for the project's own checks."""
    written = str(row.get("kind") or row.get("type") or "")
    named = written.strip().lower().replace("code_smell", "smell")
    name = _first_value(row, _TYPE)
    if name is None and named and named not in KINDS:
        name = row.get("type") or row.get("kind")
    rule = _to_text(name, "path")[:80].strip()
    if named == "check":
        return "check", rule
    capitals = re.sub(r"[^A-Z0-9]+", "_", _split_words(rule).upper()).strip("_")
    capitals = _synonyms("type").get(capitals, capitals)
    if capitals in SMELLS:
        return "smell", capitals
    is_named_security = named in ("smell", "") and ("SECUR" in capitals or "INJECTION" in capitals)
    if named == "security" or is_named_security:
        return "security", capitals
    return "correctness", capitals


def _parse_severity(row: Mapping[str, Json], lost: list[str]) -> str:
    """Parse a severity: words (the highest counts), a level such as P0 (highest) to P4, or a CVSS score. Anything else
    is "medium", with a line in `lost`."""
    written = str(row.get("severity") or row.get("level") or row.get("priority") or "")
    given = written.strip().lower()
    words = [_synonyms("severity").get(word, word) for word in re.findall(r"[^\W\d_]+", given)]
    known = [severity for severity in SEVERITIES if severity in words]
    if known:
        return known[-1]
    level = _LEVEL.fullmatch(given)
    if level is not None and level["step"]:
        return SEVERITIES[max(0, 3 - int(level["step"]))]
    if level is not None:
        return SEVERITIES[bisect(_CVSS, float(level["score"]))]
    line = f"the severity {given[:40]!r} is unknown (known: {', '.join(SEVERITIES)}), medium is assumed"
    if given and line not in lost:
        lost.append(line)
    return "medium"


def _parse_span(value: Json) -> tuple[int | None, int | None]:
    """Parse first and last line, from 1, from a number, text, list or object; None if there are none."""
    if isinstance(value, dict):
        inner = _normalize_keys(value)
        return _first_line(_first_value(inner, (*_LINE, "start"))), _first_line(
            _first_value(inner, _END)
        )
    if isinstance(value, list):
        return (_first_line(value[0]), _first_line(value[-1])) if value else (None, None)
    if isinstance(value, str):
        match = _LINES.match(value.strip())
        if match is None:
            return None, None
        return _to_line(int(match["start"])), _to_line(int(match["end"] or 0))
    return _to_line(value), None


def _first_line(value: Json) -> int | None:
    return _parse_span(value)[0]


def _to_line(value: Json) -> int | None:
    """Return a number as a line, from 1 to `MAX_LINE`, or None."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        return None
    return min(value, MAX_LINE)
