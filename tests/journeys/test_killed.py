"""Test `kill -9` in the middle of a stream or a tool: stored messages are kept, and the next request is valid."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from swecli.config.paths import Paths
from tests.support.project import make_project
from tests.support.strict_provider import Call, Reply, StrictProvider, Wire
from tests.support.strict_provider.script import Script
from tests.support.strict_provider.server import ANTHROPIC_MODEL, OPENAI_MODEL

ROOT = Path(__file__).parents[2]
MODELS = [f"openai/{OPENAI_MODEL}", f"anthropic/{ANTHROPIC_MODEL}"]
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("model", MODELS)]


def start_process(
    server: StrictProvider, model: str, project: Path, prompt: str, *flags: str
) -> subprocess.Popen[str]:
    env = {**os.environ, **server.environ(), "PYTHONPATH": str(ROOT)}
    command = [
        sys.executable,
        "-m",
        "swecli",
        "-p",
        prompt,
        "-m",
        model,
        "--mode",
        "auto",
        "--no-reflect",
        *flags,
    ]
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
    wait_for(process, reached)
    process.send_signal(signal.SIGKILL)
    process.communicate()


def wait_for(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def has_row(question: str) -> bool:
    """Return True if the query finds a row in the database."""
    path = Paths.find(os.environ).database
    if not path.exists():
        return False
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        try:
            return connection.execute(question).fetchone() is not None
        except sqlite3.OperationalError:  # The database is still being created.
            return False


def test_a_partial_answer_is_kept_after_a_kill_during_a_stream(model: str, tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    script: Script = [
        Reply("a long answer " * 50, wire=Wire(stall_at=900)),
        Reply("The second answer."),
    ]
    with StrictProvider(script) as server:
        kill_when(
            start_process(server, model, project, "the first question"),
            lambda: has_row("SELECT 1 FROM interaction WHERE partial LIKE 'a long answer a%'"),
        )
        out, err = start_process(server, model, project, "the second question", "-c").communicate(
            timeout=60
        )
        assert out.strip() == "The second answer.", err
        assert server.refusals == []
        assert "the first question" in str(server.bodies[-1])
        assert "a long answer a long" in str(server.bodies[-1])
        assert has_row(
            "SELECT 1 FROM message WHERE status = 'partial' AND content LIKE 'a long answer%'"
        )
        assert not has_row("SELECT 1 FROM interaction WHERE partial <> ''")


def test_partial_output_is_kept_after_a_kill_during_a_command(model: str, tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    script: Script = [
        Reply(calls=(Call("run_command", {"command": "echo 7 of 9 done; sleep 30"}),)),
        Reply("The second answer."),
    ]
    with StrictProvider(script) as server:
        kill_when(
            start_process(server, model, project, "run it"),
            lambda: has_row("SELECT 1 FROM tool_call WHERE result LIKE '%7 of 9 done%'"),
        )
        out, err = start_process(server, model, project, "and now?", "-c").communicate(timeout=60)
        assert out.strip() == "The second answer.", err
        assert server.refusals == []
        last_body = str(server.bodies[-1])
        assert "swecli ended while this ran. Effects may exist" in last_body
        assert has_row("SELECT 1 FROM tool_call WHERE status = 'interrupted'")
        assert not has_row("SELECT 1 FROM tool_call WHERE status = 'running'")
        assert "Output until then:" in last_body
        assert "7 of 9 done" in last_body


def test_an_interrupted_command_keeps_its_partial_output(model: str, tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    script: Script = [
        Reply(calls=(Call("run_command", {"command": "echo 7 of 9 done; touch begun; sleep 30"}),)),
        Reply("Yes."),
    ]
    with StrictProvider(script) as server:
        process = start_process(server, model, project, "run it", "--output-format", "stream-json")
        wait_for(process, (project / "begun").exists)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        [finished] = [line for line in out.splitlines() if '"tool_finished"' in line]
        assert "7 of 9 done" in finished
        assert has_row("SELECT 1 FROM tool_call WHERE status = 'cancelled'")
        out, err = start_process(server, model, project, "and now?", "-c").communicate(timeout=60)
        assert out.strip() == "Yes.", err
        assert "Stopped by the user after" in str(server.bodies[-1])
        assert "7 of 9 done" in str(server.bodies[-1])
        assert "The user interrupted your last turn during the calls above" in str(
            server.bodies[-1]
        )
