"""Test the lines that are printed for a review's events."""

from __future__ import annotations

import json

import pytest

from swecli.cli.review import ReviewFace
from swecli.models.events import Notice
from swecli.models.finding import Finding
from swecli.models.review_events import (
    Coverage,
    FindingsAccumulated,
    LoopWindowApplied,
    ReviewFinished,
)
from swecli.review.publish.view import row_view

ONE = Finding(
    "a.py", 3, "DEAD_CODE", "m", id="F-1", state="regressed", verified=False, why="no such file"
)


def test_a_finding_is_formatted_as_one_line() -> None:
    assert (
        row_view(ONE).line
        == "F-1 a.py:3 DEAD_CODE (medium): m [regressed, unverified] [not in its file: no such file]"
    )


def test_review_events_are_streamed_with_their_names_and_fields(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for event in (
        FindingsAccumulated(1, 5, 3, (ONE,), "R-1", reported=2),
        LoopWindowApplied(6, 5, 11, "R-1"),
        Notice("x"),
        ReviewFinished(2, 1, 6, {"DEAD_CODE": 1}, "R-1", "done", (ONE,), ("half a block",)),
    ):
        ReviewFace(is_streamed=True).show(event)
    out, err = capsys.readouterr()
    first, second, _, last = [json.loads(line) for line in out.splitlines()]
    assert {k: first[k] for k in ("type", "new", "total", "loop")} == {
        "type": "code_smells_accumulated", "new": 1, "total": 5, "loop": 3,
    }  # fmt: skip
    assert second == {
        "type": "sliding_window_applied", "loop": 6, "removed": 5, "kept": 11, "review": "R-1", "taskId": "R-1",
        "data": {"loop": 6, "messagesRemoved": 5, "messagesKept": 11},
    }  # fmt: skip
    assert (first["taskId"], first["data"]) == (
        "R-1",
        {"newIssues": 2, "totalIssues": 5, "loop": 3},
    )
    assert last["data"] == {"totalIssues": 1, "loops": 6, "issuesByType": {"DEAD_CODE": 1}}
    assert [last[k] for k in ("type", "total", "unique", "loops", "by_type")] == [
        "final_code_smells_summary", 2, 1, 6, {"DEAD_CODE": 1},
    ]  # fmt: skip
    assert "not usable: half a block" in err


@pytest.mark.parametrize(
    ("coverage", "said"),
    [
        (Coverage(total=5, read=3), "code that was not read may contain more findings"),
        (Coverage(total=5, read=5, unverified=1), "1 finding could not be verified"),
    ],
)
def test_an_incomplete_review_says_in_what(
    coverage: Coverage, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    end = ReviewFinished(2, 1, 6, {}, "R-1", "done", coverage=coverage)
    ReviewFace().show(end)
    assert said in capsys.readouterr().err.splitlines()[-1]
