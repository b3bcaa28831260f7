"""Test `kill -9` between any two of reflect, curate, apply and prompt: a resumed session reaches the same final
state."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.dying import STAGES
from tests.support.project import make_project
from tests.support.strict_provider import Reply, StrictProvider
from tests.support.strict_provider.server import OPENAI_MODEL

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow


def run_dying(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.journeys.dying", str(folder / "swecli.db"), *argv]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
    )


def final_state(folder: Path, stage: str) -> Any:
    began = run_dying(folder, "begin", stage)
    assert began.returncode == (0 if stage == "never" else -signal.SIGKILL), began.stderr
    gone_on = run_dying(folder, "resume")
    assert gone_on.returncode == 0, gone_on.stderr
    return json.loads(gone_on.stdout)


def test_learning_reaches_the_same_state_after_a_kill_at_any_stage(tmp_path: Path) -> None:
    ends = {stage: final_state(tmp_path / stage, stage) for stage in STAGES}
    whole = ends["never"]
    assert len(whole["bullets"]) == 2
    assert "harmful=1" in whole["bullets"][0], "the model's tag"
    assert any("[P-2] is new: Build in the `release` profile" in line for line in whole["prompt"])
    assert (whole["pending"], whole["changes"]) == (0, 1), (
        "the model's; the rules link the outcome to none"
    )
    for stage, end in ends.items():
        assert end == whole, stage


def test_a_taught_strategy_is_in_the_next_request(tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    lesson = {"text": "Answers rhyme", "quote": "answers rhyme"}
    reflection = json.dumps({"lessons": [lesson]})
    answers = ("Noted.", reflection, "Hello.")
    with StrictProvider([Reply(text, usage=None) for text in answers]) as server:
        env = {**os.environ, **server.environ(), "PYTHONPATH": str(ROOT)}
        for prompt in ("remember that answers rhyme", "hello"):
            command = [sys.executable, "-m", "swecli", "-p", prompt, "-m", f"openai/{OPENAI_MODEL}"]
            done = subprocess.run(
                command,
                cwd=project,
                env=env,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        assert server.refusals == []
        first, _, second = (json.dumps(body) for body in server.bodies)
        assert "[P-1]" not in first.replace("like [P-1]", "")
        assert "[P-1] Answers rhyme" in second
