"""Test forty turns on a real repository: each turn yields the expected evidence."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT, PAGE = (
    ROOT / "lab" / "learning" / "learning_session",
    ROOT / "docs" / "explanation" / "forty-turns.md",
)


@pytest.mark.slow
def test_forty_turns_yield_the_expected_evidence_and_the_documented_rows() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "WRONG" in done.stdout) == (0, False), (
        done.stdout[-2_000:] + done.stderr
    )
    page = PAGE.read_text(encoding="utf-8")
    assert [row for row in done.stdout.splitlines() if row.startswith("| T")] == re.findall(
        r"^\| T.*", page, re.MULTILINE
    )
