"""Reads out of each message what must outlive every reduction: the user's constraints, files, steps, findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from swecli.models.context import RetainedFact
from swecli.models.message import ToolCall

if TYPE_CHECKING:
    from swecli.models.finding import Finding

_AnyFinding = TypeVar("_AnyFinding", "Finding", dict[str, Any])

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
_REPORTS = re.compile(r"code_?smell_?type", re.IGNORECASE)


def _findings_in(text: str) -> Iterator[Finding]:
    """The findings that stand as JSON in a text: any object with a place and a smell type, however deep."""
    if not _REPORTS.search(text):
        return
    # late: few texts hold any
    from swecli.llm.lenient_json import find_json_values  # noqa: PLC0415
    from swecli.models.finding_rows import find_rows, parse_finding  # noqa: PLC0415

    for found in find_json_values(text):
        for row in find_rows(found.value, []):
            finding = parse_finding(row, 0, [])
            if finding is not None and finding.line:
                yield finding


def dedupe_findings(findings: Iterable[_AnyFinding]) -> list[_AnyFinding]:
    """The findings (or dicts with `code_smell_type` or `codeSmellType`) without repetitions, in their order: of those
    with one path, line and smell type the first wins."""
    first: dict[str, _AnyFinding] = {}
    for one in findings:
        if isinstance(one, dict):
            kind = one.get("code_smell_type", one.get("codeSmellType"))
            key: tuple[Any, ...] = (one.get("path"), one.get("line"), kind)
        else:
            key = one.key
        first.setdefault(repr(key), one)  # as text: a model may put a list where a number belongs
    return list(first.values())


def from_query(query: str, interaction: int) -> Iterator[RetainedFact]:
    """What a user's own words, those inside code fences left out, bind the assistant to; the first request of a session
    whole. A question binds nobody."""
    text = _FENCE.sub(" ", query)
    if interaction == 1 and text.strip():
        yield RetainedFact("request", "first", " ".join(text.split()[: _MAX_WORDS * 2]), interaction)
    for sentence in _SENTENCE.split(text):
        words = " ".join(sentence.split())
        if words and not words.endswith("?") and len(words.split()) <= _MAX_WORDS and _BINDING.search(words):
            yield RetainedFact("constraint", words.casefold()[:200], words, interaction)


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
            items = call.parameters.get("items")
            rows = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
            still = [str(row.get("text", "")) for row in rows if row.get("status") != "done"]
            yield RetainedFact("todo", "list", "; ".join(filter(None, still)), interaction)


def from_answer(text: str, interaction: int) -> Iterator[RetainedFact]:
    """The findings that an answer reports."""
    for finding in dedupe_findings(_findings_in(text)):
        path, line, smell = finding.key
        words = f"{path}:{line} {smell}: {finding.message}" if finding.message else f"{path}:{line} {smell}"
        yield RetainedFact("finding", f"{path}:{line}:{smell}", words, interaction)
