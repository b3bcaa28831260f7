"""Test the user's own status line in a real pseudo-terminal."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow


def write_settings(text: str) -> None:
    home = Path(os.environ["SWECLI_HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text(text)


def test_a_template_shows_the_figures_while_turns_run() -> None:
    subprocess.run(["git", "init", "-q", "-b", "topic"], check=True)
    write_settings('status_line = "{branch} · {model} · {turns} turns · {mode} · {jobs}"\n')
    with Terminal("-m", "demo") as terminal:
        terminal.wait(r"^topic · demo · 0 turns · ask$")
        terminal.keys("\x1b[Z")
        terminal.wait(r"· edits$")
        Path("notes.txt").write_text("alpha\n")
        terminal.keys("read notes.txt\r")
        terminal.wait("no cost")
        terminal.wait(r"^topic · demo · 1 turns · edits$")
        terminal.keys("x\x03")
        terminal.wait("^Press Ctrl")


def test_a_command_gets_the_figures_and_a_failure_is_said_once_with_the_own_line_instead() -> None:
    write_settings("status_command = \"test -e broken && exit 4; tr -d '{}' | cut -c1-30\"\n")
    with Terminal("-m", "demo") as terminal:
        terminal.wait(r'^"model": "demo", "mode": "ask"')
        terminal.keys("\x1b[Z")
        terminal.wait(r'^"model": "demo", "mode": "edit')
        Path("broken").touch()
        terminal.keys("\x1b[Z")
        terminal.wait(r"^demo · plan · \d+ turns? sent")
        terminal.keys("\x1b[Z")
        terminal.wait(r"^demo · ask · \d+ turns? sent")
        assert terminal.text.count("status_command failed: exit code 4") == 1
