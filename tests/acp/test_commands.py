"""Test the slash commands of an editor, without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.acp.commands import EditorCommands, to_markdown
from swecli.config.paths import Paths
from swecli.config.trust import FolderTrust
from swecli.models.action import ActionResult
from swecli.models.errors import UsageError
from swecli.models.events import Notice


@pytest.fixture(scope="module")
def commands() -> EditorCommands:
    return EditorCommands.find(FolderTrust(Path()), Paths.find({"SWECLI_HOME": "home"}))


def test_a_command_is_found_by_its_name_and_its_other_names(commands: EditorCommands) -> None:
    assert commands.get("Context") is commands.get("context")
    assert commands.get("title") is commands.get("rename")


def test_a_mistyped_command_is_not_sent_and_similar_ones_are_named(
    commands: EditorCommands,
) -> None:
    with pytest.raises(UsageError) as caught:
        commands.get("playbok")
    assert "/playbook" in caught.value.hint


def test_each_command_is_described_with_what_may_follow(commands: EditorCommands) -> None:
    described = {command.name: command for command in commands.describe()}
    assert described["stats"].description.startswith("Show the tokens and cost")
    hint = described["findings"].input
    assert hint is not None
    assert "list" in hint.root.hint
    assert "walk" not in hint.root.hint, "it needs a screen"


def test_a_result_is_markdown_that_shows_signs_as_they_are() -> None:
    result = ActionResult(
        None,
        ("one *line*",),
        head=("name", "what"),
        rows=(("a|b", "two\nlines"),),
        note="a `note`",
        events=(Notice("it <happened>"),),
    )
    assert to_markdown(result).splitlines() == [
        "| name | what |",
        "| --- | --- |",
        "| a\\|b | two lines |",
        "",
        "one \\*line\\*",
        "",
        "a \\`note\\`",
        "",
        "it \\<happened>",
    ]


def test_lines_that_stand_below_one_another_keep_their_columns() -> None:
    assert to_markdown(ActionResult(None, ("a  1", "b  2"))) == "```\na  1\nb  2\n```\n"
