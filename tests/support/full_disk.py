"""A slash command on a full disk, for which a limit on the size of files stands in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PROGRAM = """
import asyncio, resource, signal, sys
from pathlib import Path
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime

async def main(command, mode):
    runtime = make_runtime(resume="", mode=mode)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = max(path.stat().st_size for path in Path(runtime.sessions.database.path).parent.iterdir()) + 200_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    print(await ScriptedContext(runtime).type(command))
    runtime.close()

asyncio.run(main(*sys.argv[1:]))
"""


def type_on_a_full_disk(command: str, mode: str) -> str:
    """Type a command in the newest session, in a process of its own, and return what was printed."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, command, mode],
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
