"""Test telling whether what a command runs has changed; that it then does not run stands in the test of the tool."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.tools.base import ToolError
from swecli.tools.commands.scripts import check_unchanged, digest_scripts
from swecli.tools.guard import Guard


def test_a_command_that_only_reads_runs_no_script(root: Path) -> None:
    (root / "go.sh").touch()
    assert digest_scripts(Guard(root), "cat go.sh; grep x go.sh | sort", os.environ) == {}
    assert list(digest_scripts(Guard(root), "cat go.sh | sh", os.environ)) == ["go.sh"]


def test_what_a_command_writes_to_is_no_script(root: Path) -> None:
    for name in ("go.sh", "out", "errors", "both"):
        (root / name).touch()
    command = "sh go.sh > out 2>> errors; sh go.sh &> both"
    assert list(digest_scripts(Guard(root), command, os.environ)) == ["go.sh"]


def test_a_change_in_a_huge_script_is_seen(root: Path) -> None:
    script = root / "go.sh"
    script.touch()
    os.truncate(script, 60_000_000)  # it takes no room on the disk
    before = digest_scripts(Guard(root), "sh go.sh", os.environ)
    check_unchanged(before, digest_scripts(Guard(root), "sh go.sh", os.environ))
    os.truncate(script, 60_000_001)
    with pytest.raises(ToolError, match=r"go\.sh\. Nothing ran"):
        check_unchanged(before, digest_scripts(Guard(root), "sh go.sh", os.environ))


def test_a_command_that_cannot_be_parsed_or_is_too_long_is_looked_at_word_by_word(
    root: Path,
) -> None:
    (root / "go.sh").touch()
    for command in ("sh go.sh; echo 'open", f"sh go.sh; : {'x' * 10_000}"):
        assert list(digest_scripts(Guard(root), command, os.environ)) == ["go.sh"]
