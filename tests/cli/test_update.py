"""Test that the command which updates an installation is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from swecli.cli.update import update_hint
from tests.support.shell import Run


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("pipx_metadata.json", "pipx upgrade swecli"),
        ("uv-receipt.toml", "uv tool upgrade swecli"),
        ("pyvenv.cfg", "python -m pip install --upgrade swecli"),
    ],
)
def test_an_installed_copy_is_updated_by_what_installed_it(
    tmp_path: Path, receipt: str, command: str
) -> None:
    (tmp_path / receipt).touch()
    assert update_hint(tmp_path / "lib" / "swecli", tmp_path).endswith(command)


def test_a_clone_is_updated_by_git(run: Run) -> None:
    outcome = run("--check-update")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("swecli ")
    assert "To update it: git -C /" in outcome.out
