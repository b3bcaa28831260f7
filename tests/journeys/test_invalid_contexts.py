"""Test contexts that cannot be sent and invalid context commands: each is refused in one line and changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from swecli.models.errors import BadInput
from swecli.models.events import TurnFailed
from swecli.models.window_spec import WindowSpec
from tests.support.histories import complaint
from tests.support.runtime import calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel
from tests.support.shell import ON_PATH

pytestmark = pytest.mark.slow


def small_runtime(**more: Any) -> ScriptedModel:
    return ScriptedModel(lambda request: "ok " * 50, context_window=8_192, max_output=1_000, **more)


def shell(*args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "swecli", *args]
    pipes: dict[str, Any] = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
        "stdin": subprocess.DEVNULL,
    }
    return subprocess.Popen(command, text=True, env=os.environ | {"PYTHONPATH": ON_PATH}, **pipes)


async def test_a_turn_too_large_for_the_window_cannot_be_pinned_and_can_be_unpinned() -> None:
    runtime = make_runtime(small_runtime(), window=WindowSpec(2), learn=False)
    large = ScriptedModel(lambda request: "fine", context_window=100_000)
    runtime.agent.use_model(large)
    await run_turn(runtime, "all of this: " + "word " * 8_000, learn=False)
    await run_turn(runtime, "thanks", learn=False)
    runtime.agent.use_model(small_runtime())
    with pytest.raises(BadInput, match=r"^T1 has \d+,\d{3} tokens; \d,\d{3} fit besides tools and"):
        runtime.context_control.pin(1)
    session = runtime.sessions.current_session
    assert session is not None
    assert session.context.pins == ()
    runtime.agent.use_model(large)
    assert runtime.context_control.pin(1) > 8_000, "where it fits it is pinned"
    runtime.agent.use_model(small_runtime())
    events = await run_turn(runtime, "go on", learn=False)
    failed = events[-1]
    assert isinstance(failed, TurnFailed)
    assert "/unpin a turn (all of them: " in failed.hint
    runtime.context_control.unpin(1)
    assert (await run_turn(runtime, "go on", learn=False))[-1].type == "turn_finished"
    runtime.close()


async def test_a_reduction_is_undone_independently_in_a_fork_and_its_source(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(
        "a line of text that is long enough to fill a window of this size\n" * 1_200
    )
    steps = [
        calls(("read_file", {"path": "a.txt", "start_line": 40 * n, "end_line": 40 * n + 40}))
        for n in range(1, 25)
    ]
    model = ScriptedModel([*steps, "done", "yes"], context_window=8_192, max_output=1_000)
    runtime = make_runtime(model, cwd=tmp_path, learn=False)
    await run_turn(runtime, "read it all", learn=False)
    source = runtime.sessions.current_session
    assert source is not None
    rows = len([row for row in runtime.sessions.context.log(source) if row.how != "begin"])
    assert rows > 0
    reduced = json.dumps(runtime.agent.prepare("now").messages)
    fork = runtime.sessions.fork()
    runtime.close()

    first = make_runtime(model, cwd=tmp_path, learn=False, resume=fork.id)
    assert json.dumps(first.agent.prepare("now").messages) == reduced, (
        "the fork goes on from the same request"
    )
    first.context_control.undo()
    undone = json.dumps(first.agent.prepare("now").messages)
    assert undone != reduced
    first.close()
    second = make_runtime(model, cwd=tmp_path, learn=False, resume=source.id)
    assert json.dumps(second.agent.prepare("now").messages) == reduced, "its source is as it was"
    second.context_control.undo()
    assert json.dumps(second.agent.prepare("now").messages) == undone
    second.close()


async def test_two_processes_can_change_the_window_of_a_session_at_once() -> None:
    runtime = make_runtime(["fine"], learn=False)
    await run_turn(runtime, "hello", learn=False)
    session = runtime.sessions.current_session
    assert session is not None
    runtime.close()
    running = [shell("context", "window", spec, "--session", session.id) for spec in ("3", "7+2")]
    for process in running:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0, out
        assert "Traceback" not in out
    again = make_runtime(["fine"], learn=False, resume=session.id)
    kept = again.sessions.current_session
    assert kept is not None
    assert str(kept.window) in ("3", "7+2")
    assert (await run_turn(again, "and on", learn=False))[-1].type == "turn_finished"
    again.close()


def test_an_import_of_two_gigabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    huge = tmp_path / "huge.jsonl"
    with huge.open("wb") as file:
        file.truncate(2 << 30)
    process = shell("sessions", "import", str(huge))
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 42
    assert "has 2,147 MB; files of up to 100 MB can be imported" in out
    assert len(out.strip().splitlines()) == 1


async def test_a_transcript_with_an_unanswered_tool_call_is_imported_once_and_continued(
    tmp_path: Path,
) -> None:
    place = {"sessionId": "s1", "timestamp": "2026-01-01T00:00:00Z", "cwd": str(tmp_path)}
    called = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]
    rows = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "fix it"}},
        {"type": "assistant", "uuid": "u2", "message": {"role": "assistant", "content": called}},
        {"type": "user", "uuid": "u3", "message": {"role": "user", "content": "and now?"}},
    ]
    file = tmp_path / "other.json"  # Another tool's session, found by our name for it.
    file.write_text("".join(json.dumps(place | row) + "\n" for row in rows))
    first = shell("sessions", "import", str(file))
    out, _ = first.communicate(timeout=60)
    assert (first.returncode, "Imported 2 turns from Claude Code as " in out) == (0, True), out
    again = shell("sessions", "import", str(file))
    second, _ = again.communicate(timeout=60)
    assert (again.returncode, "already exists" in second) == (42, True)
    model = ScriptedModel(["It is fixed."])
    runtime = make_runtime(model, learn=False, resume=out.split(" as ")[1].split(";")[0])
    assert (await run_turn(runtime, "go on", learn=False))[-1].type == "turn_finished"
    assert complaint(model.requests[0].messages) == ""
    runtime.close()


async def test_a_truncated_export_is_refused_in_one_line(tmp_path: Path) -> None:
    runtime = make_runtime(["fine"], learn=False)
    await run_turn(runtime, "hello", learn=False)
    session = runtime.sessions.current_session
    assert session is not None
    whole = json.dumps(runtime.sessions.archive.export(session.id), default=str)
    runtime.close()
    file = tmp_path / "cut.json"
    file.write_text(whole[: len(whole) // 2])
    process = shell("sessions", "import", str(file))
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 42
    assert "is not a session that swecli can read" in out
    assert len(out.strip().splitlines()) == 1
