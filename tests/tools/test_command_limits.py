"""Test what a command in the sandbox may use up; with real sandboxes."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import pytest

from swecli.tools.base import ToolContext
from swecli.tools.command_limits import reached_limits
from swecli.tools.permissions import Permissions
from swecli.tools.sandbox import Sandbox
from tests.support.processes import processes_running
from tests.tools.conftest import RunTool
from tests.tools.test_processes import has_ended

STARTS = """
import threading, time
for _ in range(100):
    threading.Thread(target=time.sleep, args=[9], daemon=True).start()
"""
OPENS = "files = [open('/dev/null') for _ in range(100_000)]"


@pytest.fixture
def program(ctx: ToolContext, root: Path, permissions: Permissions) -> str:
    """Let the commands of the context run in a sandbox, and return the interpreter that they see."""
    made = Sandbox("auto", root, ctx.commands.environ)
    if made.problem:
        pytest.skip(f"no sandbox on this machine: {made.problem}")
    ctx.commands.open_sandbox = lambda: made
    permissions.mode = "auto"
    return sys.executable


async def test_a_program_that_starts_ever_more_processes_is_told_of_the_limit(
    run: RunTool, root: Path, program: str
) -> None:
    if os.geteuid() == 0:
        pytest.skip("the kernel does not limit the processes of root")
    (root / "starts.py").write_text(STARTS)
    # a lower one: it takes half a minute to start as many
    result = await run("run_command", command=f"ulimit -u; ulimit -u 50; {program} starts.py")
    assert "4915" in result.for_model.splitlines()
    assert "4,915 processes and threads at once]" in result.for_model


async def test_a_command_that_forks_for_ever_is_ended_with_all_it_started(
    run: RunTool, program: str
) -> None:
    if os.geteuid() == 0:
        pytest.skip("the kernel does not limit the processes of root")
    # a lower limit, as above
    command = "ulimit -u 60; forever() { forever | forever & }; forever; sleep 1"
    result = await run("run_command", command=command)
    assert "Resource temporarily unavailable" in result.for_model
    assert all([await has_ended(pid) for pid in processes_running("forever | forever")])


async def test_a_program_that_opens_ever_more_files_is_told_of_the_limit(
    run: RunTool, root: Path, program: str
) -> None:
    (root / "opens.py").write_text(f"import resource\n{OPENS}")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    raises = "ulimit -n $(ulimit -Hn); ulimit -n; "
    result = await run("run_command", command=f"{raises}{program} opens.py")
    assert str(min(hard, 65_535)) in result.for_model.splitlines()
    assert "65,535 open files in a process]" in result.for_model
    allowed = await run("run_command", command="ulimit -Sn")
    assert str(min(soft, 65_535)) in allowed.for_model.splitlines(), "the soft limit stays"


async def test_one_file_cannot_fill_the_disk(run: RunTool, program: str) -> None:
    result = await run("run_command", command="truncate -s 100T large", access="write")
    assert not result.ok
    assert "half of the free disk for one file]" in result.for_model


async def test_no_command_leaves_a_core_file(run: RunTool, program: str) -> None:
    assert (await run("run_command", command="ulimit -c")).for_model.endswith("\n0")


async def test_a_command_is_the_first_that_the_kernel_ends_without_memory(
    run: RunTool, program: str
) -> None:
    result = await run("run_command", command="cat /proc/self/oom_score_adj")
    assert result.for_model.endswith("1000")


def test_a_command_that_ends_for_another_reason_is_told_of_no_limit() -> None:
    assert reached_limits("AssertionError: 1 != 2", 1) == ""
    assert "open files" in reached_limits("EMFILE: too many open files", 1)
    assert "half of the free disk" in reached_limits("", 153)
