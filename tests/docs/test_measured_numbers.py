"""Test that pages written by hand name the numbers of the pages that measurements write."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MATRIX = (ROOT / "docs/reference/sandbox.md").read_text(encoding="utf-8")
HOLDS = (ROOT / "docs/explanation/what-holds.md").read_text(encoding="utf-8")
KEPT = re.compile(r"(\d+) of (\d+)")


def kept_in() -> set[tuple[int, int]]:
    """Return how many attempts were kept in, and of how many, for each user."""
    [line] = re.findall(r"^Kept: .*", MATRIX, flags=re.MULTILINE)
    return {(int(kept), int(made)) for kept, made in KEPT.findall(line)}


def test_the_matrix_counts_its_rows_and_gives_a_reason_for_each_that_was_not_kept() -> None:
    attempts, _, rest = MATRIX.partition("\n## What is not prevented\n")
    rows = re.findall(r"^\| (?!attempt|---)(.+?) \| (.+?) \|", attempts, flags=re.MULTILINE)
    reasons = re.findall(
        r"^\| (?!attempt|---)(.+?) \|", rest.partition("\n## ")[0], flags=re.MULTILINE
    )
    kept = sum(outcome == "kept" for _, outcome in rows)
    assert kept_in() == {(kept, len(rows))}
    assert len(reasons) == len(rows) - kept


def test_what_holds_counts_its_rows() -> None:
    rows = re.findall(
        r"^\| (?!attempt|---)[^|]*(?:\\\|[^|]*)* \| ([\d,]+) \| (\**)", HOLDS, re.MULTILINE
    )
    failing = sum(bool(bold) for _, bold in rows)
    assert f"{len(rows)} rows, {failing} of them with failures." in HOLDS
