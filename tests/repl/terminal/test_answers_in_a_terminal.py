"""Test in a real terminal that a lasting yes is meant, and that afterwards screen, rules and model agree on it."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from swecli.config.paths import Paths
from tests.support.shell import script
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
UP, DOWN, ESC = "\x1b[A", "\x1b[B", "\x1b"
TOUCH = {"name": "run_command", "arguments": {"command": "touch mark"}}
PLAN = {"name": "present_plan", "arguments": {"plan": "Turn the sign.", "steps": ["Report"]}}


def write(path: str) -> dict[str, object]:
    call = {"name": "write_file", "arguments": {"path": path, "content": "x\n"}}
    return {"text": "", "calls": [call]}


def start(*replies: object, flags: tuple[str, ...] = (), **environ: str) -> Terminal:
    return Terminal(
        "-m",
        script("s.json", *replies),
        *flags,
        columns=100,
        environ={"SWECLI_LEARN": "0", **environ},
    )


def saved_rules() -> str:
    file = Paths.find(os.environ).permissions
    return file.read_text() if file.exists() else ""


def test_the_keys_that_repeat_a_line_neither_run_a_command_nor_allow_it_for_good() -> None:
    with start({"text": "", "calls": [TOUCH]}, "done") as terminal:
        terminal.wait("Shift.Tab")
        terminal.keys("go\r")
        terminal.wait("Answer with a number")
        for key in (UP, "\r", UP, UP, "\r"):
            terminal.keys(key)
            for _ in range(4):
                terminal.pump()
        assert "Answer with a number" in terminal.text
        assert not Path("mark").exists()
        terminal.keys(DOWN * 9 + "\r")
        screen = terminal.wait("Enter to confirm")
        assert "Always allow run(touch *) in this project, saved in" in screen
        assert not Path("mark").exists()
        assert saved_rules() == ""
        terminal.keys("\r")
        terminal.wait("^done")
    assert Path("mark").exists()
    assert "run(touch *)" in saved_rules()


def test_without_a_cursor_a_lasting_yes_takes_a_second_line() -> None:
    with start({"text": "", "calls": [TOUCH]}, "done", flags=("--plain",)) as terminal:
        terminal.wait("^> ?$")
        terminal.keys("go\r")
        terminal.wait("^5 yes, always")
        for _ in range(20):
            terminal.pump()
        terminal.keys("5\r")
        terminal.wait("Always allow run.touch .. in this project, saved in .*")
        terminal.keys("5\r")
        for _ in range(10):
            terminal.pump()
        assert not Path("mark").exists()
        terminal.keys("1\r")
        terminal.wait("^done")
    assert Path("mark").exists()
    assert saved_rules() == ""


def test_an_answer_for_all_edits_is_the_mode_and_ends_with_it() -> None:
    with start(write("a"), write("b"), "done") as terminal:
        terminal.wait("Shift.Tab")
        terminal.keys("go\r")
        terminal.wait("Answer with a number")
        terminal.keys("2")
        screen = terminal.wait("^done")
        assert "· mode edits" in screen
        terminal.wait(r"^\S+ · edits · \d+ turns? sent")
        terminal.keys("/permissions\r")
        assert "edit(" not in terminal.wait("^mode edits")
        terminal.keys("\x04")
        terminal.wait_for_exit()
    assert Path("b").exists()
    with start(write("c"), "done", flags=("-c",)) as terminal:
        terminal.wait("> go")
        terminal.keys("more\r")
        screen = terminal.wait("Answer with a number")
        assert "allowed in this session" not in screen
        assert re.search(r"^\S+ · ask · \d+ turns? sent", screen, re.MULTILINE)
        assert not Path("c").exists()


def test_escape_at_a_plan_is_told_alike_to_the_user_and_to_the_model() -> None:
    with start({"text": "", "calls": [PLAN]}, "done", flags=("--mode", "plan")) as terminal:
        terminal.wait("Shift.Tab")
        terminal.keys("go\r")
        terminal.wait("Answer with a number")
        for _ in range(20):
            terminal.pump(0.1)
        terminal.keys(ESC)
        screen = terminal.wait("stopped by you$")
    assert screen.count("● Plan") == 1, "the question and its end are one call"
    with closing(sqlite3.connect(Paths.find(os.environ).data / "swecli.db")) as database:
        [(result,)] = database.execute("select result from tool_call").fetchall()
    assert result == ("Stopped by the user, before the question was answered. Nothing was done.")
