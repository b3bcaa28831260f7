"""Test commands in workspaces of odd kinds: names, links, places, broken repositories; with real sandboxes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from swecli.models.errors import BadInput
from swecli.tools.base import ToolContext
from swecli.tools.git import read_state
from swecli.tools.permissions import Permissions
from swecli.tools.sandbox import Sandbox
from tests.tools.conftest import Answers, make_run

STARTS_A_PROGRAM = "core.fsmonitor"


class Workspace:
    """A folder in which commands run in the sandbox, where they may write, and without a question."""

    def __init__(self, root: Path) -> None:
        self.root = root
        ctx = ToolContext(root)
        self.sandbox = Sandbox("auto", root, ctx.commands.environ)
        if self.sandbox.problem:
            pytest.skip(f"no sandbox on this machine: {self.sandbox.problem}")
        ctx.commands.open_sandbox = lambda: self.sandbox
        self._answers = Answers()
        self._run = make_run(ctx, Permissions(mode="edits"), self._answers)

    async def run(self, command: str) -> str:
        """Return what the model gets of a command."""
        result = await self._run("run_command", command=command)
        assert self._answers.asked == []
        return result.for_model


def secret_in(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / ".env").write_text("KEY=kept\n")
    return root


@pytest.mark.parametrize(
    "name",
    [b"with  spaces ", b"new\nline", b"\xff\xfe", b'it\'s "quoted" $HOME `x` *', b"-rf", b"[a]"],
    ids=repr,
)
async def test_a_workspace_of_any_name_can_be_written_and_hides_its_secrets(
    tmp_path: Path, name: bytes
) -> None:
    workspace = Workspace(secret_in(tmp_path / os.fsdecode(name)))
    output = await workspace.run("echo x > made; grep -rh KEY .")
    assert (workspace.root / "made").read_text() == "x\n"
    assert "kept" not in output


async def test_a_workspace_that_is_a_link_is_the_folder_that_it_leads_to(tmp_path: Path) -> None:
    target = secret_in(tmp_path / "target")
    link = tmp_path / "link"
    link.symlink_to(target)
    workspace = Workspace(link)
    output = await workspace.run("echo x > made; grep -rh KEY . ; pwd")
    assert (target / "made").exists()
    assert str(target) in output
    assert "kept" not in output


async def test_a_workspace_in_memory_is_one_like_any_other() -> None:
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK):
        pytest.skip("this machine has no folder in memory")
    root = secret_in(place / f"swecli-test-{os.getpid()}")
    try:
        output = await Workspace(root).run("echo x > made; grep -rh KEY . ; cat made")
        assert (root / "made").exists()
        assert "kept" not in output
    finally:
        for path in root.iterdir():
            path.unlink()
        root.rmdir()


@pytest.mark.parametrize(
    "text",
    [b"", b"nonsense\0\xff", b"gitdir: a\0b", b"gitdir: /nowhere\n", b"gitdir: .git", b"x" * 9_000],
    ids=lambda text: repr(text[:20]),
)
async def test_a_git_file_that_names_nothing_fails_only_git(tmp_path: Path, text: bytes) -> None:
    (tmp_path / ".git").write_bytes(text)
    with pytest.raises(BadInput):
        read_state(tmp_path, os.environ, 5)
    output = await Workspace(tmp_path).run("echo x > made; git status")
    assert (tmp_path / "made").exists()
    assert "fatal: " in output


@pytest.mark.parametrize("name", [".git", "AGENTS.md", ".venv", "node_modules"])
@pytest.mark.parametrize("target", ["itself", "nowhere"])
async def test_a_protected_link_that_leads_nowhere_fails_no_command_and_is_kept(
    tmp_path: Path, name: str, target: str
) -> None:
    link = tmp_path / name
    link.symlink_to(name if target == "itself" else "nowhere")
    workspace = Workspace(tmp_path)
    assert "ran" in await workspace.run("echo ran; echo x > made")
    await workspace.run(f"rm {name}; git init -q x; mv x/.git {name}")
    assert link.is_symlink()
    if name == ".git":
        with pytest.raises(BadInput):
            read_state(tmp_path, os.environ, 5)


@pytest.mark.parametrize("target", [".env", "nowhere", "/proc/self/fd/0"])
async def test_a_secret_that_is_a_link_to_nothing_fails_no_command(
    tmp_path: Path, target: str
) -> None:
    (tmp_path / ".env").symlink_to(target)
    assert "ran" in await Workspace(tmp_path).run("echo ran; echo x > made")
    assert (tmp_path / "made").exists()


async def test_no_repository_of_ten_in_each_other_starts_a_program_afterwards(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / "/".join(["in"] * depth) for depth in range(10)]
    for folder in folders:
        folder.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    workspace = Workspace(tmp_path)
    settings = (
        f"for each in $(find . -name .git); do git -C $each/.. config {STARTS_A_PROGRAM} evil; done"
    )
    await workspace.run(settings)
    await workspace.run(f"mv in/in other; cp -r other in/in; {settings}; rm -rf other")
    for folder in folders:
        asked = subprocess.run(
            ["git", "config", "--get", STARTS_A_PROGRAM],
            cwd=folder,
            capture_output=True,
            check=False,
        )
        assert asked.stdout == b"", folder


async def test_two_sandboxes_in_one_workspace_do_not_disturb_each_other(tmp_path: Path) -> None:
    first, second = Workspace(secret_in(tmp_path)), Workspace(tmp_path)
    await first.run("echo first > /tmp/own; echo 1 > one")
    output = await second.run("cat /tmp/own; echo 2 > two; cat one")
    assert "No such file" in output
    first.sandbox.close()
    assert "2" in await second.run("cat two; grep -rh KEY .")
    assert (tmp_path / "two").exists()
