"""Test forty turns on a real repository: each turn yields the expected evidence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "lab" / "learning" / "learning_session"


@pytest.mark.slow
def test_forty_turns_yield_the_expected_evidence() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "WRONG" in done.stdout) == (0, False), (
        done.stdout[-2_000:] + done.stderr
    )
    assert len([row for row in done.stdout.splitlines() if row.startswith("| T")]) > 40
