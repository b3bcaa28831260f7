"""Test that pages written by hand name the numbers of the pages that measurements write."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MATRIX = (ROOT / "docs/reference/sandbox.md").read_text(encoding="utf-8")
HOLDS = (ROOT / "docs/explanation/what-holds.md").read_text(encoding="utf-8")


def test_the_matrix_counts_its_attempts_and_gives_a_reason_for_each_that_was_not_blocked() -> None:
    [summary] = re.findall(r"^Blocked: .*", MATRIX, flags=re.MULTILINE)
    counts = set(re.findall(r"(\d+) of (\d+)", summary))
    _, _, tables = MATRIX.partition("\n## What is not blocked\n")
    reasons, _, attempts = tables.partition("\n## Ordinary work\n")[0].partition("\n## ")
    rows = re.findall(r"^\| (?!attempt|---)(.+?) \| (.+?) \|", attempts, flags=re.MULTILINE)
    blocked = sum(outcome == "blocked" for _, outcome in rows)
    assert counts == {(str(blocked), str(len(rows)))}
    assert len(re.findall(r"^\| (?!attempt|---)", reasons, re.MULTILINE)) == len(rows) - blocked


def test_what_holds_counts_its_rows() -> None:
    rows = re.findall(
        r"^\| (?!attempt|---)[^|]*(?:\\\|[^|]*)* \| ([\d,]+) \| (\**)", HOLDS, re.MULTILINE
    )
    failing = sum(bool(bold) for _, bold in rows)
    assert f"{len(rows)} rows, {failing} of them with failures." in HOLDS
