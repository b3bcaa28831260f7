"""Reads out of each message what must outlive every reduction: the user's constraints, files, steps, findings."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from swecli.models.context import RetainedFact
from swecli.models.finding import Finding
from swecli.models.message import ToolCall

_AnyFinding = TypeVar("_AnyFinding", Finding, dict[str, Any])

_MAX_WORDS = 60

_BINDING = re.compile(
    r"\b(always|never|must|mustn't|must not|do not|don't|only use|use only|make sure|from now on|remember|keep in mind|"
    r"under no circumstances|at most|at least|without changing|avoid|prefer|require[sd]?|"
    r"immer|nie|niemals|nicht|nur|muss|müssen|darf|dürfen|bitte kein\w*|ab jetzt|merk dir)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
_READS, _CHANGES = ("read_file",), ("write_file", "edit_file")
_OPENS = re.compile(r"[\[{]")
_MAX_TRIES = 200  # places in one text where JSON may begin


def _findings_in(text: str) -> Iterator[Finding]:
    """The findings that stand as JSON in a text: any object with a path, a line and a smell type, however deep. Never
    fails."""
    decoder, at, tries = json.JSONDecoder(), 0, 0
    while tries < _MAX_TRIES and (found := _OPENS.search(text, at)) is not None:
        tries += 1
        try:
            value, at = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = found.end()
            continue
        yield from _within(value)


def _within(value: Any, depth: int = 0) -> Iterator[Finding]:
    if depth > 6:
        return
    if isinstance(value, dict) and (finding := _finding(value)) is not None:
        yield finding
        return
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from _within(item, depth + 1)


def _finding(value: dict[str, Any]) -> Finding | None:
    path, line = value.get("path") or value.get("file"), value.get("line")
    smell = value.get("code_smell_type") or value.get("codeSmellType")
    if not (isinstance(path, str) and isinstance(smell, str) and isinstance(line, int) and 0 < line < 10**7):
        return None
    message = value.get("message") or value.get("description") or ""
    severity = value.get("severity")
    return Finding(path, line, smell, str(message), severity if isinstance(severity, str) else "medium")


def dedupe_findings(findings: Iterable[_AnyFinding]) -> list[_AnyFinding]:
    """The findings (or dicts with `code_smell_type` or `codeSmellType`) without repetitions, in their order: of those
    with one path, line and smell type the first wins."""
    first: dict[Hashable, _AnyFinding] = {}
    for finding in findings:
        first.setdefault(_key(finding), finding)
    return list(first.values())


def _key(finding: Finding | Mapping[str, Any]) -> Hashable:
    if isinstance(finding, Finding):
        return finding.key
    smell = finding.get("code_smell_type", finding.get("codeSmellType"))
    key = (finding.get("path"), finding.get("line"), smell)
    try:
        hash(key)
    except TypeError:  # a model may put a list where a number belongs
        return repr(key)
    return key


def from_query(query: str, interaction: int) -> Iterator[RetainedFact]:
    """What a user's own words, those inside code fences left out, bind the assistant to; the first request of a session
    whole. A question binds nobody."""
    text = _FENCE.sub(" ", query)
    if interaction == 1 and text.strip():
        yield RetainedFact("request", "first", " ".join(text.split()[: _MAX_WORDS * 2]), interaction)
    for sentence in _SENTENCE.split(text):
        said = " ".join(sentence.split())
        if said and not said.endswith("?") and len(said.split()) <= _MAX_WORDS and _BINDING.search(said):
            yield RetainedFact("constraint", said.casefold()[:200], said, interaction)


def from_calls(calls: Iterable[ToolCall], interaction: int) -> Iterator[RetainedFact]:
    """Files that were read and changed, and the list of steps as it stands; calls that failed leave nothing."""
    for call in calls:
        if call.error or call.result is None:
            continue
        path = call.parameters.get("path")
        if isinstance(path, str) and call.name in _READS:
            yield RetainedFact("read", path, path, interaction)
        elif isinstance(path, str) and call.name in _CHANGES:
            yield RetainedFact("read", path, "", interaction)
            yield RetainedFact("changed", path, path, interaction)
        elif call.name == "todo":
            yield RetainedFact("todo", "list", _steps(call.parameters.get("items")), interaction)


def from_answer(text: str, interaction: int) -> Iterator[RetainedFact]:
    """The findings that an answer reports."""
    for finding in dedupe_findings(_findings_in(text)):
        path, line, smell = finding.key
        said = f"{path}:{line} {smell}: {finding.message}" if finding.message else f"{path}:{line} {smell}"
        yield RetainedFact("finding", f"{path}:{line}:{smell}", said, interaction)


def _steps(items: Any) -> str:
    """The steps that are not done, "" when all are."""
    rows = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    still = [str(row.get("text", "")) for row in rows if row.get("status") != "done"]
    return "; ".join(text for text in still if text)
