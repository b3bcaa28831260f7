"""Test hooks in whole turns: what they refuse, add and change, and what they cannot."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from swecli.app import Runtime, build_runtime
from swecli.headless.runner import refuse
from swecli.models.errors import BadInput
from swecli.models.message import CallStatus
from swecli.playbook.learning.evidence import TurnDigest
from tests.support.databases import OPENED
from tests.support.hooks import approve_hooks, declare
from tests.support.runtime import NO, User, calls, make_runtime, make_start, run_turn
from tests.support.scripted import ScriptedModel

_SHELL = "PreToolUse", "Bash"
_REFUSE = "echo not here >&2; exit 2"


def _write(text: str) -> Any:
    return calls(("run_command", {"command": f"echo {text} >> ran.txt", "access": "write"}))


def _say(event: str, **specific: Any) -> str:
    """Return a command that prints an answer for an event."""
    text = json.dumps({"hookSpecificOutput": {"hookEventName": event, **specific}})
    return f"echo '{text}'"


def _runtime(replies: Sequence[Any], user: Any = None, **settings: Any) -> Runtime:
    """Return a runtime in which all declared hooks are approved."""
    approve_hooks(make_start())
    return make_runtime(replies, user, **{"mode": "auto", "sandbox": "off", **settings})


async def _turn(runtime: Runtime, query: str = "do it") -> list[str]:
    """Run a turn as a face does, and return its notices."""
    await runtime.agent.admit(query)
    events = await run_turn(runtime, query, learn=False)
    return [event.text for event in events if event.type == "notice"]  # type: ignore[attr-defined]


def _results(runtime: Runtime) -> list[str]:
    return [
        call.result or "" for message in runtime.session.messages for call in message.tool_calls
    ]


def _fired(name: str) -> list[dict[str, Any]]:
    """Return the inputs that the hook `cat >> NAME` got."""
    file = Path(name)
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_without_hooks_nothing_of_them_is_loaded() -> None:
    code = (
        "import asyncio, sys\n"
        "from tests.support.runtime import make_runtime, run_turn, calls\n"
        "async def main():\n"
        "    runtime = make_runtime([calls(('list_files', {})), 'done'])\n"
        "    await runtime.agent.admit('do it')\n"
        "    await run_turn(runtime, 'do it', learn=False)\n"
        "    runtime.close()\n"
        "asyncio.run(main())\n"
        "print([name for name in sys.modules if name.startswith('swecli.tools.hooks.')])\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    loaded = sorted(name.rpartition(".")[2] for name in ast.literal_eval(done.stdout))
    assert loaded == ["files", "late", "run"]


async def test_a_hook_that_is_not_approved_does_not_run_and_is_told_once() -> None:
    declare(Path.cwd(), (*_SHELL, "touch hooked; exit 2"))
    nobody: Any = refuse
    runtime = make_runtime([_write("one"), "done", "again"], nobody, mode="auto", sandbox="off")
    notices = await _turn(runtime)
    assert (
        "1 hook of this project is not approved yet, and not run: swecli hooks approve"
        in notices[0]
    )
    assert await _turn(runtime) == []
    assert Path("ran.txt").exists()
    assert not Path("hooked").exists()


async def test_one_that_is_approved_in_a_session_is_asked_from_the_next_message_on() -> None:
    declare(Path.cwd(), (*_SHELL, _REFUSE))
    runtime = make_runtime(
        [_write("one"), "done", _write("two"), "done"], mode="auto", sandbox="off"
    )
    await _turn(runtime)
    approve_hooks(runtime.start)
    await _turn(runtime)
    assert Path("ran.txt").read_text() == "one\n"


async def test_a_refused_call_did_nothing_and_the_model_is_told_why() -> None:
    declare(Path.cwd(), (*_SHELL, _REFUSE))
    runtime = _runtime([_write("one"), "done"])
    await _turn(runtime)
    [call] = [call for message in runtime.session.messages for call in message.tool_calls]
    assert (call.status, call.decision) == (CallStatus.REFUSED, "hook")
    assert call.result == "Nothing was done: a hook refuses this call: not here"


async def test_a_hook_cannot_allow_what_a_guard_asks_about() -> None:
    declare(Path.cwd(), ("PreToolUse", "Write", _say("PreToolUse", permissionDecision="allow")))
    user = User([NO])
    runtime = _runtime(
        [calls(("write_file", {"path": ".env", "content": "A=1"})), "done"], user, mode="ask"
    )
    await _turn(runtime)
    assert len(user.asked) == 1
    assert not Path(".env").exists()


async def test_a_hook_allows_what_only_the_mode_asks_about() -> None:
    declare(Path.cwd(), ("PreToolUse", "Write", _say("PreToolUse", permissionDecision="allow")))
    user = User([NO])
    runtime = _runtime(
        [calls(("write_file", {"path": "a.txt", "content": "A"})), "done"], user, mode="ask"
    )
    await _turn(runtime)
    assert not user.asked
    assert Path("a.txt").read_text() == "A"


async def test_plan_mode_stands_above_a_hook() -> None:
    declare(Path.cwd(), ("PreToolUse", "Write", _say("PreToolUse", permissionDecision="allow")))
    runtime = _runtime(
        [calls(("write_file", {"path": "a.txt", "content": "A"})), "done"], mode="plan"
    )
    await _turn(runtime)
    assert not Path("a.txt").exists()


async def test_what_a_hook_asks_about_offers_no_lasting_answer() -> None:
    answer = _say("PreToolUse", permissionDecision="ask", permissionDecisionReason="is it tested?")
    declare(Path.cwd(), (*_SHELL, answer))
    user = User()
    runtime = _runtime([_write("one"), "done"], user)
    await _turn(runtime)
    [request] = user.asked
    assert request.why == "A hook asks for approval: is it tested?"
    assert (request.session_rules, request.session_mode, request.project_file) == ((), None, "")
    assert Path("ran.txt").exists()


async def test_what_a_hook_changed_is_what_is_shown_and_what_runs() -> None:
    changed = {"command": "echo changed >> ran.txt", "access": "write"}
    declare(Path.cwd(), (*_SHELL, _say("PreToolUse", updatedInput=changed)))
    user = User()
    runtime = _runtime([_write("first"), "done"], user, mode="ask")
    await _turn(runtime)
    assert "echo changed" in user.asked[0].preview.body
    assert Path("ran.txt").read_text() == "changed\n"
    [result] = _results(runtime)
    assert "[a hook changed the arguments of this call to " in result
    assert "echo changed" in result


@pytest.mark.parametrize(("behavior", "is_done"), [("deny", False), ("allow", True)])
async def test_a_question_to_the_user_can_be_answered_by_a_hook(
    behavior: str, is_done: bool
) -> None:
    decision = {"behavior": behavior, "message": "on Fridays"}
    declare(
        Path.cwd(), ("PermissionRequest", "Write", _say("PermissionRequest", decision=decision))
    )
    start = replace(make_start(), attended=True)
    approve_hooks(start)
    user = User([NO])
    model = ScriptedModel([calls(("write_file", {"path": "a.txt", "content": "A"})), "done"])
    runtime = build_runtime(start, user, model)
    OPENED.closers.append(runtime.close)
    await _turn(runtime)
    assert not user.asked
    assert Path("a.txt").exists() is is_done
    assert ("on Fridays" in _results(runtime)[0]) is not is_done


async def test_hooks_after_a_call_are_told_of_what_ran() -> None:
    changed = {"file_path": str(Path.cwd() / "b.txt")}
    declare(
        Path.cwd(),
        ("PreToolUse", "Write", _say("PreToolUse", updatedInput=changed)),
        ("PostToolUse", "Write", "cat >> after"),
    )
    runtime = _runtime([calls(("write_file", {"path": "a.txt", "content": "A"})), "done"])
    await _turn(runtime)
    [given] = _fired("after")
    assert given["tool_input"] == {**changed, "content": "A"}
    assert given["tool_response"]["filePath"] == changed["file_path"]
    assert Path("b.txt").exists()


async def test_a_file_that_a_formatter_changed_can_be_edited_again() -> None:
    declare(Path.cwd(), ("PostToolUse", "Edit|Write", "sh tidy.sh"))
    Path("tidy.sh").write_text("sed -i 's/ *$//' a.txt; touch formatted")
    Path("a.txt").write_text("one  \n")

    def edit(old: str, new: str) -> Any:
        change = {"old_text": old, "new_text": new, "replace_all": True}
        return calls(("edit_file", {"path": "a.txt", "edits": [change]}))

    read = calls(("read_file", {"path": "a.txt"}))
    runtime = _runtime([read, edit("one", "two"), edit("two", "three"), "done"])
    await _turn(runtime)
    assert Path("formatted").exists()
    assert Path("a.txt").read_text() == "three\n"


async def test_what_a_hook_changed_is_undone_with_its_turn() -> None:
    declare(Path.cwd(), ("PostToolUse", "Write", "echo generated > b.txt"))
    Path("b.txt").write_text("mine\n")
    runtime = _runtime([calls(("write_file", {"path": "a.txt", "content": "A"})), "done"])
    await _turn(runtime)
    assert Path("b.txt").read_text() == "generated\n"
    history = runtime.history
    assert history is not None
    history.undo(1, ["files"], history.plan(1))
    assert Path("b.txt").read_text() == "mine\n"


async def test_all_hooks_on_an_event_run_at_the_same_time() -> None:
    wait = "for i in $(seq 500); do [ -e {other} ] && exit 0; sleep 0.01; done; exit 2"
    commands = [
        f"touch {own}; {wait.format(other=other)}" for own, other in (("x", "y"), ("y", "x"))
    ]
    declare(Path.cwd(), *((*_SHELL, command) for command in commands))
    runtime = _runtime([_write("one"), "done"])
    await _turn(runtime)
    assert Path("ran.txt").exists()


async def test_one_that_changed_in_the_run_lets_nothing_pass_without_the_user() -> None:
    script = Path("guard.sh")
    script.write_text("exit 0\n")
    declare(Path.cwd(), (*_SHELL, "sh guard.sh"))
    runtime = _runtime([_write("one"), _write("two"), "done", _write("three"), "done"], refuse)
    await runtime.agent.admit("do it")
    script.write_text("touch hooked\n")
    notices = await _turn(runtime)
    await _turn(runtime, "again")
    assert not Path("ran.txt").exists()
    assert not Path("hooked").exists()
    assert "has changed since you approved it" in notices[0]


async def test_a_prompt_gets_what_hooks_add_and_the_prefix_stays() -> None:
    plain = make_runtime(["done"])
    await _turn(plain)
    declare(
        Path.cwd(),
        ("UserPromptSubmit", "", "echo the build is red"),
        ("SessionStart", "", "echo be kind"),
    )
    runtime = _runtime(["done"])
    await _turn(runtime)
    before, after = plain.agent.model.requests[0], runtime.agent.model.requests[0]  # type: ignore[attr-defined]
    assert before.messages[0] == after.messages[0]
    assert before.tools == after.tools
    assert "the build is red" in str(after.messages[-1])
    assert "be kind" in str(after.messages[-1])
    assert runtime.session.messages[0].content == "do it"  # the user's words are his own


async def test_a_refused_prompt_is_not_sent() -> None:
    declare(Path.cwd(), ("UserPromptSubmit", "", _REFUSE))
    runtime = _runtime(["done"])
    with pytest.raises(BadInput, match="A hook refuses this message: not here"):
        await runtime.agent.admit("do it")
    assert not runtime.agent.model.requests  # type: ignore[attr-defined]


async def test_a_refused_question_beside_the_conversation_is_not_sent() -> None:
    declare(Path.cwd(), ("UserPromptSubmit", "", _REFUSE))
    runtime = _runtime(["done"])
    with pytest.raises(BadInput, match="A hook refuses this message: not here"):
        await runtime.agent.prepare_aside("do it")


async def test_a_question_beside_the_conversation_does_not_begin_the_session_for_hooks() -> None:
    declare(Path.cwd(), ("SessionStart", "", "echo the build is red"))
    runtime = _runtime(["beside", "done"])
    await runtime.agent.prepare_aside("what now?")
    await runtime.agent.admit("do it")
    await run_turn(runtime, "do it", learn=False)
    [request] = runtime.agent.model.requests  # type: ignore[attr-defined]
    assert "the build is red" in str(request.messages[-1])


async def test_a_model_that_is_sent_on_is_told_so_as_no_word_of_the_user() -> None:
    Path("stop.sh").write_text(
        "cat >> stops; [ -e once ] && exit 0; touch once; echo run the tests >&2; exit 2"
    )
    declare(Path.cwd(), ("Stop", "", "sh stop.sh"))
    runtime = _runtime(["done", "tested"])
    await runtime.agent.admit("do it")
    events = await run_turn(runtime, "do it", learn=False)
    assert [e.describe() for e in events if e.type == "turn_continued"] == [
        "a hook sends the model on: run the tests"
    ]
    message = runtime.session.messages[2]
    assert message.content == ""
    assert "run the tests" in message.sent_text
    assert TurnDigest.of(runtime.session.messages).reactions == ()  # and teaches nothing as his
    first, second = _fired("stops")
    assert (first["stop_hook_active"], first["last_assistant_message"]) == (False, "done")
    assert (second["stop_hook_active"], second["last_assistant_message"]) == (True, "tested")


async def test_the_turn_ends_when_hooks_have_sent_the_model_on_eight_times() -> None:
    declare(Path.cwd(), ("Stop", "", _REFUSE))
    runtime = _runtime(["done"] * 20)
    notices = await _turn(runtime)
    assert len(runtime.agent.model.requests) == 9  # type: ignore[attr-defined]
    assert "it has done so 8 times" in notices[-1]


async def test_a_hook_that_ends_the_turn_says_why() -> None:
    declare(
        Path.cwd(), ("PostToolUse", "", """echo '{"continue": false, "stopReason": "enough"}'""")
    )
    runtime = _runtime([_write("one"), "done"])
    await runtime.agent.admit("do it")
    events = await run_turn(runtime, "do it", learn=False)
    assert "a hook ended the turn: enough" in [getattr(event, "text", "") for event in events]
    assert events[-1].reason == "hook"  # type: ignore[attr-defined]
    await _turn(runtime, "go on")  # the next one is not ended


async def test_a_turn_that_no_prompt_began_is_guarded_too() -> None:
    declare(Path.cwd(), (*_SHELL, _REFUSE))
    runtime = _runtime([_write("one"), "done"])
    await run_turn(runtime, "mend the finding", learn=False)
    assert not Path("ran.txt").exists()


async def test_hooks_are_asked_about_the_calls_of_a_task() -> None:
    declare(Path.cwd(), (*_SHELL, f"cat >> calls; {_REFUSE}"), ("Stop", "", "touch stopped"))
    task = calls(("task", {"title": "look", "prompt": "look", "tools": ["run_command"]}))
    runtime = _runtime([task, _write("one"), "looked", calls(), "done"])
    await runtime.agent.admit("do it")
    events = await run_turn(runtime, "do it", learn=False)
    assert not Path("ran.txt").exists()
    assert len(_fired("calls")) == 1
    assert events


async def test_a_session_begins_once_and_ends_once() -> None:
    declare(Path.cwd(), ("SessionStart", "", "cat >> begun"), ("SessionEnd", "", "cat >> ended"))
    runtime = _runtime(["one", "two", "three"])
    await _turn(runtime)
    await _turn(runtime)
    first = runtime.session.id
    runtime.new_session()
    await _turn(runtime)
    hooks = runtime.agent.toolkit.hooks
    assert hooks is not None
    await hooks.end_session("other")
    await hooks.end_session("other")
    assert [(row["session_id"], row["source"]) for row in _fired("begun")] == [
        (first, "startup"),
        (runtime.session.id, "clear"),
    ]
    assert [(row["session_id"], row["reason"]) for row in _fired("ended")] == [
        (first, "clear"),
        (runtime.session.id, "other"),
    ]


async def test_a_summary_can_be_refused_and_be_given_a_focus() -> None:
    declare(
        Path.cwd(),
        ("PreCompact", "manual", "echo keep the names"),
        ("SessionStart", "compact", "cat >> begun"),
    )
    runtime = _runtime(["one", "two", "the summary", "three"])
    await _turn(runtime)
    await _turn(runtime)
    async for _ in runtime.context_control.compact("the tests"):
        pass
    asked = str(runtime.agent.model.requests[-1].messages[-1])  # type: ignore[attr-defined]
    assert "the tests\\nkeep the names" in asked
    await _turn(runtime)
    assert [row["source"] for row in _fired("begun")] == ["compact"]
    declare(Path.cwd(), ("PreCompact", "", _REFUSE))
    approve_hooks(runtime.start)
    await _turn(runtime)
    with pytest.raises(BadInput, match="A hook refuses the summary: not here"):
        async for _ in runtime.context_control.compact():
            pass


async def test_where_the_workspace_is_removed_the_turn_ends_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = make_start()
    told = tmp_path / "told"
    declare(
        start.paths.config,
        ("PreToolUse", "", f"cat >> {told}"),
        ("Stop", "", f"cat >> {told}"),
        file="hooks.json",
    )
    gone = tmp_path / "gone"
    gone.mkdir()
    remove = calls(("run_command", {"command": f"rm -rf {gone}", "access": "write"}))
    runtime = make_runtime(
        [remove, calls(("list_files", {})), "done"], cwd=gone, mode="auto", sandbox="off"
    )
    await _turn(runtime)
    assert not gone.exists()
    names = [json.loads(line)["hook_event_name"] for line in told.read_text().splitlines()]
    assert names[0] == "PreToolUse"
    assert names[-1] == "Stop"


async def test_the_users_own_hooks_run_as_they_are() -> None:
    start = make_start()
    declare(start.paths.config, (*_SHELL, _REFUSE), file="hooks.json")
    runtime = make_runtime([_write("one"), "done"], mode="auto", sandbox="off")
    await _turn(runtime)
    assert not Path("ran.txt").exists()


async def test_asking_is_cancelled_with_the_turn() -> None:
    declare(Path.cwd(), (*_SHELL, "touch began; sleep 333"))
    runtime = _runtime([_write("one"), "done"])
    running = asyncio.create_task(_turn(runtime))
    while not Path("began").exists():
        await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    [call] = [call for message in runtime.session.messages for call in message.tool_calls]
    assert call.status is CallStatus.CANCELLED
    assert "Nothing was done" in (call.result or "")
