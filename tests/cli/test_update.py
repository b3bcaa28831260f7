"""Test that the command which updates an installation is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from swecli.cli.update import update_hint
from tests.support.shell import Run


def install(prefix: Path, receipt: str, source: Mapping[str, object] | None = None) -> Path:
    """Make what an installer leaves behind, and return the folder of the package."""
    (prefix / receipt).touch()
    package = prefix / "lib" / "swecli"
    metadata = prefix / "lib" / "swecli-0.2.0.dist-info"
    metadata.mkdir(parents=True)
    if source is not None:
        (metadata / "direct_url.json").write_text(json.dumps(source))
    return package


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("pipx_metadata.json", "pipx upgrade swecli"),
        ("uv-receipt.toml", "uv tool upgrade swecli"),
        ("pyvenv.cfg", "python -m pip install --upgrade swecli"),
    ],
)
def test_what_came_from_an_index_is_updated_by_its_name(
    tmp_path: Path, receipt: str, command: str
) -> None:
    package = install(tmp_path, receipt)
    assert update_hint(package, tmp_path).endswith(command)


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("pipx_metadata.json", "pipx install --force NEWER-WHEEL"),
        ("uv-receipt.toml", "uv tool install --force --reinstall NEWER-WHEEL"),
        ("pyvenv.cfg", "python -m pip install --upgrade NEWER-WHEEL"),
    ],
)
def test_what_came_from_a_wheel_is_updated_by_a_newer_one(
    tmp_path: Path, receipt: str, command: str
) -> None:
    source = {"url": "file:///a%20b/swecli-0.2.0-py3-none-any.whl", "archive_info": {}}
    hint = update_hint(install(tmp_path, receipt, source), tmp_path)
    assert "installed from /a b/swecli-0.2.0-py3-none-any.whl." in hint
    assert hint.endswith(command)


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("pipx_metadata.json", "pipx install --force"),
        ("uv-receipt.toml", "uv tool install --force --reinstall"),
        ("pyvenv.cfg", "python -m pip install --upgrade"),
    ],
)
def test_what_came_from_a_clone_is_installed_from_it_again(
    tmp_path: Path, receipt: str, command: str
) -> None:
    clone = tmp_path / "clone"
    (clone / ".git").mkdir(parents=True)
    package = install(tmp_path, receipt, {"url": clone.as_uri(), "dir_info": {}})
    hint = update_hint(package, tmp_path)
    assert f"To update it: git -C {clone} pull && " in hint
    assert hint.endswith(f"{command} {clone}")


def test_what_pip_installed_from_a_repository_is_installed_from_there_again(tmp_path: Path) -> None:
    source = {
        "url": "https://git.example.org/swecli",
        "vcs_info": {"vcs": "git", "commit_id": "0" * 40},
    }
    hint = update_hint(install(tmp_path, "pyvenv.cfg", source), tmp_path)
    assert hint.endswith("pip install --upgrade git+https://git.example.org/swecli")


def test_a_clone_is_updated_by_git(run: Run) -> None:
    outcome = run("--check-update")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("swecli ")
    assert "To update it: git -C /" in outcome.out
