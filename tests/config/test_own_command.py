"""Test the command that is named to start swecli again."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

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
    assert own_command(module, script.parents[1], None, anywhere=True) == str(script)


def test_a_path_that_was_typed_is_named_as_it_was_unless_it_must_hold_anywhere(
    tmp_path: Path,
) -> None:
    program = tmp_path / "scripts" / "start"
    assert own_command("./scripts/start", tmp_path, None) == "./scripts/start"
    assert own_command("./scripts/start", tmp_path, None, anywhere=True) == str(program)
    assert own_command("../a b/swecli", tmp_path, None) == "'../a b/swecli'"
    assert own_command("start", program.parent, None) == str(program), "as for `sh start`"


def test_a_module_is_named_by_the_python_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site-packages" / "swecli"
    module = str(package / "__main__.py")

    def named(search_path: Path) -> str:
        return own_command(module, tmp_path, str(search_path), package=package)

    environment = tmp_path / "environment"
    system = tmp_path / "system"
    for folder in (environment, system):
        folder.mkdir()
        (folder / "python3").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(environment / "python3"))
    assert named(environment) == "python3 -m swecli"
    assert named(system) == f"{environment}/python3 -m swecli", "that one lacks the package"
    assert named(tmp_path / "nothing") == f"{environment}/python3 -m swecli"
