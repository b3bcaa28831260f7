"""Test that ordinary work is done in the sandbox as without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from swecli.tools.sandbox import Sandbox

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("user", ["", "nobody"], ids=["this user", "an ordinary user"])
def test_work_ends_in_the_sandbox_as_it_does_without(user: str) -> None:
    if user and os.geteuid() != 0:
        pytest.skip("only root can become another user; this one is an ordinary user already")
    sandbox = Sandbox("required", ROOT / "tests", os.environ)
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.workloads", user],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    if done.returncode and "no folder for the attempts" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    compared = [row for row in json.loads(done.stdout) if not row["missing"]]
    different = [row for row in compared if row["inside"] != row["outside"]]
    assert [row for row in different if not row["known"]] == []
    known = [row for row in compared if row["known"]]
    assert known == different, "these work by now: remove `known` from them"
    assert len(compared) >= 5
