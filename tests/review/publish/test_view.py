"""Test the view of a finding, and the filters that select findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.models.finding import Finding, Judgement, ReviewRecord, StateChange
from swecli.review.publish.filters import filter_findings
from swecli.review.publish.view import view
from swecli.store.reviews import ReviewStore
from tests.support.databases import open_database

ONE = Finding(
    "src/a.py", 6, "MAGIC_NUMBERS", "37 has no name", "high", suggestion="LIMIT = 37", id="F-1", verdict="confirmed",
    judgement=Judgement("confirmed", "src/a.py", 6, "x = 37", "nothing names it", "m"),
)  # fmt: skip
TWO = Finding("b.py", 1, "LEAK", "never closed", "low", id="F-2", state="dismissed")
THREE = Finding("src/c.py", 2, "RESOURCE_LEAK", "stays open", "critical", id="F-3")


def make_ledger() -> ReviewStore:
    store = ReviewStore(open_database(":memory:"), "/p")
    marked = [replace(found, id="", fingerprint=found.id) for found in (ONE, TWO, THREE)]
    store.record(store.begin(ReviewRecord("/p", (), "first")), marked)
    return store


def test_a_view_shows_claim_verdict_history_code_and_suggested_change() -> None:
    Path("src").mkdir()
    Path("src/a.py").write_text(
        "".join(f"line {n}\n" for n in range(1, 6)) + "x = 37\n" + "end\n" * 9
    )
    lines = view(
        ONE, Path.cwd(), [StateChange("open", "gone", "recheck", "rule", "w", "2026-01-01")]
    ).lines()
    assert lines[:2] == ["F-1 src/a.py:6 MAGIC_NUMBERS (high)", "open, confirmed"]
    assert "checked by m: confirmed. nothing names it src/a.py:6 `x = 37`" in lines
    assert "2026-01-01: open → gone by rule w" in lines
    assert [line for line in lines if line.startswith(">")] == [">    6 x = 37"]
    assert len([line for line in lines if line[:1] in " >" and line[1:7].strip().isdecimal()]) == 9
    assert lines[-5:] == [
        "--- src/a.py",
        "+++ src/a.py",
        "@@ -6,1 +6,1 @@",
        "-x = 37",
        "+LIMIT = 37",
    ]


def test_a_finding_whose_check_failed_is_shown_as_not_verified() -> None:
    failed = Judgement("cannot_tell", why="the verifier gave no answer", by="failure")
    lines = view(replace(ONE, judgement=failed), Path.cwd()).lines()
    assert "not verified: the verifier gave no answer" in lines


def test_a_finding_in_a_missing_file_is_shown_without_code() -> None:
    assert view(THREE, Path.cwd()).code == ()


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ((), ["F-1", "F-3"]),
        (("all",), ["F-1", "F-3", "F-2"]),
        (("dismissed",), ["F-2"]),
        (("severity>=critical",), ["F-3"]),
        (("path:src/**",), ["F-1", "F-3"]),
        (("path:src/c.py",), ["F-3"]),
        (("all", "type:leak"), ["F-3", "F-2"]),
        (("verdict:confirmed",), ["F-1"]),
        (("stays",), ["F-3"]),
    ],
)
def test_filter_words_select_findings_with_the_surest_and_worst_first(
    words: tuple[str, ...], ids: list[str]
) -> None:
    assert [finding.id for finding in filter_findings(make_ledger().findings(), words)] == ids


@pytest.mark.parametrize("word", ["severity>=odd", "verdict:maybe"])
@pytest.mark.slow
def test_an_unknown_filter_value_is_refused(word: str) -> None:
    with pytest.raises(BadInput, match="Unknown"):
        filter_findings(make_ledger().findings(), [word])
