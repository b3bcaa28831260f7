"""Take from a stored message the facts that every reduction keeps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from swecli.models.context import RetainedFact
from swecli.models.duplicate_findings import dedupe_findings
from swecli.models.message import ChatMessage, Role, ToolCall

if TYPE_CHECKING:
    from swecli.models.finding import Finding

_MAX_WORDS = 120  # of the first request
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
_REPORTS = re.compile(
    r"code_?smell_?type", re.IGNORECASE
)  # only such a text is searched for findings


def extract_facts(message: ChatMessage) -> Iterator[RetainedFact]:
    """Extract the facts that every reduction keeps from a stored message: of the user's the first request; of the
    assistant's the findings, files read and changed, and the to-do list, which ends with the turn's answer."""
    if message.role is Role.USER:
        yield from _parse_request(message)
        return
    yield from _parse_answer(message.content, message.interaction)
    yield from _inspect_calls(message.tool_calls, message.interaction)
    if message.is_answer:
        yield RetainedFact("todo", "list", "", message.interaction)


def _parse_request(message: ChatMessage) -> Iterator[RetainedFact]:
    """Find the first request of a session, code fences excluded."""
    text = _FENCE.sub(" ", message.content)
    if message.is_query and message.interaction == 1 and text.strip():
        words = text.split()[:_MAX_WORDS]
        yield RetainedFact("request", "first", " ".join(words), message.interaction)


def _inspect_calls(calls: Iterable[ToolCall], interaction: int) -> Iterator[RetainedFact]:
    """Find the files read and changed, and the open to-do items. Failed calls are skipped."""
    for call in calls:
        if call.error or call.result is None:
            continue
        for path in call.effects.read:
            yield RetainedFact("read", path, path, interaction)
        for path in call.effects.changed:
            yield RetainedFact("read", path, "", interaction)
            yield RetainedFact("changed", path, path, interaction)
        if call.effects.todo is not None:
            steps = [step["text"] for step in call.effects.todo if step["status"] != "done"]
            yield RetainedFact("todo", "list", "; ".join(filter(None, steps)), interaction)


def _parse_answer(text: str, interaction: int) -> Iterator[RetainedFact]:
    for finding in dedupe_findings(_parse_findings(text)):
        path, line, smell = finding.key
        words = f"{path}:{line} {smell}"
        if finding.message:
            words += f": {finding.message}"
        yield RetainedFact("finding", f"{path}:{line}:{smell}", words, interaction)


def _parse_findings(text: str) -> Iterator[Finding]:
    """Parse the findings in a text's JSON: every object with a place and a smell type, at any depth."""
    if not _REPORTS.search(text):
        return
    # late: few texts hold any
    from swecli.llm.lenient_json import find_json_values
    from swecli.models.finding_parser import find_rows, parse_finding

    for found in find_json_values(text):
        for row in find_rows(found.value, []):
            finding = parse_finding(row, 0, [])
            if finding is not None and finding.line:
                yield finding
