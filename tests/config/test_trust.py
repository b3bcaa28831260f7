"""Test that a folder is trusted only after the user has agreed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.config.paths import Paths, project_root
from swecli.models.errors import BadInput


@pytest.fixture
def paths() -> Paths:
    return Paths.find(os.environ)


def test_a_folder_is_not_trusted_by_default(paths: Paths) -> None:
    assert not paths.is_trusted(Path.cwd())


def test_trust_is_stored_for_a_folder_and_its_subfolders(paths: Paths, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    (folder / "b").mkdir(parents=True)
    paths.trust(folder)
    paths.trust(folder)
    assert paths.is_trusted(folder)
    assert paths.is_trusted(folder / "b")
    assert not paths.is_trusted(tmp_path)
    assert not paths.is_trusted(tmp_path / "ab")
    assert paths.trusted.read_text() == f"{folder}\n"
    assert paths.trusted.stat().st_mode & 0o777 == 0o600


def test_trusting_a_symlink_trusts_its_target(paths: Paths, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    paths.trust(tmp_path / "link")
    assert paths.is_trusted(tmp_path / "real")


@pytest.mark.parametrize(
    "name", ["übung", "a b", " a ", "x\u2028y", "x\x0by", os.fsdecode(b"\xff")]
)
def test_a_folder_with_an_unusual_name_can_be_trusted(
    paths: Paths, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    paths.trust(folder)
    assert paths.is_trusted(folder)
    assert not paths.is_trusted(tmp_path / "y")


def test_a_newline_in_a_name_cannot_add_another_folder(paths: Paths, tmp_path: Path) -> None:
    folder = tmp_path / f"x\n{tmp_path}"
    folder.mkdir(parents=True)
    with pytest.raises(BadInput, match="cannot be trusted"):
        paths.trust(folder)
    assert not paths.is_trusted(tmp_path)


def test_a_trust_list_that_cannot_be_read_trusts_no_folder(paths: Paths) -> None:
    paths.trusted.mkdir(parents=True)
    assert not paths.is_trusted(Path.cwd())


def test_the_project_root_is_the_enclosing_repository_or_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()
    assert project_root(tmp_path / "repo" / "src") == tmp_path / "repo"
    assert project_root(tmp_path / "repo") == tmp_path / "repo"
    assert project_root(Path.cwd()) == Path.cwd()


def test_a_git_file_of_a_worktree_marks_a_project_root(tmp_path: Path) -> None:
    (tmp_path / "tree" / "src").mkdir(parents=True)
    (tmp_path / "tree" / ".git").write_text("gitdir: elsewhere")
    assert project_root(tmp_path / "tree" / "src") == tmp_path / "tree"
