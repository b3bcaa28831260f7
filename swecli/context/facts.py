"""Take from a stored message the facts that every reduction keeps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from swecli.models.context import RetainedFact
from swecli.models.duplicate_findings import dedupe_findings
from swecli.models.message import CallStatus, ChatMessage, Role, ToolCall

if TYPE_CHECKING:
    from swecli.models.finding import Finding

_MAX_WORDS = 120  # of the first request
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
# Only a text with this field of a report is searched for findings.
_REPORT_FIELD = re.compile(r"code_?smell_?type", re.IGNORECASE)


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
    """Find the files read and changed, and the open to-do items. Calls that did not finish are skipped."""
    for call in calls:
        if call.status is not CallStatus.FINISHED:
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
    """Parse the findings with a line in a text's JSON."""
    if not _REPORT_FIELD.search(text):
        return
    # late: few texts hold any
    from swecli.context.reported_findings import find_entries, parse_finding
    from swecli.llm.model_json import find_values

    for block in find_values(text):
        for entry in find_entries(block.value):
            finding = parse_finding(entry, 0, [])
            if finding is not None and finding.line:
                yield finding
