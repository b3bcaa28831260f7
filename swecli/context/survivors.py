"""Reads out of each message what must outlive every reduction: the user's constraints, files, steps, findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from swecli.context.retained_facts import dedupe_findings, findings_in
from swecli.models.context import Survivor
from swecli.models.message import ToolCall

MAX_WORDS = 60

_BINDING = re.compile(
    r"\b(always|never|must|mustn't|must not|do not|don't|only use|use only|make sure|from now on|remember|keep in mind|"
    r"under no circumstances|at most|at least|without changing|avoid|prefer|require[sd]?|"
    r"immer|nie|niemals|nicht|nur|muss|müssen|darf|dürfen|bitte kein\w*|ab jetzt|merk dir)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
_READS, _CHANGES = ("read_file",), ("write_file", "edit_file")


def from_query(query: str, interaction: int) -> Iterator[Survivor]:
    """What a user's own words bind the assistant to; the first request of a session whole.

    Words inside code fences are none of the user's own. A question binds nobody.
    """
    text = _FENCE.sub(" ", query)
    if interaction == 1 and text.strip():
        yield Survivor("request", "first", " ".join(text.split()[: MAX_WORDS * 2]), interaction)
    for sentence in _SENTENCE.split(text):
        said = " ".join(sentence.split())
        if said and not said.endswith("?") and len(said.split()) <= MAX_WORDS and _BINDING.search(said):
            yield Survivor("constraint", said.casefold()[:200], said, interaction)


def from_calls(calls: Iterable[ToolCall], interaction: int) -> Iterator[Survivor]:
    """Files that were read and changed, and the list of steps as it stands; calls that failed leave nothing."""
    for call in calls:
        if call.error or call.result is None:
            continue
        path = call.parameters.get("path")
        if isinstance(path, str) and call.name in _READS:
            yield Survivor("read", path, path, interaction)
        elif isinstance(path, str) and call.name in _CHANGES:
            yield Survivor("read", path, "", interaction)
            yield Survivor("changed", path, path, interaction)
        elif call.name == "todo":
            yield Survivor("todo", "list", _steps(call.parameters.get("items")), interaction)


def from_answer(text: str, interaction: int) -> Iterator[Survivor]:
    """The findings that an answer reports."""
    for finding in dedupe_findings(findings_in(text)):
        path, line, smell = finding.key
        said = f"{path}:{line} {smell}: {finding.message}" if finding.message else f"{path}:{line} {smell}"
        yield Survivor("finding", f"{path}:{line}:{smell}", said, interaction)


def _steps(items: Any) -> str:
    """The steps that are not done, "" when all are."""
    rows = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    still = [str(row.get("text", "")) for row in rows if row.get("status") != "done"]
    return "; ".join(text for text in still if text)
