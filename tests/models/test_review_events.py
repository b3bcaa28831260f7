"""Test that the three events of a review keep their names and fields."""

from __future__ import annotations

from swecli.models.events import to_json
from swecli.models.review_events import FindingsAccumulated, LoopWindowApplied, ReviewFinished


def test_the_events_of_a_review_have_fixed_names_and_fields() -> None:
    rows = [
        to_json(FindingsAccumulated(1, 2, 3)),
        to_json(LoopWindowApplied(6, 5, 11)),
        to_json(ReviewFinished(9, 8, 7, {"DEAD_CODE": 8}, "R-1", "done")),
    ]
    assert [row["type"] for row in rows] == [
        "code_smells_accumulated", "sliding_window_applied", "final_code_smells_summary",
    ]  # fmt: skip
    assert {"new", "total", "loop"} <= set(rows[0])
    assert {"loop", "removed", "kept"} <= set(rows[1])
    assert {"total", "unique", "loops", "by_type"} <= set(rows[2])
