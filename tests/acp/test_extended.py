"""Test hooks, plug-ins and servers of tools in `swecli acp`, as an editor sees them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.editor import open_editor
from tests.support.hooks import approve_hooks, declare
from tests.support.mcp_servers import RUN_BY_THIS_PROCESS, approve, raw, write_user_file
from tests.support.plugins import add, claude_plugin
from tests.support.processes import none_is_left
from tests.support.runtime import make_start
from tests.support.shell import script, swecli

pytestmark = pytest.mark.slow

NO = {
    "hookEventName": "PreToolUse",
    "permissionDecision": "deny",
    "permissionDecisionReason": "Not a.txt.",
}


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"calls": [{"name": name, "arguments": arguments}]}


async def test_a_hook_refuses_a_call_before_the_editor_is_asked() -> None:
    declare(Path.cwd(), ("PreToolUse", "Write", f"echo '{json.dumps({'hookSpecificOutput': NO})}'"))
    approve_hooks(make_start())
    model = script("s.json", call("write_file", path="a.txt", content="1\n"), "Not written.")
    async with open_editor("-m", model) as opened:
        session = await opened.new_session()
        assert await opened.prompt(session, "write a.txt") == "end_turn"
        (made,) = opened.editor.calls().values()
        assert (made["status"], opened.editor.questions) == ("failed", [])
        assert "Not a.txt." in str(made["content"])
    assert not Path("a.txt").exists()


async def test_hooks_are_told_of_a_session_in_an_editor_from_its_start_to_its_end() -> None:
    place = Path.cwd() / ".heard"
    events = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")
    declare(Path.cwd(), *((event, "", f"echo {event} >> {place}") for event in events))
    approve_hooks(make_start(), outside=True)
    Path("b.txt").write_text("b\n")
    model = script("s.json", call("read_file", path="b.txt"), "Read.")
    async with open_editor("-m", model) as opened:
        session = await opened.new_session()
        await opened.prompt(session, "read b.txt")
    assert place.read_text().split() == list(events)


async def test_a_hook_that_refuses_a_message_is_an_answer_and_nothing_is_sent() -> None:
    declare(Path.cwd(), ("UserPromptSubmit", "", "echo 'No passwords here.' >&2; exit 2"))
    approve_hooks(make_start())
    async with open_editor("-m", script("s.json", "Never said.")) as opened:
        session = await opened.new_session()
        with pytest.raises(Exception, match="No passwords here"):
            await opened.prompt(session, "my password is 1234")
        assert opened.editor.text() == ""


async def test_the_command_of_a_plug_in_is_offered_and_sent() -> None:
    plugin = claude_plugin(files={"commands/hail.md": "Say hello to $ARGUMENTS."})
    await add(make_start(), plugin)
    async with open_editor("-m", script("s.json", "Hello.")) as opened:
        session = await opened.new_session()
        await opened.editor.wait_for(
            lambda: bool(opened.editor.of_kind("available_commands_update"))
        )
        (update,) = opened.editor.of_kind("available_commands_update")
        (name,) = (each.name for each in update.available_commands if "hail" in each.name)
        assert await opened.prompt(session, f"/{name} you") == "end_turn"
    assert "Say hello to you." in swecli("sessions", "show", session).out


async def test_a_tool_of_a_server_is_asked_about_and_its_process_ends_with_the_editor() -> None:
    start = make_start()
    write_user_file(start, one=raw())
    await approve(start, "one")
    model = script("s.json", call("mcp__one__act"), "Done.")
    async with open_editor("-m", model) as opened:
        session = await opened.new_session()
        assert await opened.prompt(session, "act") == "end_turn"
        (made,) = opened.editor.calls().values()
        assert (made["status"], len(opened.editor.questions)) == ("completed", 1)
    assert none_is_left(RUN_BY_THIS_PROCESS)
