"""Test a small part of each measurement of docs/explanation/what-holds.md, and that the page has them all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab.assurance.measurements import MEASUREMENTS
from lab.assurance.measurements.page import make_page
from lab.assurance.measurements.rows import Measurement, Row, Taken

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "what-holds.md"
CASES = [
    pytest.param(one, id=one.title, marks=[pytest.mark.slow] if one.is_slow else [])
    for one in MEASUREMENTS
]


@pytest.mark.parametrize("measurement", CASES)
def test_a_small_part_of_a_measurement_holds(measurement: Measurement) -> None:
    if measurement.needs and shutil.which(measurement.needs) is None:
        pytest.skip(f"skipped: {measurement.needs} is not installed")
    rows = measurement.measure(measurement.quick)
    assert all(row.made for row in rows)
    assert [(row.attempt, list(row.failures)) for row in rows if row.failures] == []


def test_the_page_describes_each_measurement_as_it_is_made() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [one.title for one in MEASUREMENTS if one.method not in page] == []


def test_what_did_not_hold_is_listed_on_the_page() -> None:
    measurement = Measurement("Doors", "Each is pushed.", lambda count: [], 1, 2)
    rows = [Row("closed", 3, ["the second | one"]), Row("locked", 1)]
    page = make_page([measurement], {"Doors": Taken("a machine", rows)})
    assert "2 rows, 1 of them with failures" in page
    assert "| closed | 3 | **2** |" in page
    assert "- the second | one\n" in page
    assert "| locked | 1 | 1 |" in page


def test_what_was_measured_with_another_version_says_so() -> None:
    titles = ("Doors", "Gates", "Windows")
    measurements = [Measurement(title, "", lambda count: [], 1, 2) for title in titles]
    taken = {title: Taken("swecli 2", [Row("closed", 1)]) for title in titles}
    taken["Windows"] = Taken("swecli 1", [Row("closed", 1)])
    others, windows = make_page(measurements, taken).split("## Windows")
    assert others.count("Measured with swecli 2") == 1
    assert "Measured with swecli 1.\n" in windows
