"""Test removing duplicate findings."""

from __future__ import annotations

from swecli.context import dedupe_findings
from swecli.models.finding import Finding


def test_of_one_key_the_first_wins() -> None:
    first = Finding("a.py", 3, "MAGIC_NUMBERS", "first")
    others = [Finding("a.py", 3, "MAGIC_NUMBERS", "second"), Finding("a.py", 4, "MAGIC_NUMBERS", "other line")]
    assert dedupe_findings([first, *others]) == [first, others[1]]


def test_dicts_have_the_same_key_in_either_spelling() -> None:
    rows = [
        {"path": "a", "line": 1, "code_smell_type": "X", "n": 1},
        {"path": "a", "line": 1, "codeSmellType": "X", "n": 2},
        {"path": "a", "line": 1, "code_smell_type": "Y", "n": 3},
        {"path": "b", "n": 4},
        {"n": 5, "path": "b"},
    ]
    assert [row["n"] for row in dedupe_findings(rows)] == [1, 3, 4]


def test_a_key_that_cannot_be_hashed_is_still_a_key() -> None:
    rows = [{"path": "a", "line": [1, 2]}, {"path": "a", "line": [1, 2]}, {"path": "a", "line": [3]}]
    assert len(dedupe_findings(rows)) == 2


def test_nothing_gives_nothing() -> None:
    assert dedupe_findings([]) == []
