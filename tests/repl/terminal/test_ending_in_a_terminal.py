"""Test how the program ends by keys and signals, in a real pseudo-terminal: nothing is lost or left behind."""

from __future__ import annotations

import os
import signal
import termios
from pathlib import Path

import pytest

from tests.support.hooks import declare
from tests.support.processes import none_is_left, processes_running
from tests.support.shell import script, swecli
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
PROMPTS = pytest.mark.parametrize("flags", [(), ("--plain",)], ids=["drawn", "plain"])
SLOW = {"text": "word " * 200, "piece": 5, "delay": 0.1}


def start(*replies: object, flags: tuple[str, ...]) -> Terminal:
    """Start the program and wait until it is loaded."""
    terminal = Terminal(
        "-m", script("s.json", *replies), *flags, columns=100, environ={"SWECLI_LEARN": "0"}
    )
    terminal.wait("^> ?$")
    terminal.keys("/window\r")
    terminal.wait("turns? sent")
    terminal.wait("^> ?$")
    return terminal


def history() -> str:
    return Path(os.environ["SWECLI_HOME"], "history").read_text()


@PROMPTS
def test_ctrl_c_ends_the_wait_for_a_hook_at_the_end(flags: tuple[str, ...]) -> None:
    seconds = f"300.{os.getpid()}"
    declare(Path(), ("SessionEnd", "", f"sleep {seconds}"), timeout=300)
    assert swecli("hooks", "approve", "--yes").code == 0
    with start("Hello.", flags=flags) as terminal:
        terminal.keys("hello\r")
        terminal.wait("^(• )?Hello")
        terminal.wait("no cost")
        terminal.keys("/exit\r")
        terminal.wait("Running the hooks at the session's end · Ctrl.C skips that")
        terminal.keys("\x03")
        assert terminal.wait_for_exit() == 0
        assert "continues this session" in terminal.text
    assert none_is_left(seconds)


@PROMPTS
def test_a_signal_keeps_what_was_typed_and_not_sent(flags: tuple[str, ...]) -> None:
    with start("Hello.", flags=flags) as terminal:
        terminal.keys("half a line")
        terminal.wait("half a line")
        os.kill(terminal.process.pid, signal.SIGTERM)
        assert terminal.wait_for_exit() == 143
    assert "half a line" in history()


def test_a_signal_keeps_no_secret() -> None:
    with Terminal() as terminal:
        terminal.wait("Which model should answer")
        terminal.keys("2")
        terminal.wait("Your key of openai")
        terminal.keys("sk-mine")
        terminal.wait("[*]{7}")
        os.kill(terminal.process.pid, signal.SIGTERM)
        assert terminal.wait_for_exit() == 143
    files = [path for path in Path(os.environ["SWECLI_HOME"]).rglob("*") if path.is_file()]
    assert not [path for path in files if b"sk-mine" in path.read_bytes()]


@PROMPTS
def test_a_signal_ends_the_program_that_has_the_terminal(flags: tuple[str, ...]) -> None:
    seconds = f"300.{os.getpid()}"
    with start("Hello.", flags=flags) as terminal:
        terminal.keys(f"!!stty -echo; sleep {seconds}\r")
        terminal.wait_for(lambda: bool(processes_running(seconds)), "it does not run")
        os.kill(terminal.process.pid, signal.SIGTERM)
        assert terminal.wait_for_exit() == 143
        assert none_is_left(seconds)
        assert termios.tcgetattr(terminal.process.fileno())[3] & termios.ECHO


@PROMPTS
def test_ctrl_z_ends_a_program_that_ignores_to_be_asked(flags: tuple[str, ...]) -> None:
    with start("Hello.", flags=flags) as terminal:
        terminal.keys("!!trap '' INT TERM; echo ready; while :; do sleep 0.1; done\r")
        terminal.wait("^ready$")
        terminal.keys("\x1a")
        terminal.wait("exit code 137$")


def test_without_a_cursor_ctrl_c_gives_the_lines_back_that_have_not_begun() -> None:
    with start(SLOW, "Never.", flags=("--plain",)) as terminal:
        terminal.keys("talk\r")
        terminal.wait("word word")
        terminal.keys("second\r")
        terminal.wait_until_quiet(0.0)
        for _ in range(5):
            terminal.pump()
        terminal.keys("\x03")
        terminal.wait("interrupted")
        terminal.wait("^to send again: second$")
        terminal.keys("/window\r")
        terminal.wait("(?s)turns? sent.*turns? sent")
        assert "Never." not in terminal.text
    assert "second" in history()


def test_without_a_cursor_the_prompt_returns_with_the_program_that_was_stopped() -> None:
    with start("Hello.", flags=("--plain",)) as terminal:
        written = len(terminal.raw)
        os.kill(terminal.process.pid, signal.SIGSTOP)
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.wait_for(lambda: b"\x1b[?2004h> " in terminal.raw[written:], "no prompt")
