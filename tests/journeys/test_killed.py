"""kill -9 in the middle of a stream or of a tool: nothing acknowledged is lost, and the next request is legal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.project import make_project
from tests.support.strict_provider import Call, Reply, StrictProvider, Wire
from tests.support.strict_provider.server import ANTHROPIC_MODEL, OPENAI_MODEL

ROOT = Path(__file__).parents[2]
MODELS = [f"openai/{OPENAI_MODEL}", f"anthropic/{ANTHROPIC_MODEL}"]
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("model", MODELS)]


def start(server: StrictProvider, model: str, project: Path, prompt: str, *flags: str) -> subprocess.Popen[str]:
    env = {**os.environ, **server.environ(), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "swecli", "-p", prompt, "-m", model, "--mode", "auto", *flags]
    return subprocess.Popen(
        command,
        cwd=project,
        env=env,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def kill_when(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_in_the_middle_of_a_stream(model: str, tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    script = [Reply("a long answer " * 50, wire=Wire(stall_at=900)), Reply("The second answer.")]
    with StrictProvider(script) as server:
        kill_when(start(server, model, project, "the first question"), lambda: bool(server.requests))
        out, err = start(server, model, project, "the second question", "-c").communicate(timeout=60)
        assert out.strip() == "The second answer.", err
        assert server.refusals == []
        assert "the first question" in str(server.bodies[-1])


def test_in_the_middle_of_a_tool(model: str, tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    script = [Reply(calls=(Call("run_command", {"command": "touch begun; sleep 30"}),)), Reply("The second answer.")]
    with StrictProvider(script) as server:
        kill_when(start(server, model, project, "run it"), (project / "begun").exists)
        out, err = start(server, model, project, "and now?", "-c").communicate(timeout=60)
        assert out.strip() == "The second answer.", err
        assert server.refusals == []
        assert "Effects may exist" in str(server.bodies[-1])
