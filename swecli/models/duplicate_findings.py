"""Removes duplicates of findings, which need not have been parsed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from swecli.models.json_value import Json, JsonObject

if TYPE_CHECKING:  # a caller that has dicts needs no findings
    from swecli.models.finding import Finding

AnyFinding = TypeVar("AnyFinding", "Finding", JsonObject)


def dedupe_findings(findings: Iterable[AnyFinding]) -> list[AnyFinding]:
    """Return the findings (or dicts with `code_smell_type` or `codeSmellType`) in their order without duplicates: of
    those with the same path, line and smell type the first is kept."""
    first: dict[str, AnyFinding] = {}
    for finding in findings:
        # as text: a model may send a list instead of a number
        first.setdefault(repr(_key_of(finding)), finding)
    return list(first.values())


def _key_of(finding: Finding | JsonObject) -> tuple[Json, ...]:
    if not isinstance(finding, dict):
        return finding.key
    kind = finding.get("code_smell_type", finding.get("codeSmellType"))
    return finding.get("path"), finding.get("line"), kind
