"""Test the review ledger: no finding is lost or duplicated, whatever happens to the session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from swecli.models.errors import BadInput
from swecli.models.finding import Finding, ReviewRecord, fingerprint
from swecli.store.reviews import ReviewStore
from swecli.store.sqlite.database import Database


def make_finding(line: int, text: str = "", loop: int = 1, **fields: object) -> Finding:
    mark = fingerprint("MAGIC_NUMBERS", "a.py", text or f"text of {line}")
    return Finding("a.py", line, "MAGIC_NUMBERS", "m", loop=loop, fingerprint=mark, **fields)  # type: ignore[arg-type]


@pytest.fixture
def store(memory: Database) -> ReviewStore:
    return ReviewStore(memory, "/p")


def begin_review(store: ReviewStore) -> ReviewRecord:
    return store.begin(ReviewRecord("/p", ("--staged",), "what is staged"))


def test_repeated_findings_are_counted_and_the_first_is_kept(store: ReviewStore) -> None:
    review = begin_review(store)
    first = store.record(
        review, [make_finding(1), make_finding(2), replace(make_finding(1), message="again")]
    )
    second = store.record(
        replace(first.review, loops=2), [make_finding(2, loop=2), make_finding(3, loop=2)]
    )
    assert [f.id for f in first.new_findings + second.new_findings] == ["F-1", "F-2", "F-3"]
    assert (second.review.total, second.review.unique, second.review.loops) == (5, 3, 2)
    assert [(f.line, f.loop, f.message) for f in store.findings_of(review.id)] == [
        (1, 1, "m"),
        (2, 1, "m"),
        (3, 2, "m"),
    ]


def test_a_finding_keeps_its_id_in_later_reviews(store: ReviewStore) -> None:
    store.record(begin_review(store), [make_finding(1, "x = 37")])
    [same] = store.record(begin_review(store), [make_finding(9, "x = 37")]).new_findings
    assert (same.id, same.line) == ("F-1", 9)


def test_equal_fingerprints_at_two_lines_are_two_findings(store: ReviewStore) -> None:
    recorded = store.record(begin_review(store), [make_finding(1, "same"), make_finding(5, "same")])
    assert [f.id for f in recorded.new_findings] == ["F-1", "F-2"]
    again = store.record(begin_review(store), [make_finding(2, "same"), make_finding(6, "same")])
    assert [f.id for f in again.new_findings] == ["F-1", "F-2"]


def test_a_finding_reported_again_keeps_its_state_and_history(store: ReviewStore) -> None:
    store.record(begin_review(store), [make_finding(1), make_finding(2)])
    store.update([replace(store.get("F-1"), state="dismissed", reason="meant so")], "user", "user")
    store.update([replace(store.get("f2"), state="fixed")], "user", "user")
    store.record(begin_review(store), [make_finding(1), make_finding(2)])
    assert [(f.state, f.reason) for f in store.findings()] == [
        ("dismissed", "meant so"),
        ("fixed", ""),
    ]
    assert [(c.before, c.after, c.cause, c.why) for c in store.history("F-1")] == [
        ("open", "dismissed", "user", "meant so")
    ]


def test_other_words_of_a_later_report_are_an_alias_and_fill_what_is_empty(
    store: ReviewStore,
) -> None:
    review = begin_review(store)
    store.record(review, [replace(make_finding(1), message="first")])
    store.record(review, [replace(make_finding(1), message="later", improvement="y")])
    finding = store.get("F-1")
    assert (finding.message, finding.improvement) == ("first", "y")
    assert finding.aliases == ("MAGIC_NUMBERS|1|later",)


def test_a_repetition_moves_neither_the_place_nor_the_suggestion(store: ReviewStore) -> None:
    placed = replace(make_finding(12, suggestion="one line"), anchor="x = 37", file_hash="h")
    [first] = store.record(begin_review(store), [placed]).new_findings
    again = replace(placed, id=first.id, line=11, end_line=13, suggestion="three", evidence="y")
    store.record(begin_review(store), [again])
    stored = store.get(first.id)
    assert (stored.place, stored.suggestion, stored.evidence) == ("a.py:12", "one line", "")
    without = replace(placed, line=20, suggestion="", fingerprint="ab" * 4)
    [second] = store.record(begin_review(store), [without]).new_findings
    store.record(begin_review(store), [replace(again, id=second.id)])
    assert store.get(second.id).suggestion == ""


def test_a_finding_whose_code_was_gone_gets_the_new_place_with_its_suggestion(
    store: ReviewStore,
) -> None:
    placed = replace(make_finding(12, suggestion="old"), anchor="x = 37", file_hash="h")
    [first] = store.record(begin_review(store), [placed]).new_findings
    store.update([replace(first, state="gone")])
    again = replace(placed, id=first.id, line=30, end_line=31, suggestion="new")
    store.record(begin_review(store), [again])
    stored = store.get(first.id)
    assert (stored.place, stored.suggestion) == ("a.py:30-31", "new")


def test_a_finding_told_at_two_lines_is_one_finding_of_its_review(store: ReviewStore) -> None:
    review = begin_review(store)
    [first] = store.record(review, [make_finding(1)]).new_findings
    recorded = store.record(review, [replace(make_finding(2), id=first.id)])
    assert (recorded.new_findings, recorded.review.total, recorded.review.unique) == ([], 2, 1)
    assert [f.id for f in store.findings_of(review.id)] == ["F-1"]


def test_an_unfinished_review_can_be_continued(store: ReviewStore) -> None:
    assert store.unfinished() is None
    review = begin_review(store)
    assert store.unfinished() == review
    store.record(replace(review, status="done"), [])
    assert store.unfinished() is None


@pytest.mark.parametrize("ref", ["F-9", "x", "", "P-1"])
def test_an_unknown_finding_id_is_refused(store: ReviewStore, ref: str) -> None:
    with pytest.raises(BadInput, match="no finding" if ref else "No finding is named"):
        store.get(ref)


def test_findings_of_another_project_are_not_listed(store: ReviewStore, memory: Database) -> None:
    store.record(begin_review(store), [make_finding(1)])
    other = ReviewStore(memory, "/q")
    assert other.findings() == []
    with pytest.raises(BadInput):
        other.get("F-1")
