"""Review findings kept apart from the messages, so that no trimming loses one."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from swecli.models.finding import Finding

AnyFinding = TypeVar("AnyFinding", Finding, dict[str, Any])

_OPENS = re.compile(r"[\[{]")
MAX_TRIES = 200  # places in one text where JSON may begin


def findings_in(text: str) -> Iterator[Finding]:
    """The findings that stand as JSON in a text: any object with a path, a line and a smell type, however deep.

    What is no finding is passed over: a text that holds none costs a look, never an error.
    """
    decoder, at, tries = json.JSONDecoder(), 0, 0
    while tries < MAX_TRIES and (found := _OPENS.search(text, at)) is not None:
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


def dedupe_findings(findings: Iterable[AnyFinding]) -> list[AnyFinding]:
    """The findings without repetitions, in their order: of those with one path, line and smell type the first wins.

    Takes `Finding`s and dicts (with `code_smell_type`, or `codeSmellType` as models like to write it).
    """
    first: dict[Hashable, AnyFinding] = {}
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
