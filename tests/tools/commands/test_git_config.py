"""Test finding the programs that a repository's configuration could make git run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from swecli.tools.commands.rules import why_uncovered
from swecli.tools.git import find_program_risk, read_only_environment
from swecli.tools.guard import Guard


@pytest.fixture
def repository(root: Path) -> Path:
    (root / "a").write_text("x\n")
    for words in (
        ("init", "-q", "-b", "main"),
        ("add", "a"),
        ("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"),
    ):
        git(root, *words)
    return root


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


@pytest.mark.parametrize(
    "key",
    [
        "core.fsmonitor", "core.hooksPath", "core.pager", "core.editor", "core.sshCommand", "core.worktree",
        "pager.log",
        "diff.external", "diff.x.command", "diff.x.textconv", "filter.x.clean", "filter.x.process", "merge.x.driver",
        "alias.st", "include.path", "includeIf.gitdir:/.path", "credential.helper", "gpg.program", "sequence.editor",
        "remote.origin.uploadpack", "interactive.diffFilter", "diff.tool", "no.such",
    ],
)  # fmt: skip
def test_git_requires_approval_in_a_repository_that_configures_a_program(
    repository: Path, key: str
) -> None:
    assert why_uncovered("git status", Guard(repository), os.environ) == ""
    git(repository, "config", key, "./evil")
    for command in ("git status", "git log", "git diff", "git branch | cat"):
        assert "configuration" in why_uncovered(command, Guard(repository), os.environ)
        assert why_uncovered(command, Guard(repository), os.environ, ["git *"]) == ""


def test_git_needs_no_approval_with_common_settings(repository: Path) -> None:
    for key, value in {
        "remote.origin.url": "https://example.org/x", "remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*",
        "branch.main.remote": "origin", "branch.main.merge": "refs/heads/main", "user.name": "a",
        "core.autocrlf": "input",
        "pull.rebase": "true", "submodule.x.url": "https://example.org/y", "diff.algorithm": "histogram",
    }.items():  # fmt: skip
        git(repository, "config", key, value)
    assert why_uncovered("git status && git diff", Guard(repository), os.environ) == ""


def test_a_diff_driver_of_the_user_requires_approval_only_for_diffs(
    repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "gitconfig").write_text(
        '[diff]\n\texternal = difft\n[filter "lfs"]\n\tclean = git-lfs clean\n'
    )
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig")}
    assert "diff.external" in why_uncovered("git diff", Guard(repository), environ)
    assert why_uncovered("git status", Guard(repository), environ) == ""


def test_submodules_require_approval_only_for_commands_that_enter_them(repository: Path) -> None:
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},inner")
    assert "submodules" in why_uncovered("git status", Guard(repository), os.environ)
    assert why_uncovered("git log", Guard(repository), os.environ) == ""


def test_a_nested_repository_is_checked_when_git_runs_in_it(repository: Path) -> None:
    (repository / "below").mkdir()
    git(repository / "below", "init", "-q")
    git(repository / "below", "config", "core.fsmonitor", "./evil")
    assert "core.fsmonitor" in why_uncovered(
        "cd below && git status", Guard(repository), os.environ
    )
    assert why_uncovered("git status", Guard(repository), os.environ) == ""


def test_unreadable_git_configuration_requires_approval(repository: Path) -> None:
    (repository / ".git" / "config").write_text("[core\n")
    assert (
        find_program_risk(repository, os.environ, diffs=False, work_tree=False)
        == "git's configuration cannot be read"
    )


def test_the_read_only_environment_overrides_the_repository_and_keeps_settings_of_the_user(
    repository: Path,
) -> None:
    evil = repository / "evil"
    evil.write_text("#!/bin/sh\ntouch made\n")
    evil.chmod(0o755)
    git(repository, "config", "core.fsmonitor", "./evil")
    own = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "me"}
    environ = read_only_environment({**os.environ, **own})
    for words in (["status"], ["diff"]):
        subprocess.run(
            ["git", *words], cwd=repository, env=environ, check=True, capture_output=True
        )
    assert not (repository / "made").exists()
    name = subprocess.run(
        ["git", "config", "user.name"], cwd=repository, env=environ, check=True, capture_output=True
    )
    assert name.stdout == b"me\n"
