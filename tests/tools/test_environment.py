"""Test the environment of commands and of what swecli starts itself."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from swecli.tools.base import ToolContext
from swecli.tools.environment import child_environment, reading_environment
from swecli.tools.git import run_git
from swecli.tools.permissions import Permissions
from swecli.tools.processes import run_group
from tests.tools.conftest import Answers, make_run


def test_what_the_user_gives_pytest_is_kept_where_nothing_can_be_written() -> None:
    env = reading_environment({"PYTEST_ADDOPTS": "-x"}, "/tmp")
    assert env["PYTEST_ADDOPTS"] == "-x -W ignore::pytest.PytestCacheWarning"


def test_the_child_environment_has_no_keys_of_models_and_no_pager() -> None:
    given = {
        "OPENAI_API_KEY": "x",
        "ANTHROPIC_AUTH_TOKEN": "x",
        "gemini_api_key": "x",
        "HF_TOKEN": "x",
        "AWS_BEARER_TOKEN_BEDROCK": "x",
        "MY_API_KEY": "kept",
        "OPENAI_BASE_URL": "kept",
        "PAGER": "less",
        "GH_PAGER": "less",
        "HOME": "/h",
    }
    env = child_environment(given)
    assert {k: v for k, v in env.items() if k in given} == {
        "MY_API_KEY": "kept",
        "OPENAI_BASE_URL": "kept",
        "PAGER": "cat",
        "GH_PAGER": "cat",
        "HOME": "/h",
    }
    assert (env["GIT_PAGER"], env["TERM"], env["GIT_OPTIONAL_LOCKS"]) == ("cat", "dumb", "0")


@pytest.mark.parametrize(
    "command",
    [
        "git commit",
        "git tag -a v1",
        "git rebase -i --root",
        'eval "$SVN_EDITOR a"',
        "git -c core.editor=cat commit",
    ],
)
async def test_an_editor_fails_at_once_with_words(root: Path, command: str) -> None:
    own = {"EDITOR": "cat", "GIT_EDITOR": "cat", "SVN_EDITOR": "cat", "HOME": str(root)}
    env = child_environment(os.environ | own)
    author = "git config user.name a; git config user.email a@b; "
    make = f"git init -q; {author}git commit -qm first --allow-empty; touch a; git add a; "
    output = bytearray()
    end = await run_group(
        ["/bin/sh", "-c", f"{make}{'git stash -q; ' if 'rebase' in command else ''}{command}"],
        cwd=root,
        env=env,
        timeout=20,
        on_output=output.extend,
    )
    assert end.reason == "exit"
    assert end.code != 0
    assert "No editor runs here: give the text as an option or in a file." in output.decode()


def make_repository(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)


@pytest.fixture
def in_hook(root: Path, tmp_path: Path) -> dict[str, str]:
    """Make a repository of the workspace, and return what git gives a hook of another one, by running one."""
    make_repository(root)
    other = tmp_path / "other"
    make_repository(other)
    hook = other / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\nenv -0 > {tmp_path}/variables\n")
    hook.chmod(0o755)
    (other / "a").touch()
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["add", "a"], [*author, "commit", "-qm", "first", "a"]):
        subprocess.run(["git", *words], cwd=other, check=True)
    variables = (tmp_path / "variables").read_text().split("\0")
    given = dict(variable.split("=", 1) for variable in variables if "=" in variable)
    assert "GIT_INDEX_FILE" in given
    return given | {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)}


async def test_a_command_works_on_the_repository_of_its_folder_also_in_a_hook(
    root: Path,
    ctx: ToolContext,
    permissions: Permissions,
    answers: Answers,
    in_hook: dict[str, str],
) -> None:
    (root / "b").touch()
    own = replace(ctx, commands=replace(ctx.commands, environ=in_hook))
    run = make_run(own, permissions, answers)
    result = await run(
        "run_command", command="git add b && git status --short && git rev-parse HEAD"
    )
    assert "A  b" in result.for_model
    assert "unknown revision" in result.for_model, "the workspace has no commit"


def test_our_own_calls_of_git_work_on_the_repository_of_their_folder(
    root: Path, in_hook: dict[str, str]
) -> None:
    top = run_git(root, "rev-parse", "--show-toplevel", environ=in_hook).strip()
    assert top == str(root)


def test_settings_that_a_user_gives_to_git_stay() -> None:
    given = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_SSH_COMMAND": "ssh -i key",
    }
    assert given.items() <= child_environment(given | os.environ).items()


def test_nothing_leads_to_the_editor_in_whose_terminal_swecli_runs() -> None:
    given = {
        "NVIM": "/run/nvim.1.0",
        "VSCODE_IPC_HOOK_CLI": "/run/x.sock",
        "VSCODE_GIT_IPC_HANDLE": "x",
    }
    assert not given.keys() & child_environment(given).keys()
