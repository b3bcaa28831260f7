"""Test recognizing the same problem in other words and at another line, and distinguishing similar ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from swecli.models.finding import Finding
from swecli.review.judge.grounding import _identify, identify_all, smell_family

ROW = Finding(
    "a.py", 12, "MISSING_ERROR_HANDLING", "open() may raise when the file is missing, and nobody catches it", "high",
    end_line=14, id="F-1", symbol="load",
)  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [
        {"message": "anything"},
        {
            "line": 13,
            "end_line": None,
            "code_smell_type": "UNCHECKED_ERROR",
            "message": "nobody catches what open() raises",
        },
        {
            "line": 20,
            "end_line": None,
            "message": "the file may be missing: open raises and nobody catches",
        },
        {
            "line": 2,
            "end_line": None,
            "message": "when the file is missing nobody catches what open() raises",
        },
        {
            "line": 14,
            "end_line": None,
            "message": "unguarded",
            "same_as": "F-1",
            "code_smell_type": "ODD",
        },
    ],
)
def test_a_finding_in_other_words_at_another_line_is_recognized_as_the_known_one(
    changes: dict[str, object],
) -> None:
    assert _identify(replace(ROW, id="", **changes), [ROW])[0] == "F-1"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "b.py"},
        {"line": 40, "end_line": None, "symbol": "save"},
        {
            "line": 13,
            "end_line": None,
            "code_smell_type": "SQL_INJECTION",
            "message": "the query is built from text",
        },
        {"line": 22, "end_line": None, "message": "an empty response divides by zero"},
        {"line": 22, "end_line": None, "message": "the file handle is never closed here"},
    ],
)
def test_a_similar_problem_is_a_new_finding(changes: dict[str, object]) -> None:
    assert _identify(replace(ROW, id="", **changes), [ROW])[0] == ""  # type: ignore[arg-type]


def test_different_literals_and_two_lines_of_one_review_are_separate_findings() -> None:
    row = replace(
        ROW, code_smell_type="MAGIC_NUMBERS", message="magic number 37 has no name", end_line=None
    )
    other = replace(row, id="", line=16, message="magic number 42 has no name")
    assert _identify(other, [row]) == ("", "")
    twin = replace(row, id="", line=16)
    assert (_identify(twin, [row]), _identify(twin, [row], {"F-1"})) == (("F-1", ""), ("", ""))
    assert [f.id for f in identify_all([twin, replace(row, id="")], [row])] == ["", "F-1"]


def test_a_finding_that_shares_some_words_is_a_possible_duplicate() -> None:
    found = replace(
        ROW,
        id="",
        line=16,
        end_line=None,
        message="loading fails with a traceback on a missing settings file",
    )
    assert _identify(found, [ROW]) == ("", "F-1")
    assert [(f.id, f.same_as) for f in identify_all([found], [ROW])] == [("", "F-1")]
    assert _identify(found, [ROW], {"F-1"}) == (
        "",
        "",
    )  # This review has reported that problem itself.


def test_a_finding_is_recognized_by_an_alias_of_the_known_one() -> None:
    row = replace(ROW, aliases=("ODD|40|quite other words",), symbol="")
    found = Finding("a.py", 40, "ODD", "quite other words")
    assert _identify(found, [row]) == ("F-1", "")


def test_the_family_of_a_type_is_chosen_by_its_words() -> None:
    names = (
        "SWALLOWED_EXCEPTION",
        "RESOURCE_LEAK",
        "OFF_BY_ONE",
        "SQL_INJECTION",
        "MAGIC_NUMBERS",
        "WHATEVER",
    )
    assert [smell_family(name) for name in names] == [
        "errors",
        "resources",
        "boundary",
        "injection",
        "naming",
        "",
    ]


def test_a_problem_that_one_report_tells_twice_is_one_finding() -> None:
    first = replace(ROW, id="", end_line=None)
    again = replace(
        first,
        line=13,
        end_line=14,
        code_smell_type="UNCHECKED_ERROR",
        message="nobody catches what open() raises when the file is missing",
        improvement="catch it",
    )
    [one] = identify_all([replace(first, end_line=14), again], [])
    assert (one.place, one.message, one.improvement) == ("a.py:12-14", ROW.message, "catch it")
    assert one.aliases == (again.alias,)


def test_two_smells_of_one_place_stay_two_findings() -> None:
    message = "the function is too long and has too many branches to be understood"
    rows = [
        Finding("a.py", 4, kind, message, end_line=90)
        for kind in ("LONG_METHOD", "COMPLEX_FUNCTIONS")
    ]
    assert len(identify_all(rows, [])) == 2
