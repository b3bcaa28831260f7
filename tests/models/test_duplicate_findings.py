"""Test removing duplicate findings."""

from __future__ import annotations

from swecli.context import dedupe_findings
from swecli.models.finding import Finding


def test_the_first_of_duplicate_findings_is_kept() -> None:
    first = Finding("a.py", 3, "MAGIC_NUMBERS", "first")
    others = [
        Finding("a.py", 3, "MAGIC_NUMBERS", "second"),
        Finding("a.py", 4, "MAGIC_NUMBERS", "other line"),
    ]
    assert dedupe_findings([first, *others]) == [first, others[1]]


def test_findings_as_dicts_are_duplicates_in_snake_case_and_camel_case() -> None:
    rows = [
        {"path": "a", "line": 1, "code_smell_type": "X", "n": 1},
        {"path": "a", "line": 1, "codeSmellType": "X", "n": 2},
        {"path": "a", "line": 1, "code_smell_type": "Y", "n": 3},
        {"path": "b", "n": 4},
        {"n": 5, "path": "b"},
    ]
    assert [row["n"] for row in dedupe_findings(rows)] == [1, 3, 4]


def test_duplicate_findings_with_an_unhashable_key_are_removed() -> None:
    rows = [
        {"path": "a", "line": [1, 2]},
        {"path": "a", "line": [1, 2]},
        {"path": "a", "line": [3]},
    ]
    assert len(dedupe_findings(rows)) == 2


def test_an_empty_list_of_findings_stays_empty() -> None:
    assert dedupe_findings([]) == []
