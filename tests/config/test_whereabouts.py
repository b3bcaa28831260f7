"""Test where a folder is said to be: its root, and the git folder that work trees share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from swecli.config.whereabouts import Whereabouts
from tests.support.repositories import git, make_repository


def test_a_subfolder_has_the_git_folder_of_its_repository(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "proj")
    (folder / "web").mkdir()
    where = Whereabouts.of(folder / "web")
    assert (where.root, where.holder, where.subfolder) == (folder, folder / ".git", "web")
    assert where.has_git


def test_work_trees_share_the_git_folder(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "proj")
    git(folder, "worktree", "add", "-q", str(tmp_path / "tree"))
    where = Whereabouts.of(tmp_path / "tree")
    assert (where.root, where.holder) == (tmp_path / "tree", folder / ".git")


def test_a_shallow_clone_is_told(tmp_path: Path) -> None:
    make_repository(tmp_path / "proj")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}/proj", "shallow")
    assert Whereabouts.of(tmp_path / "shallow").is_shallow
    assert not Whereabouts.of(tmp_path / "proj").is_shallow


@pytest.mark.parametrize("kind", ["pipe", "loop", "folder"])
def test_a_git_entry_that_is_none_makes_no_repository(tmp_path: Path, kind: str) -> None:
    entry = tmp_path / ".git"
    if kind == "pipe":
        os.mkfifo(entry)
    elif kind == "loop":
        entry.symlink_to(entry)
    else:
        entry.mkdir()
    where = Whereabouts.of(tmp_path)
    assert not where.has_git
    assert where.inode == tmp_path.stat().st_ino


def test_what_has_been_in_a_folder_is_told_by_its_time(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    where = Whereabouts.of(tmp_path)
    made_at = (tmp_path / "a").stat().st_ctime
    assert where.holds_since(made_at)
    assert not where.holds_since(made_at - 1)
