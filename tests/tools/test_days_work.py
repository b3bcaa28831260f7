"""Test how many questions a day's work leads to, with real commands, with the sandbox and without."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.tools.sandbox import Sandbox
from tests.support.days_work import COMMANDS, OUTSIDE, questions_of_a_day


@pytest.mark.slow
async def test_in_the_sandbox_only_what_leaves_it_is_asked_about(tmp_path: Path) -> None:
    with_sandbox, without = tmp_path / "with", tmp_path / "without"
    with_sandbox.mkdir()
    without.mkdir()
    problem = Sandbox("auto", with_sandbox, os.environ).problem
    if problem:
        pytest.skip(f"no sandbox on this machine: {problem}")
    asked = await questions_of_a_day(with_sandbox, "auto")
    assert asked == [command for command, _ in OUTSIDE]
    asked_without = await questions_of_a_day(without, "off")
    assert set(asked) < set(asked_without)
    assert len(asked_without) < len(COMMANDS), "what only reads is not asked about"
