"""Test the answers to commands of other assistants."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from swecli.repl import commands as commands_here
from swecli.repl.commands.familiar import familiar_command, is_untrusted_command
from swecli.repl.commands.registry import CommandTable
from tests.support.screenless import play

NAMES = sorted(tomllib.loads(files(commands_here).joinpath("familiar.toml").read_text("utf-8")))


@pytest.mark.parametrize("name", ["agents", "TASKS", *NAMES])
def test_a_command_of_another_assistant_is_answered_with_a_command_that_exists(name: str) -> None:
    answer = familiar_command(name)
    commands = CommandTable.discover()
    named = re.findall(r"(?<![\w/.])/([a-z]+)(?![\w/])", answer)
    assert answer
    assert [word for word in named if commands.find(word) is None] == []
    assert commands.find(name) is None


def test_a_name_that_nobody_has_gets_no_answer() -> None:
    assert familiar_command("frobnicate") == ""


async def test_the_answer_is_shown_and_nothing_is_sent() -> None:
    played = await play("/settings\rexit\r")
    assert "There is no /settings here" in played.text
    assert "/config" in played.text
    assert played.model.requests == []


def test_a_command_of_the_folder_is_known_before_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "fix.md").write_text("fix it")
    assert is_untrusted_command("fix", tmp_path)
    assert not is_untrusted_command("test", tmp_path)
