"""Test that a job cannot change or read what the user saved by rename while it runs; with real sandboxes."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from swecli.tools.base import ToolContext
from swecli.tools.permissions import Permissions
from swecli.tools.sandbox import Sandbox
from tests.tools.conftest import RunTool

JOB = """touch begun; until [ -e again ]; do sleep 0.05; done
echo evil >> docs/$(echo dm.STNEGA | rev); cat $(echo vne. | rev); true"""


async def test_a_job_neither_writes_nor_reads_what_was_saved_by_rename(
    run: RunTool, ctx: ToolContext, root: Path, permissions: Permissions
) -> None:
    sandbox = Sandbox("auto", root, ctx.commands.environ)
    ctx.commands.open_sandbox = lambda: sandbox
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    permissions.mode = "edits"
    (root / "docs").mkdir()
    files = [root / "docs/AGENTS.md", root / ".env"]
    for file in files:
        file.write_text("first\n")
    await run("run_command", command=JOB, background=True)
    while not (root / "begun").exists():
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)  # the sandbox is looked at five times a second
    for file in files:
        saved = file.with_name("saved")
        saved.write_text("by the user\n")
        saved.replace(file)
    await asyncio.sleep(1.5)
    (root / "again").touch()
    [job] = ctx.commands.jobs.all
    await asyncio.wait({job.task})
    assert [file.read_text() for file in files] == ["by the user\n"] * 2
    assert "by the user" not in job.text
    assert "another program saved these while it ran" in job.text
    assert "Look at: .env, docs/AGENTS.md" in job.text


SETTING = "printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config"


async def test_a_job_writes_no_settings_of_git_in_the_moment_in_which_the_user_does(
    run: RunTool, ctx: ToolContext, root: Path, permissions: Permissions
) -> None:
    sandbox = Sandbox("auto", root, ctx.commands.environ)
    ctx.commands.open_sandbox = lambda: sandbox
    if sandbox.problem:
        pytest.skip(f"no sandbox on this machine: {sandbox.problem}")
    permissions.mode = "edits"
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    job = f"touch begun; for i in $(seq 60); do {SETTING}; sleep 0.02; done; git add begun"
    await run("run_command", command=job, background=True)
    while not (root / "begun").exists():
        await asyncio.sleep(0.02)
    for number in range(5):
        words = ["git", "config", "user.name", f"user {number}"]
        await asyncio.to_thread(subprocess.run, words, cwd=root, check=True)
        await asyncio.sleep(0.1)
    [running] = ctx.commands.jobs.all
    await asyncio.wait({running.task})
    assert "evil" not in (root / ".git/config").read_text()
    assert "index.lock': Read-only file system" in running.text
