"""Test the last line of a session: the command it names continues that session."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.shell import Run
from tests.support.terminal import Terminal


def leave(*arguments: str, lines: tuple[str, ...] = ("list files",)) -> list[str]:
    """Hold a session, and return the flags that its last line names."""
    with Terminal(*arguments, "-m", "demo", columns=200) as terminal:
        terminal.wait("/help for commands")
        terminal.wait("^> *$")
        for line in lines:
            terminal.keys(f"{line}\r")
            terminal.wait(rf"^> {re.escape(line)}$")
        terminal.keys("/exit\r")
        assert terminal.wait_for_exit() == 0
        found = re.search("^(.+) continues this session$", terminal.text, re.MULTILINE)
        assert found, terminal.text
    words = shlex.split(found[1])
    first = next(number for number, word in enumerate(words) if word in ("-c", "-r"))
    return words[first:]


def turns_of(run: Run, *flags: str) -> list[int]:
    """Return how many turns each stored session has, newest first."""
    return [
        row["interactions"] for row in json.loads(run("sessions", "list", "--json", *flags).out)
    ]


@pytest.mark.slow
def test_the_newest_session_of_the_folder_is_continued_with_c_and_by_the_model_of_the_flag(
    run: Run,
) -> None:
    words = leave()
    assert words == ["-c", "-m", "demo"]
    run(*words, "-p", "hello")
    assert turns_of(run) == [2]


@pytest.mark.slow
def test_a_session_of_another_folder_and_database_is_continued_there(run: Run) -> None:
    Path("elsewhere").mkdir()
    words = leave("-C", "elsewhere", "--db", "own.db")
    run(*words, "-p", "hello")
    assert turns_of(run, "--db", "own.db") == [2]


@pytest.mark.slow
def test_an_older_session_is_continued_by_its_name(run: Run) -> None:
    leave(lines=("list files", "/rename my work"))
    leave()
    words = leave("-r", "my work", lines=())
    assert words == ["-r", "my work", "-m", "demo"]
    run(*words, "-p", "hello")
    assert turns_of(run) == [2, 1]


@pytest.mark.slow
def test_a_session_whose_folder_was_removed_meanwhile_ends_like_any_other(tmp_path: Path) -> None:
    folder = tmp_path / "removed"
    folder.mkdir()
    swecli = f"{shlex.quote(sys.executable)} -m swecli -m demo"
    command = ("/bin/sh", "-c", f"cd {shlex.quote(str(folder))} && exec {swecli}")
    with Terminal(columns=200, command=command) as terminal:
        terminal.wait("^> *$")
        terminal.keys("hello\r")
        terminal.wait("^> hello$")
        shutil.rmtree(folder)
        terminal.keys("/exit\r")
        assert terminal.wait_for_exit() == 0
        assert re.search("^.*-c -m demo continues this session$", terminal.text, re.MULTILINE)
