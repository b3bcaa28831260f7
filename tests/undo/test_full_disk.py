"""Test an undo whose files cannot be written; a file size limit stands in for a full disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.full_disk import type_on_a_full_disk


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
    printed = type_on_a_full_disk("/undo", "auto")
    assert "long is not restored: File too large" in printed
    assert Path("long").read_text() == "turn"
    assert Path("short").read_text() == "before"
    assert sorted(path.name for path in Path.cwd().iterdir()) == ["long", "short"]
    again = make_runtime(resume="", mode="auto")
    await ScriptedContext(again).type("/redo")
    assert Path("short").read_text() == "turn"
    await ScriptedContext(again).type("/undo")
    assert Path("long").read_bytes() == b"before" * 1_000_000
    again.close()
