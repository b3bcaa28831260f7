"""Test an undo whose files cannot be written; a file size limit stands in for a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, resource, signal
from pathlib import Path
from tests.support.command_context import ScriptedContext
from tests.support.runtime import make_runtime

async def main():
    runtime = make_runtime(resume="", mode="auto")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = max(path.stat().st_size for path in Path(runtime.sessions.database.path).parent.iterdir()) + 200_000
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    print(await ScriptedContext(runtime).type("/undo"))
    runtime.close()

asyncio.run(main())
"""


@pytest.mark.slow
async def test_a_file_too_large_to_restore_is_reported_left_unchanged_and_restored_by_a_later_undo() -> (
    None
):
    from tests.support.command_context import ScriptedContext
    from tests.support.runtime import calls, make_runtime, run_turn

    Path("long").write_bytes(b"before" * 1_000_000)
    Path("short").write_text("before")
    run = calls(("run_command", {"command": "printf turn > long; printf turn > short"}))
    runtime = make_runtime([run, "done"], mode="auto", reflect_with_model=False)
    await run_turn(runtime, "shorten both")
    runtime.close()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "long is not restored: File too large" in done.stdout
    assert Path("long").read_text() == "turn"
    assert Path("short").read_text() == "before"
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["long", "short"]
    again = make_runtime(resume="", mode="auto")
    await ScriptedContext(again).type("/redo")
    assert Path("short").read_text() == "turn"
    await ScriptedContext(again).type("/undo")
    assert Path("long").read_bytes() == b"before" * 1_000_000
    again.close()
