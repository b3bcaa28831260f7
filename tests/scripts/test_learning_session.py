"""Forty turns on a real repository: every piece of evidence is what its turn should count as."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "learning_session"


@pytest.mark.slow
def test_every_tag_of_forty_turns_rests_on_what_the_turn_shows() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (done.returncode, "WRONG" in done.stdout) == (0, False), done.stdout[-2_000:] + done.stderr
    assert done.stdout.count("\n| T") == 212
