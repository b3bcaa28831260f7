"""Test the command that is named to start swecli again."""

from __future__ import annotations

import os
from pathlib import Path

from swecli.config.own_command import find_start_script, own_command


def installed(folder: Path) -> Path:
    program = folder / "bin" / "swecli"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_an_installed_command_on_the_path_is_named_alone(tmp_path: Path) -> None:
    program = installed(tmp_path)
    assert own_command(str(program), tmp_path, str(program.parent)) == "swecli"


def test_an_installed_command_that_the_shell_does_not_find_is_named_whole(tmp_path: Path) -> None:
    program = installed(tmp_path)
    assert own_command(str(program), tmp_path, os.defpath) == str(program)


def test_a_checkout_is_started_by_its_script_as_seen_from_the_folder(tmp_path: Path) -> None:
    script = find_start_script()
    assert script is not None
    module = str(script.parents[1] / "swecli" / "__main__.py")
    assert own_command(module, script.parents[1], None) == "./scripts/start"
    assert own_command(module, tmp_path, None) == str(script)
