"""Test the fields that identify a finding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from swecli.models.counts import pluralize
from swecli.models.finding import SMELLS, Finding, fingerprint, worst_first


def test_the_key_of_a_finding_ignores_message_and_loop() -> None:
    assert (
        Finding("a.py", 3, "DEAD_CODE", "x", loop=1).key
        == Finding("a.py", 3, "DEAD_CODE", "y", loop=2).key
    )


def test_a_fingerprint_ignores_whitespace_and_depends_on_rule_and_occurrence() -> None:
    assert fingerprint("X", "a.py", "  if  a:\n") == fingerprint("X", "a.py", "if a:")
    assert (
        len(
            {fingerprint("X", "a.py", "if a:", n) for n in (1, 2)}
            | {fingerprint("Y", "a.py", "if a:")}
        )
        == 3
    )


def test_at_least_compares_severities_by_their_order() -> None:
    high = Finding("a.py", 3, "DEAD_CODE", "x", "high")
    assert [high.at_least(word) for word in ("low", "high", "critical")] == [True, True, False]
    assert not Finding("a.py", 3, "DEAD_CODE", "x", "odd").at_least("low")


def test_the_place_of_a_finding_is_its_path_with_line_or_line_range() -> None:
    assert Finding("a.py", 3, "X", "m").place == "a.py:3"
    assert Finding("a.py", 3, "X", "m", end_line=5).place == "a.py:3-5"


def test_there_are_eleven_smells() -> None:
    assert len(SMELLS) == 11


def test_the_status_of_a_finding_names_its_state_and_verdict() -> None:
    found = Finding("a.py", 3, "X", "m", verified=True)
    assert (found.status, replace(found, verdict="confirmed").status) == (
        "open, unverified",
        "open, confirmed",
    )
    assert replace(found, state="gone").status == "gone, not verified"
    assert (
        Finding("a.py", 3, "X", "m", verified=False, why="no such file").doubt
        == "not in its file: no such file"
    )


def test_has_verdict_is_true_from_the_given_certainty_up_and_never_for_refuted() -> None:
    found = [
        Finding("a.py", 3, "X", "m", verdict=word)
        for word in ("confirmed", "cannot_tell", "", "refuted")
    ]
    assert [f.has_verdict("confirmed") for f in found] == [True, False, False, False]
    assert [f.has_verdict("cannot_tell") for f in found] == [True, True, False, False]
    assert [f.has_verdict("any") for f in found] == [True, True, True, False]


def test_findings_are_sorted_by_verdict_severity_path_and_line() -> None:
    rows: list[tuple[str, int, Any, Any]] = [
        ("b", 2, "low", ""),
        ("b", 1, "low", "confirmed"),
        ("a", 9, "high", ""),
        ("a", 3, "high", ""),
    ]
    found = [
        Finding(path, line, "X", "m", severity, verdict=word) for path, line, severity, word in rows
    ]
    assert [(f.path, f.line) for f in sorted(found, key=worst_first)] == [
        ("b", 1),
        ("a", 3),
        ("a", 9),
        ("b", 2),
    ]


def test_a_count_of_one_is_not_plural() -> None:
    assert [pluralize(n, "loop") for n in (0, 1, 2000)] == ["0 loops", "1 loop", "2,000 loops"]
