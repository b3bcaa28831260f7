"""Run, as an ordinary user, a command that leaves a process of root, which that user cannot end.

As a program, and as root: `python -m tests.support.unstoppable USER` prints what the model reads, as JSON.
"""

from __future__ import annotations

import ctypes  # noqa: F401  now: an ordinary user may not be able to read it later
import os
import shutil
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from swecli.models.approval import AskRequest, Decision
from swecli.models.message import ToolCall
from swecli.tools.base import CommandAccess, ToolContext
from swecli.tools.execute import execute
from swecli.tools.permissions import Permissions
from swecli.tools.registry import ToolRegistry
from tests.support.as_user import print_as_user

SECONDS = "47110816"  # that the process sleeps: nobody else has them on a command line
_HELPER = "become-root"
_REGISTRY = ToolRegistry.discover()
_REGISTRY.load()  # now: an ordinary user may not be able to read the files later


def make_helper(base: Path) -> None:
    """Make a program in the folder that becomes root, whoever starts it."""
    program = shutil.which("setpriv")
    if program is None:
        raise SystemExit("no setpriv, which becomes another user")
    if os.statvfs(base).f_flag & os.ST_NOSUID:
        raise SystemExit("no program may become another user here")
    helper = Path(shutil.copy(program, base / _HELPER))
    helper.chmod(0o4755)


async def run(base: Path) -> list[dict[str, Any]]:
    """Run the command as a tool, and return what the model reads as the only row."""
    root = f"./{_HELPER} --reuid 0 --clear-groups sleep {SECONDS}"
    call = ToolCall(
        "1", "run_command", {"command": f"setsid {root} >/dev/null 2>&1 & sleep 1; echo done"}
    )
    ctx = ToolContext(base, commands=CommandAccess(20, dict(os.environ)))
    result, _ = await execute(call, _REGISTRY, ctx, Permissions(), _approve)
    return [{"result": result.for_model}]


async def _approve(request: AskRequest) -> Decision:
    return Decision(True)


def end_all() -> None:
    """End the processes that commands left."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if (entry / "cmdline").read_bytes() == f"sleep\0{SECONDS}\0".encode():
                os.kill(int(entry.name), signal.SIGKILL)


if __name__ == "__main__":
    try:
        print_as_user(sys.argv[1], run, prepare=make_helper)
    finally:
        end_all()
