"""Test that the program names a command that exists: the one by which it was started."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shell import ROOT
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow


def install(folder: Path) -> Path:
    """Install the command into a folder, as a wheel does: the script beside a Python that has the package."""
    folder.mkdir(parents=True)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    shutil.copy(ROOT / "scripts" / "swecli", folder / "swecli")
    return folder / "swecli"


def last_line(command: str, search_path: str) -> str:
    """Return what a session says at its end that a shell with this PATH started by `command`."""
    line = f"exec {command} -m demo"
    environ = {"PATH": search_path, "SWECLI_LEARN": "0"}
    with Terminal("-c", line, columns=200, environ=environ, command=("/bin/sh",)) as terminal:
        terminal.wait("Shift.Tab")
        terminal.keys("hello\r")
        terminal.wait("no cost")
        terminal.keys("!env\r")
        assert "SWECLI_STARTED_AS" not in terminal.wait("will be sent")
        terminal.keys("\x04")
        screen = terminal.wait(".* -c -m demo continues this session")
    found = re.search("(.*) -c -m demo continues this session", screen)
    assert found is not None
    return found[1]


def test_a_command_on_the_path_is_named_alone(tmp_path: Path) -> None:
    program = install(tmp_path / "tool" / "bin")
    assert last_line("swecli", f"{program.parent}:{os.defpath}") == "swecli"


def test_so_is_a_link_to_it_by_its_own_name(tmp_path: Path) -> None:
    program = install(tmp_path / "tool" / "bin")
    links = tmp_path / "links"
    links.mkdir()
    (links / "sw").symlink_to(program)
    assert last_line("sw", f"{links}:{os.defpath}") == "sw"


def test_a_command_elsewhere_is_named_so_that_a_shell_finds_it(tmp_path: Path) -> None:
    program = install(tmp_path / "my tools" / "bin")
    named = last_line(shlex.quote(str(program)), os.defpath)
    shown = subprocess.run(
        ["/bin/sh", "-c", f"{named} --version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout.startswith("swecli ")


def test_another_command_of_the_same_name_on_the_path_is_not_taken_for_it(tmp_path: Path) -> None:
    program = install(tmp_path / "one")
    other = install(tmp_path / "two")
    search_path = f"{other.parent}:{os.defpath}"
    assert last_line(str(program), search_path) == str(program)
