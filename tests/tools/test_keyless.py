"""Test that programs are noticed that wait for keys where there is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from swecli.models.message import ToolResult
from swecli.tools.base import ToolContext
from swecli.tools.environment import child_environment
from swecli.tools.processes import ProcessExit, run_group
from tests.tools.test_jobs import wait_for_job

RunTool = Callable[..., Awaitable[ToolResult]]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux has /proc")

# As vim does when its input has ended: it takes its error output for the keyboard.
WAITS_FOR_KEYS = "exec sleep 60 <&2"


async def run_shell(root: Path, command: str, timeout: float = 30) -> ProcessExit:
    return await run_group(
        ["/bin/sh", "-c", command],
        cwd=root,
        env=child_environment(None),
        timeout=timeout,
        on_output=lambda _: None,
    )


@pytest.mark.parametrize(
    "command",
    [
        WAITS_FOR_KEYS,
        f"({WAITS_FOR_KEYS}); echo after",
        f"({WAITS_FOR_KEYS}) 2>&1 | tail -3",
        f"setsid sh -c '{WAITS_FOR_KEYS}' & wait",
    ],
)
async def test_a_program_that_waits_for_keys_is_ended_and_named(root: Path, command: str) -> None:
    end = await run_shell(root, command)
    assert (end.reason, end.keyless) == ("keyless", "sleep")


@pytest.mark.parametrize(
    "waits_for_none",
    [
        "exec sleep 60",
        "exec sleep 60 2>/dev/null <&2",
        "mkfifo pipe; exec sleep 60 <>pipe",
        "sleep 60 | sleep 60",
    ],
)
async def test_a_program_that_only_takes_long_goes_on(root: Path, waits_for_none: str) -> None:
    end = await run_shell(root, waits_for_none, timeout=1)
    assert end.reason == "timeout"


async def test_the_model_is_told_what_waits_and_what_to_do(run: RunTool) -> None:
    result = await run("run_command", command=f"echo begun; {WAITS_FOR_KEYS}")
    assert not result.ok
    first, second, *output = result.for_model.splitlines()
    assert first == "stopped: sleep waits for keys, and there is no terminal here (exit code 143)"
    assert second.startswith(
        "[Give what it would ask for as an option, in a file or through a pipe"
    )
    assert output == ["begun"]
    assert "waits for keys" in result.for_user.title


async def test_the_end_of_a_background_command_that_waits_for_keys_says_so(
    run: RunTool, ctx: ToolContext
) -> None:
    await run("run_command", command=f"sleep 0.6; {WAITS_FOR_KEYS}", background=True)
    line = await wait_for_job(ctx)
    assert line.endswith(
        "stopped: sleep waits for keys, and there is no terminal here (exit code 143)"
    )
