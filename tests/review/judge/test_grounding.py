"""Test checking findings against the files that they name, and which finding of the ledger each one is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from swecli.context.system_message import HeadParts
from swecli.models.finding import Finding
from swecli.models.session import Session
from swecli.review.judge.grounding import _identify, ground, identify_all, smell_family
from swecli.review.judge.sources import Before, Source, Sources

TEXT = "import os\n\n\ndef f():\n    return 37\n\n\ndef g():\n    return 37\n"


def write_file(text: str = TEXT) -> None:
    Path("a.py").write_text(text)


def make_finding(line: int = 5, path: str = "a.py", **fields: object) -> Finding:
    return Finding(path, line, "MAGIC_NUMBERS", "37 has no name", **fields)  # type: ignore[arg-type]


def ground_one(finding: Finding) -> Finding:
    return ground([finding], Sources(Path.cwd()))[0]


@pytest.mark.parametrize(
    ("finding", "why"),
    [
        (make_finding(), ""),
        (make_finding(evidence="return  37"), ""),
        (make_finding(evidence="`return 37`", line=4, end_line=5), ""),
        (make_finding(line=99), "past the end"),
        (make_finding(line=10**9), "past the end"),
        (make_finding(end_line=99), "past the end"),
        (make_finding(path="b.py"), "no such file"),
        (make_finding(path="../a.py"), "out of the project"),
        (make_finding(path="/etc/passwd"), "outside"),
        (make_finding(line=1, evidence="def g():"), ""),
        (make_finding(evidence="return 42"), "quoted code is not there"),
        (make_finding(line=0), "names no line"),
        (make_finding(line=0, evidence="def g():"), ""),
        (make_finding(path="bin"), "not a text file"),
        (make_finding(path="big"), "too large"),
        (make_finding(path="folder"), "directory"),
    ],
)
def test_a_finding_that_does_not_match_its_file_is_unverified_with_the_reason(
    finding: Finding, why: str
) -> None:
    write_file()
    Path("bin").write_bytes(b"\0\1")
    Path("big").write_bytes(b"x" * 5_000_001)
    Path("folder").mkdir()
    found = ground_one(finding)
    assert found.verified is not bool(why)
    assert why in found.why
    assert found.fingerprint


def test_a_quote_that_occurs_once_corrects_the_line() -> None:
    write_file()
    assert (
        ground_one(make_finding(line=1, evidence="def g():")).line,
        ground_one(make_finding(line=-4, evidence="def g():")).line,
    ) == (8, 8)
    assert ground_one(make_finding(line=10**9, evidence="def g():")).verified


SUM = "def total(rows):\n    s = 0\n    for row in rows:\n        s -= row.price\n    return s\n"


@pytest.mark.parametrize("line", [1, 2, 3, 5])
def test_a_quote_that_stands_once_is_the_line_and_its_suggestion_goes_with_it(line: int) -> None:
    write_file(SUM)
    found = ground_one(
        make_finding(line, evidence="s -= row.price", suggestion="        s += row.price")
    )
    assert (found.line, found.suggestion.strip(), found.verified) == (4, "s += row.price", True)
    whole = ground_one(make_finding(line, evidence="return s"))
    assert whole.line == 5


def test_a_quote_of_a_whole_range_moves_the_range() -> None:
    write_file(SUM)
    quote = "    for row in rows:\n        s -= row.price\n    return s"
    found = ground_one(make_finding(2, end_line=4, evidence=quote, suggestion="return 1"))
    assert (found.line, found.end_line, found.suggestion) == (3, 5, "return 1")


@pytest.mark.parametrize(
    ("evidence", "line", "end_line", "place"),
    [
        ("s -= row.price", 3, 5, "a.py:3-5"),  # inside of its lines
        ("return 37", 6, None, "a.py:5"),  # the nearest of two
        ("return 37", 7, None, "a.py:8"),  # as far from both: the next line with text
        ("return 42", 5, None, "a.py:5"),  # nowhere
    ],
)
def test_a_suggestion_for_uncertain_lines_is_only_told(
    evidence: str, line: int, end_line: int | None, place: str
) -> None:
    write_file(SUM if "price" in evidence else TEXT)
    found = ground_one(make_finding(line, end_line=end_line, evidence=evidence, suggestion="x = 1"))
    assert (found.place, found.suggestion, found.improvement) == (place, "", "x = 1")


@pytest.mark.parametrize(
    "finding",
    [
        make_finding(0),
        make_finding(10**9),
        make_finding(path="../../etc/passwd"),
        make_finding(path="b.py"),
    ],
)
def test_a_finding_without_an_existing_file_or_line_is_refuted_by_rule(finding: Finding) -> None:
    write_file()
    found = ground_one(finding)
    assert (found.state, found.verdict) == ("refuted", "refuted")
    assert found.judgement is not None
    assert found.judgement.by == "rule"


def test_a_finding_on_a_blank_line_is_moved_to_the_next_line_with_text() -> None:
    write_file()
    found = ground_one(make_finding(line=2, suggestion="import sys", improvement="Import it."))
    assert (found.line, found.state, found.verified, found.anchor) == (4, "open", True, "def f():")
    assert (found.suggestion, found.improvement) == (
        "",
        "Import it.\nimport sys",
    )  # It would replace other code there.
    assert ground_one(make_finding(line=3, end_line=5, suggestion="x")).suggestion == "x"
    write_file("\n\n")
    assert ground_one(make_finding(line=1)).why == "its file has only blank lines"


def test_equal_code_at_two_lines_has_two_fingerprints() -> None:
    write_file()
    assert ground_one(make_finding(5)).fingerprint != ground_one(make_finding(9)).fingerprint


def test_a_finding_keeps_its_fingerprint_when_code_above_it_moves() -> None:
    write_file()
    before = ground_one(make_finding())
    write_file("# a new line\n" * 7 + TEXT)
    assert ground_one(make_finding(12)).fingerprint == before.fingerprint


def test_the_head_lists_findings_up_to_a_limit_with_the_number_of_the_rest() -> None:
    found = [replace(make_finding(n), id=f"F-{n}") for n in (1, 2, 3)]
    rows = [found[0], replace(found[2], path="b.py", state="regressed")]
    texts = [
        HeadParts("", findings=some).compose(Session(""), "", ()) for some in (rows, rows * 11, [])
    ]
    assert "[F-1] a.py" in texts[0]
    assert "2 more" in texts[1]
    assert texts[2] == ""


@pytest.mark.parametrize(
    "path",
    [
        "b/src/a.py",
        "/tmp/x/src/a.py",
        "C:/x/src/a.py",
        "file:///x/src/a.py",
        "a.py",
        "src//a.py",
        "old/a.py",
        "src/ a.py",
    ],
)
def test_an_inexact_path_is_resolved_to_the_only_reviewed_file_that_matches(path: str) -> None:
    Path("src").mkdir()
    Path("src/a.py").write_text("x = 1\n")
    names = {"src/a.py": "src/a.py", "old/a.py": "src/a.py", "src/b.py": "src/b.py"}
    [found] = ground([make_finding(1, path=path)], Sources(Path.cwd()), names)
    assert (found.path, found.state) == ("src/a.py", "open")
    assert (
        ground([make_finding(1, path="../src/a.py")], Sources(Path.cwd()), names)[0].state
        == "refuted"
    )


GUARDED = ("def total(x):", "    if not x:", "        return 0", "    return 1 / x")


def removed_guard() -> Sources:
    """Return files of which a change has removed a guard of `m.py` and all of `auth.py`."""
    Path("m.py").write_text("def total(x):\n    return 1 / x\n")
    before = Before(Source("m.py", GUARDED, "x"), (1, 2, 2, 2), frozenset({2, 3}), False)
    auth = Source("auth.py", ("def check():", "    return True"), "x")
    gone = Before(auth, (1, 2), frozenset({1, 2}), True)
    return Sources(Path.cwd(), {"m.py": before, "auth.py": gone})


@pytest.mark.parametrize(
    ("path", "line", "quote", "place"),
    [
        ("m.py", 2, "if not x:", 2),
        ("m.py", 3, "    if not x:\n        return 0", 2),
        ("m.py", 40, "return 0", 2),
        ("auth.py", 1, "def check():", 1),
        ("auth.py", 1, "return True", 2),
        ("auth.py", 2, "", 2),
        ("auth.py", 0, "", 1),
        ("auth.py", 70, "", 2),
    ],
)
def test_a_finding_about_removed_code_stands_where_that_stood(
    path: str, line: int, quote: str, place: int
) -> None:
    told = Finding(path, line, "GUARD", "m", evidence=quote, suggestion="x")
    [found] = ground([told], removed_guard(), {"m.py": "m.py", "auth.py": "auth.py"})
    assert (found.line, found.verified, found.state, found.removed) == (place, True, "open", True)


def test_a_quote_that_stands_there_still_is_not_removed_and_one_of_nowhere_is_said() -> None:
    quotes = ("return 1 / x", "return 2 / x")
    told = [Finding("m.py", 2, "GUARD", "m", evidence=quote) for quote in quotes]
    there, nowhere = ground(told, removed_guard())
    assert (there.removed, there.verified) == (False, True)
    assert (nowhere.removed, nowhere.why) == (False, "the quoted code is not there")


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
