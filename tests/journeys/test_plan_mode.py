"""Test plan mode from its first request to the plan that is carried out."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from swecli.config.paths import Paths
from swecli.models.approval import Decision
from swecli.models.message import ApiMessage
from tests.support.runtime import User, calls, make_runtime, run_turn
from tests.support.scripted import ScriptedModel
from tests.support.shell import script, swecli
from tests.support.terminal import Terminal

Call = tuple[str, dict[str, Any]]
PLAN: Call = ("present_plan", {"plan": "Turn the sign.", "steps": ["Correct calc.py", "Report"]})
EDIT: Call = ("edit_file", {"path": "calc.py", "edits": [{"old_text": "-", "new_text": "+"}]})


@pytest.fixture(autouse=True)
def code() -> Path:
    """A file with a wrong sign; no reflection takes a reply of the script."""
    config = Paths.find(os.environ).config_file
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("learn = false\n")
    file = Path("calc.py")
    file.write_text("a - b\n")
    return file


def written(*steps: str | Call) -> str:
    """Write replies, each a text or one call, to a file and return the name of the model that gives them."""
    replies = [
        step if isinstance(step, str) else {"calls": [{"name": step[0], "arguments": step[1]}]}
        for step in steps
    ]
    return script("script.json", *replies)


def sent_text(message: ApiMessage) -> str:
    return str(message["content"])


async def test_an_accepted_plan_is_carried_out_in_the_same_turn_without_a_question(
    code: Path,
) -> None:
    user = User([Decision(True)])
    model = ScriptedModel([calls(PLAN), calls(EDIT), "Done.", "Yes."])
    runtime = make_runtime(model, user, mode="plan")
    await run_turn(runtime, "fix it", learn=False)
    assert code.read_text() == "a + b\n"
    assert [asked.question for asked in user.asked] == ["Accept this plan?"]
    await run_turn(runtime, "sure?", learn=False)
    first, *_, last = [request.messages for request in model.requests]
    assert "until the user accepts your plan: show it with present_plan" in sent_text(first[-1])
    assert "Mode: edits." in sent_text(last[-1])
    assert "The mode before it has ended" in sent_text(last[-1])


async def test_the_end_of_plan_mode_changes_nothing_that_was_sent(code: Path) -> None:
    model = ScriptedModel([calls(PLAN), calls(EDIT), "Done."])
    runtime = make_runtime(model, User(), mode="plan")
    await run_turn(runtime, "fix it", learn=False)
    before, after, _ = model.requests
    assert after.tools == before.tools
    assert after.messages[: len(before.messages)] == before.messages


async def test_the_accepted_steps_are_the_todo_list_also_after_an_interruption(
    code: Path,
) -> None:
    model = ScriptedModel([calls(PLAN), calls(("todo", {"items": "broken"})), ValueError()])
    runtime = make_runtime(model, User(), mode="plan")
    await run_turn(runtime, "fix it", learn=False)
    steps = [item["text"] for item in runtime.agent.ctx.todos]
    assert steps == ["Correct calc.py", "Report"]
    runtime.close()
    resumed = make_runtime([], resume="", mode="ask")
    resumed.resume(None)
    assert [item["text"] for item in resumed.agent.ctx.todos] == steps


async def test_a_task_in_plan_mode_is_not_told_of_a_tool_that_it_lacks(code: Path) -> None:
    task = ("task", {"title": "Look around", "prompt": "Look around."})
    model = ScriptedModel([calls(task), "Seen.", "Done."])
    runtime = make_runtime(model, User(), mode="plan")
    await run_turn(runtime, "look", learn=False)
    inner = model.requests[1]
    assert "present_plan" not in [spec.name for spec in inner.tools]
    assert "Mode: plan" in sent_text(inner.messages[-1])
    assert "present_plan" not in str(inner.messages)


def test_a_run_without_a_screen_answers_that_nobody_can_accept_a_plan(code: Path) -> None:
    model = written(PLAN, "The plan: turn the sign.")
    run = swecli("-p", "fix it", "-m", model, "--mode", "plan", "--output-format", "json")
    assert run.code == 0
    [denied] = run.json["permission_denials"]
    assert denied["tool"] == "present_plan"
    assert code.read_text() == "a - b\n"


@pytest.mark.slow
def test_in_a_terminal_a_plan_is_edited_accepted_and_carried_out(code: Path) -> None:
    editor = Path("editor").absolute()
    editor.write_text("#!/bin/sh\nsed -i 's/2. Report/2. Report briefly/' \"$1\"\n")
    editor.chmod(0o755)
    model = written(PLAN, EDIT, "Done.")
    environ = {"EDITOR": str(editor), "VISUAL": ""}
    with Terminal("-m", model, "--mode", "plan", columns=100, environ=environ) as terminal:
        terminal.wait("Shift.Tab")
        terminal.keys("fix it\r")
        terminal.wait("Answer with a number")
        terminal.keys("e\r")
        terminal.wait("2. Report briefly")
        terminal.wait("Answer with a number")
        assert "plan ·" in terminal.text.splitlines()[-1]
        terminal.keys("1")
        screen = terminal.wait("Done.")
        assert "✓ plan accepted · mode edits" in screen
        terminal.wait(r"edits · 1 turn sent")
    assert code.read_text() == "a + b\n"


@pytest.mark.slow
def test_a_program_killed_in_the_question_resumes_with_the_mode_still_plan(code: Path) -> None:
    model = written(PLAN, EDIT, "Done.")
    with Terminal("-m", model, "--mode", "plan", columns=100) as terminal:
        terminal.wait("Shift.Tab")
        terminal.keys("fix it\r")
        terminal.wait("Answer with a number")
        os.kill(terminal.process.pid, signal.SIGKILL)
        terminal.wait_for_exit()
    model = written(PLAN, EDIT, "Done.")
    with Terminal("-c", "-m", model, "--mode", "plan", columns=100) as terminal:
        terminal.wait("> fix it")
        terminal.keys("go on\r")
        terminal.wait("Answer with a number")
        terminal.keys("1")
        terminal.wait("Done.")
    assert code.read_text() == "a + b\n"
