"""Test a folder beside the workspace in whole turns: tools, commands, undo, mentions, what the model is told, and that
no request changes because of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from swecli.app import Runtime, build_runtime
from swecli.config.settings import Settings
from swecli.llm.registry import make_model
from swecli.models.approval import Decision
from swecli.models.errors import BadInput
from swecli.models.message import ToolCall
from tests.journeys.test_sandbox import skip_without_sandbox
from tests.support.command_context import ScriptedContext
from tests.support.runtime import NO, User, calls, make_runtime, make_start, run_turn
from tests.support.scripted import ScriptedModel
from tests.support.shell import script, swecli
from tests.support.strict_provider import Reply, StrictProvider

EDIT = {"edits": [{"old_text": "one", "new_text": "two"}]}


@pytest.fixture
def lib(tmp_path: Path) -> Path:
    folder = tmp_path / "lib"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "sub/b.txt").write_text("one more\n")
    (folder / ".env").write_text("KEY=canary\n")
    return folder


def calls_of(runtime: Runtime) -> list[ToolCall]:
    return [call for message in runtime.session.messages for call in message.tool_calls]


async def test_requests_before_and_after_it_have_the_same_prefix(lib: Path) -> None:
    with StrictProvider([Reply("One."), Reply("Two."), Reply("Three.")]) as server:
        model = make_model("openai/gpt-4.1", Settings(), server.environ())
        runtime = make_runtime(model, learn=False)
        await run_turn(runtime, "one", learn=False)
        printed = await ScriptedContext(runtime, width=200).type(f"/add-dir {lib}")
        await run_turn(runtime, "two", learn=False)
        await run_turn(runtime, "three", learn=False)
    first, second, third = server.bodies
    assert f"added: {lib} (may be changed) · the model is told with your next message" in printed
    count = len(first["messages"])
    assert second["messages"][:count] == first["messages"]
    assert {**second, "messages": 0} == {**first, "messages": 0}, "system text and tools too"
    told = f"Added folders, used by their absolute paths: {lib} (may be changed)"
    assert told in second["messages"][-1]["content"]
    assert third["messages"][: len(second["messages"])] == second["messages"]
    assert "Added folders" not in third["messages"][-1]["content"], "it is told once"


async def test_the_model_is_told_when_a_folder_is_removed(lib: Path) -> None:
    runtime = make_runtime(["One.", "Two."], learn=False)
    ctx = ScriptedContext(runtime)
    await ctx.type(f"/add-dir {lib}:ro")
    await run_turn(runtime, "one", learn=False)
    assert "is outside again" in " ".join((await ctx.type(f"/add-dir --remove {lib}")).split())
    await run_turn(runtime, "two", learn=False)
    last = runtime.agent.model.requests[-1].messages[-1]  # type: ignore[attr-defined]
    assert "Added folders, used by their absolute paths: none" in last["content"]


async def test_tools_read_list_search_and_change_it_without_leaving_by_a_question(
    lib: Path,
) -> None:
    steps = [
        calls(("read_file", {"path": f"{lib}/a.txt"})),
        calls(("list_files", {"path": str(lib)})),
        calls(("search_files", {"pattern": "one|canary", "path": str(lib)})),
        calls(("repo_map", {"path": str(lib)})),
        calls(("edit_file", {"path": f"{lib}/a.txt", **EDIT})),
        calls(("write_file", {"path": f"{lib}/new/c.txt", "content": "three\n"})),
        "Done.",
    ]
    user = User([NO])
    runtime = make_runtime(steps, user, mode="edits", learn=False)
    runtime.add_folder(str(lib))
    await run_turn(runtime, "do it", learn=False)
    assert user.asked == []
    read, listed, searched, _, edited, written = [call.result or "" for call in calls_of(runtime)]
    assert "one" in read
    assert f"{lib}/sub/b.txt" in listed
    assert f"{lib}/a.txt" in searched
    assert "canary" not in searched, "a file with secrets is left out"
    assert f"Edited {lib}/a.txt" in edited
    assert f"Wrote {lib}/new/c.txt" in written
    assert (lib / "a.txt").read_text() == "two\n"
    await ScriptedContext(runtime).type("/undo")
    assert (lib / "a.txt").read_text() == "one\n"
    assert not (lib / "new").exists()


async def test_in_mode_ask_a_change_there_is_asked_about_as_here(lib: Path) -> None:
    user = User([NO])
    edit = calls(("edit_file", {"path": f"{lib}/a.txt", **EDIT}))
    runtime = make_runtime([edit, "I see."], user, learn=False)
    runtime.add_folder(str(lib))
    await run_turn(runtime, "do it", learn=False)
    assert [request.summary for request in user.asked] == [f"Edit {lib}/a.txt (+1 −1)"]
    assert (lib / "a.txt").read_text() == "one\n"


async def test_a_folder_that_was_added_read_only_is_not_changed(lib: Path) -> None:
    edit = calls(("edit_file", {"path": f"{lib}/a.txt", **EDIT}))
    runtime = make_runtime([edit, "I see."], User(), mode="auto", learn=False)
    runtime.add_folder(f"{lib}:ro")
    await run_turn(runtime, "do it", learn=False)
    [call] = calls_of(runtime)
    assert "is in a folder that was added read-only" in (call.result or "")
    assert (lib / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("access", ["", ":ro"])
async def test_commands_see_it_and_write_to_it_only_if_it_may_be_changed(
    lib: Path, access: str
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=lib, check=True)
    Path("work.py").write_text(
        f"from pathlib import Path\nlib = Path({str(lib)!r})\n"
        "for name in ('made', '.git/config', 'AGENTS.md'):\n"
        "    try:\n        (lib / name).write_text('x')\n"
        "    except OSError as error:\n        print(error)\n"
    )
    command = f"cat {lib}/a.txt; grep -r KEY {lib}; python3 work.py"
    run = calls(("run_command", {"command": command, "access": "write"}))
    runtime = make_runtime([run, "Done."], User([NO]), mode="auto", learn=False)
    skip_without_sandbox(runtime)
    runtime.add_folder(f"{lib}{access}")
    before = (lib / ".git/config").read_text()
    await run_turn(runtime, "do it", learn=False)
    [call] = calls_of(runtime)
    assert "one" in (call.result or "")
    assert "canary" not in (call.result or "")
    assert (lib / "made").exists() == (access == "")
    assert (lib / ".git/config").read_text() == before
    assert not (lib / "AGENTS.md").exists(), "what instructs an assistant is set aside"


@pytest.mark.parametrize("answer", [True, False])
async def test_a_command_that_names_a_secret_there_sees_it_after_a_yes(
    lib: Path, answer: bool
) -> None:
    run = calls(("run_command", {"command": f"cat {lib}/.env"}))
    user = User([Decision(answer)])
    runtime = make_runtime([run, "Done."], user, mode="auto", learn=False)
    skip_without_sandbox(runtime)
    runtime.add_folder(f"{lib}:ro")
    await run_turn(runtime, "do it", learn=False)
    [call] = calls_of(runtime)
    assert len(user.asked) == 1
    assert ("canary" in (call.result or "")) == answer


async def test_a_folder_that_disappears_is_closed_and_the_session_goes_on(lib: Path) -> None:
    steps = [
        calls(("write_file", {"path": f"{lib}/c.txt", "content": "x"})),
        calls(("run_command", {"command": "echo fine"})),
        "Done.",
    ]
    runtime = make_runtime(steps, User(), mode="auto", learn=False)
    ctx = ScriptedContext(runtime, width=200)
    await ctx.type(f"/add-dir {lib}")
    shutil.rmtree(lib)
    await run_turn(runtime, "do it", learn=False)
    written, ran = [call.result or "" for call in calls_of(runtime)]
    assert "outside the workspace" in written
    assert "fine" in ran
    assert not lib.exists(), "it is not made anew"
    assert "it is gone" in await ctx.type("/add-dir")
    assert f"added folder {lib} (may be changed), which is gone" in await ctx.type("/permissions")


async def test_it_is_mentioned_and_its_secrets_stay_the_users_choice(lib: Path) -> None:
    runtime = make_runtime(["One.", "Two."], learn=False, deny=("read(*.env)",))
    turn = runtime.agent.prepare(f"see @{lib}/a.txt")
    assert turn.notices == (f"@{lib}/a.txt: outside the workspace; not sent.",)
    runtime.add_folder(str(lib))
    turn = runtime.agent.prepare(f"see @{lib}/a.txt and @{lib}/.env")
    assert "one" in str(turn.messages[-1]["content"])
    assert "canary" not in str(turn.messages[-1]["content"])
    assert "forbids reading" in turn.notices[0]


async def test_it_is_kept_with_the_session_and_named_when_that_is_resumed(lib: Path) -> None:
    first = make_runtime(["One."], learn=False)
    first.add_folder(f"{lib}:ro")
    await run_turn(first, "one", learn=False)
    session = first.session.id
    first.close()
    again = make_runtime(resume=session)
    assert f"added to this session: {lib} (read only) (/add-dir)" in again.notices
    assert [folder.path for folder in again.agent.permissions.usable_folders] == [str(lib)]
    forked = await ScriptedContext(again, width=200).type("/fork")
    assert f"not added to this session: {lib} (/add-dir)" in forked
    assert again.agent.permissions.usable_folders == ()
    again.resume(session)
    begun = await ScriptedContext(again, width=200).type("/new")
    assert f"not added to this session: {lib} (/add-dir)" in begun
    assert again.agent.permissions.usable_folders == ()
    again.close()


async def test_in_another_folder_the_session_does_not_have_it(lib: Path, tmp_path: Path) -> None:
    first = make_runtime(["One."], learn=False)
    first.add_folder(str(lib))
    await run_turn(first, "one", learn=False)
    session = first.session.id
    exported = first.sessions.archive.export(session)
    first.close()
    assert "folders" not in exported
    (tmp_path / "elsewhere").mkdir()
    there = make_runtime(cwd=tmp_path / "elsewhere", resume=session)
    assert there.agent.permissions.usable_folders == ()
    there.close()
    assert make_runtime(resume=session).agent.permissions.usable_folders != ()


@pytest.mark.slow
def test_the_flag_adds_it_in_a_run_without_a_screen(lib: Path) -> None:
    call = {"calls": [{"name": "read_file", "arguments": {"path": f"{lib}/a.txt"}}]}
    model = script("s.json", call, "Done.")
    done = swecli(
        "-p", "go", "-m", model, "--add-dir", f"{lib}:ro", "--output-format", "stream-json"
    )
    assert done.code == 0
    results = [json.loads(line) for line in done.out.splitlines()]
    [finished] = [event for event in results if event["type"] == "tool_finished"]
    assert finished["result"]["ok"]


@pytest.mark.slow
def test_a_flag_with_a_folder_that_cannot_be_added_ends_the_run_with_one_line(lib: Path) -> None:
    done = swecli("-p", "go", "-m", script("s.json", "never"), "--add-dir", f"{lib}/nosuch")
    assert done.code == BadInput.exit_code
    assert f"There is no folder {lib}/nosuch." in done.complaint
    assert done.out == ""


async def test_each_session_of_a_run_has_the_folders_of_its_flags(lib: Path) -> None:
    start = replace(make_start(), add_dirs=(str(lib),))
    runtime = build_runtime(start, User(), model=ScriptedModel())
    runtime.new_session()
    assert [folder.path for folder in runtime.agent.permissions.usable_folders] == [str(lib)]
    runtime.close()
