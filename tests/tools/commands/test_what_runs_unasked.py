"""Generate command lines from the table of programs, and run those that need no approval: none may change a file, start
a program that is not in the table, or print a secret. SWECLI_COMMANDS=20000 generates that many instead of a few
hundred, SWECLI_SEED=7 other ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.jail import Jail, run_unasked

COUNT = int(os.environ.get("SWECLI_COMMANDS", "240"))
SEED = int(os.environ.get("SWECLI_SEED", "1"))


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="skipped: bash is not installed")
def test_what_runs_unasked_changes_nothing_starts_nothing_and_shows_no_secret(
    tmp_path: Path,
) -> None:
    found = run_unasked(Jail(tmp_path / "jail"), SEED, COUNT)
    assert found.harm == []
    assert found.ran > COUNT // 20
