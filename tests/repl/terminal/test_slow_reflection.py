"""Test a reflection of ten seconds in a real terminal: it blocks nothing, and a killed process loses nothing."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.shell import script, swecli
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
CALL = {
    "text": "I build.",
    "calls": [{"name": "run_command", "arguments": {"command": "sh build.sh"}}],
}
LESSON = {"text": "Build with `sh build.sh`", "quote": "build it now"}
# two pieces, five seconds each
SLOW = {
    "purpose": "reflect",
    "text": json.dumps({"strategies": [], "lessons": [LESSON]}),
    "piece": 10_000,
    "delay": 5.0,
}
NOTHING = {"purpose": "reflect", "text": '{"strategies": []}'}
LEARNED = r"✎ T1: \? .* P-1 waits"  # its text is in none of the user's messages


@pytest.fixture(autouse=True)
def write_build_script() -> None:
    Path("build.sh").write_text("echo error: unknown option --fast; exit 1\n")


def start_terminal(*replies: Any, more: tuple[str, ...] = ()) -> Terminal:
    return Terminal("-m", script("s.json", *replies), "--mode", "auto", *more, columns=100, rows=40)


def test_the_next_line_is_answered_while_the_reflection_runs() -> None:
    with start_terminal(CALL, "It failed.", SLOW, "At once.", NOTHING) as terminal:
        terminal.wait(r"\d turns? sent")
        terminal.keys("build it now\r")
        terminal.wait("It failed.")
        terminal.keys("are you there?\r")
        assert LESSON["text"] not in terminal.wait("At once."), (
            "answered before the reflection came"
        )
        terminal.keys("/bad it takes long\r")
        terminal.wait("T2 is marked bad")
        terminal.keys("/playbook list --verbose\r")
        assert LESSON["text"] not in terminal.wait("pending reflection"), (
            "a command does not wait for the reflection"
        )
        terminal.wait(LEARNED)


def test_a_killed_reflection_is_made_when_the_user_reacts_in_the_next_process() -> None:
    with start_terminal(CALL, "It failed.", SLOW, "And on.") as terminal:
        terminal.wait(r"\d turns? sent")
        terminal.keys("build it now\r")
        terminal.wait("It failed.")
        terminal.keys("go on\r")
        terminal.wait("And on.")
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.wait_for_exit()
    assert swecli("playbook", "list", "--json").json == []
    assert "2 of them pending reflection" in swecli("playbook", "list", "--verbose").out
    with start_terminal({**SLOW, "delay": 0.0}, more=("-c",)) as terminal:
        terminal.wait(LEARNED)
    assert [row["content"] for row in swecli("playbook", "list", "--json").json] == [LESSON["text"]]
