"""Review findings kept apart from the messages, so that no trimming loses one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

from swecli.models.finding import Finding

AnyFinding = TypeVar("AnyFinding", Finding, dict[str, Any])


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
