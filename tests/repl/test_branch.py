"""Test the branch that the status line shows, with real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from swecli.repl.branch import read_branch


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    command = ["git", *identity, *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def make_repository(folder: Path) -> Path:
    git(folder, "init", "-q", "-b", "feature/long-name")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_the_branch_is_that_of_the_repository_around_the_folder(tmp_path: Path) -> None:
    make_repository(tmp_path)
    inside = tmp_path / "src" / "deep"
    inside.mkdir(parents=True)
    assert read_branch(inside) == "feature/long-name"


def test_a_detached_head_is_shown_by_its_commit_and_a_worktree_by_its_own_branch(
    tmp_path: Path,
) -> None:
    main = tmp_path / "main"
    main.mkdir()
    make_repository(main)
    git(main, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert read_branch(tmp_path / "tree") == "other"
    git(main, "checkout", "-q", "--detach")
    assert read_branch(main) == git(main, "rev-parse", "--short=7", "HEAD").strip()


def test_a_strange_head_blocks_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert read_branch(tmp_path) == ""
