"""Test how the program of a hook runs: with its input, without keys, in the sandbox, and never longer than it may."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swecli.tools.guard import Guard
from swecli.tools.hooks.answers import Answer
from swecli.tools.hooks.approved import read_hooks
from swecli.tools.hooks.program import Place, run_program
from swecli.tools.sandbox import Sandbox
from tests.support.hooks import approve_hooks, declare
from tests.support.runtime import make_start

_BLOCK = "echo refused >&2; exit 2"


async def _run(command: str, *, outside: bool = True, setting: str = "auto", **more: Any) -> Answer:
    start = make_start()
    declare(Path.cwd(), ("PreToolUse", "Bash", command), **more)
    approve_hooks(start, outside=outside)
    [known] = read_hooks(start).hooks
    cwd = Path.cwd()
    transcript = cwd / "transcript.jsonl"
    sandbox = Sandbox(setting, cwd, start.environ)
    place = Place(cwd, cwd, start.environ, sandbox, Guard(cwd))
    try:
        return await run_program(
            known, {"tool_name": "Bash"}, place, outside=outside, transcript=transcript
        )
    finally:
        sandbox.close()


async def test_its_input_is_json_and_its_folder_is_the_projects() -> None:
    await _run('cat > given; pwd > where; echo "$CLAUDE_PROJECT_DIR" >> where')
    assert json.loads(Path("given").read_text()) == {"tool_name": "Bash"}
    assert Path("where").read_text().split() == [str(Path.cwd())] * 2


async def test_it_gets_no_keys_and_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    await _run("env > seen; tty < /dev/tty >> seen 2>&1; true")
    assert "sk-very-secret" not in Path("seen").read_text()
    assert "/dev/pts" not in Path("seen").read_text()


async def test_input_that_is_not_read_is_no_failure() -> None:
    answer = await _run("exit 0")
    assert answer.problems == ()


async def test_one_that_hangs_is_ended_with_all_that_it_started() -> None:
    answer = await _run("sleep 321 & sleep 321", timeout=0.2)
    assert "it took longer than 0.2 s" in answer.problems[0]
    assert not answer.is_refusal
    assert not _is_running("sleep\x00321")


async def test_one_that_hangs_and_has_to_answer_refuses() -> None:
    answer = await _run("sleep 321", timeout=0.2, onFailure="block")
    assert answer.is_refusal
    assert "it took longer than 0.2 s" in answer.reason


async def test_a_cancelled_one_leaves_nothing_running() -> None:
    running = asyncio.create_task(_run("touch began; sleep 322 & sleep 322"))
    while not Path("began").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not _is_running("sleep\x00322")


async def test_output_without_end_is_neither_kept_nor_waited_for() -> None:
    answer = await _run("yes", timeout=0.3)
    assert "it took longer" in answer.problems[0]


async def test_an_approved_one_runs_in_the_sandbox(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "written"
    await _run(f"touch inside; touch {elsewhere}", outside=False)
    assert Path("inside").exists()
    assert not elsewhere.exists()
    await _run(f"touch {elsewhere}", outside=True)
    assert elsewhere.exists()


async def test_it_sees_its_scripts_above_the_workspace_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "tools").mkdir()
    (project / ".env").write_text("KEY=secret\n")
    (project / "tools/words.sh").write_text("words='not here'\n")
    (project / "tools/guard.sh").write_text(
        '. "$(dirname "$0")"/words.sh; cat ../.env >&2; echo "$words" >&2; exit 2\n'
    )
    below = project / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    monkeypatch.setenv("HOME", str(tmp_path))  # of which the sandbox shows little
    declare(project, ("PreToolUse", "Bash", 'sh "$CLAUDE_PROJECT_DIR"/tools/guard.sh'))
    start = make_start()
    approve_hooks(start)
    [known] = read_hooks(start).hooks
    sandbox = Sandbox("auto", below, start.environ)
    place = Place(below, project, start.environ, sandbox, Guard(below))
    answer = await run_program(known, {}, place, outside=False, transcript=None)
    sandbox.close()
    assert "not here" in answer.reason
    assert "secret" not in answer.reason


async def test_its_answer_comes_out_of_the_sandbox() -> None:
    Path(".env").write_text("KEY=secret\n")
    answer = await _run("cat .env >&2; echo refused >&2; exit 2", outside=False)
    assert answer.is_refusal
    assert "refused" in answer.reason
    assert "secret" not in answer.reason


async def test_without_the_sandbox_that_is_required_it_does_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Sandbox, "problem", "there is none here")
    answer = await _run("touch ran", outside=False, setting="required")
    assert not Path("ran").exists()
    assert "The setting sandbox is required" in answer.problems[0]


async def test_where_its_folder_is_gone_it_runs_in_the_next_one(tmp_path: Path) -> None:
    start = make_start()
    declare(Path.cwd(), ("PreToolUse", "Bash", _BLOCK))
    approve_hooks(start)
    [known] = read_hooks(start).hooks
    gone = tmp_path / "gone"
    place = Place(gone, gone, start.environ, Sandbox("auto", gone, start.environ), Guard(gone))
    answer = await run_program(known, {}, place, outside=False, transcript=None)
    assert answer == replace(answer, reason="refused")
    assert answer.is_refusal


def _is_running(words: str) -> bool:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                if words in (entry / "cmdline").read_text():
                    return True
            except OSError:
                continue
    return False
