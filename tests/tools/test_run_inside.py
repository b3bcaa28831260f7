"""Test that a command runs in the sandbox once, or is said not to have run; with real sandboxes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from swecli.tools.base import ToolError
from swecli.tools.guard import Guard
from swecli.tools.run_inside import run_inside
from swecli.tools.sandbox import GuardedFiles, Profile, Sandbox


class Overtaken(Sandbox):
    """A sandbox whose hidden file another program removes just before the mount."""

    def options(
        self,
        profile: Profile,
        guarded: GuardedFiles,
        **more: Any,
    ) -> list[str]:
        found = super().options(profile, guarded, **more)
        (self.root / ".env").unlink(missing_ok=True)
        return found


class Unmakable(Sandbox):
    """A sandbox that bubblewrap cannot make."""

    def options(
        self,
        profile: Profile,
        guarded: GuardedFiles,
        **more: Any,
    ) -> list[str]:
        return [
            *super().options(profile, guarded, **more),
            "--ro-bind",
            "/nowhere",
            "/nowhere",
        ]


async def run(sandbox: Sandbox, script: str) -> tuple[int, str]:
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    output = bytearray()
    argv = ["/bin/sh", "-c", script]
    end = await run_inside(
        sandbox,
        Guard(sandbox.root),
        "read-only",
        argv,
        env=os.environ,
        timeout=20,
        on_output=output.extend,
    )
    return end.code, output.decode()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / ".env").write_text("KEY=1\n")
    return tmp_path


async def test_a_file_that_vanishes_before_its_mount_does_not_fail_the_command(root: Path) -> None:
    sandbox = Overtaken("auto", root, os.environ)
    assert await run(sandbox, "echo ran; exit 3") == (3, "ran\n")


async def test_a_command_that_gets_no_sandbox_is_said_not_to_have_run(root: Path) -> None:
    with pytest.raises(ToolError, match=r"was not run, because no sandbox .*: bwrap: .*/nowhere"):
        await run(Unmakable("auto", root, os.environ), "echo ran")


async def test_output_in_the_words_of_bubblewrap_is_the_commands_own(root: Path) -> None:
    sandbox = Sandbox("auto", root, os.environ)
    script = "echo 'bwrap: not really'; echo more; exit 1"
    assert await run(sandbox, script) == (1, "bwrap: not really\nmore\n")


async def test_a_command_does_not_see_where_bubblewrap_reports(root: Path) -> None:
    sandbox = Sandbox("auto", root, os.environ)
    code, output = await run(sandbox, "ls /proc/self/fd")
    assert (code, output.split()) == (0, ["0", "1", "2", "3"]), "3 is of ls itself"
