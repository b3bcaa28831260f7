"""Test `swecli acp` as editors drive it: a process, the official library at the other end."""

from __future__ import annotations

import asyncio
import base64
import io
from pathlib import Path

import pytest
from acp import RequestError, image_block, resource_block, resource_link_block, text_block
from acp.schema import McpServerStdio, TextResourceContents
from PIL import Image

from tests.support.editor import find_processes, open_editor
from tests.support.shell import script, start_process, swecli, wait_for_exit
from tests.support.strict_provider import Call, Reply, StrictProvider
from tests.support.strict_provider.server import OPENAI_MODEL

pytestmark = pytest.mark.slow


def write(path: str, content: str) -> dict[str, object]:
    return {"calls": [{"name": "write_file", "arguments": {"path": path, "content": content}}]}


async def test_an_edit_is_shown_with_both_texts_and_made_once_it_is_allowed() -> None:
    model = script("s.json", write("a.txt", "hello\n"), "Written.")
    async with open_editor("-m", model) as opened:
        session = await opened.new_session()
        assert await opened.prompt(session, "write a.txt") == "end_turn"
        tool_call, options = opened.editor.questions[0]
        assert tool_call.title == "Create a.txt (+1)"
        assert [option.kind for option in options][0] == "allow_once"
        (call,) = opened.editor.calls().values()
        assert (call["kind"], call["status"]) == ("edit", "completed")
        (diff,) = call["content"]
        path = str(Path("a.txt").absolute())
        assert (diff["type"], diff["path"], diff["new_text"]) == ("diff", path, "hello\n")
        assert [place["path"] for place in call["locations"]] == [path]
        assert opened.editor.text() == "Written."
    assert Path("a.txt").read_text() == "hello\n"


async def test_a_refused_edit_is_not_made_and_the_call_fails() -> None:
    model = script("s.json", write("a.txt", "hello\n"), "Not written.")
    async with open_editor("-m", model, answers=["reject_once"]) as opened:
        session = await opened.new_session()
        assert await opened.prompt(session, "write a.txt") == "end_turn"
        (call,) = opened.editor.calls().values()
        assert call["status"] == "failed"
        assert "refused this call" in call["content"][0]["content"]["text"]
    assert not Path("a.txt").exists()


async def test_a_turn_that_is_cancelled_at_its_question_ends_with_its_call() -> None:
    model = script("s.json", write("a.txt", "hello\n"), "Back again.")
    async with open_editor("-m", model, answers=["never"]) as opened:
        session = await opened.new_session()
        turn = asyncio.create_task(opened.prompt(session, "write a.txt"))
        await opened.editor.asked.wait()
        await opened.agent.cancel(session_id=session)
        assert await turn == "cancelled"
        (call,) = opened.editor.calls().values()
        assert call["status"] == "failed"
        assert "stopped by you before it ran" in str(call["content"])
        assert await opened.prompt(session, "and now?") == "end_turn"
        assert opened.editor.text() == "Back again."
    assert not Path("a.txt").exists()


async def test_a_question_that_the_editor_cancels_ends_the_turn() -> None:
    model = script("s.json", write("a.txt", "hello\n"), "Never said.")
    async with open_editor("-m", model, answers=["cancelled"]) as opened:
        session = await opened.new_session()
        assert await opened.prompt(session, "write a.txt") == "cancelled"
    assert not Path("a.txt").exists()


async def test_a_command_that_runs_is_stopped_with_its_turn() -> None:
    command = {"calls": [{"name": "run_command", "arguments": {"command": "echo one; sleep 61.5"}}]}
    async with open_editor("-m", script("s.json", command), "--mode", "auto") as opened:
        session = await opened.new_session()
        turn = asyncio.create_task(opened.prompt(session, "sleep"))
        await opened.editor.wait_for(lambda: "one" in str(opened.editor.calls()))
        await opened.agent.cancel(session_id=session)
        assert await turn == "cancelled"
        (call,) = opened.editor.calls().values()
        assert (call["kind"], call["status"]) == ("execute", "failed")
        assert not find_processes("sleep 61.5")


async def test_a_lasting_yes_switches_the_mode_and_the_editor_is_told() -> None:
    model = script("s.json", write("a.txt", "1\n"), write("b.txt", "2\n"), "Both.")
    async with open_editor("-m", model, answers=["allow_always"]) as opened:
        session = await opened.new_session()
        await opened.prompt(session, "write both")
        assert len(opened.editor.questions) == 1
        assert [
            update.current_mode_id for update in opened.editor.of_kind("current_mode_update")
        ] == ["edits"]
    assert Path("b.txt").read_text() == "2\n"


async def test_a_mode_that_the_editor_sets_holds_from_the_next_call_on() -> None:
    model = script("s.json", write("a.txt", "1\n"), "Done.", write("b.txt", "2\n"), "Refused.")
    async with open_editor("-m", model) as opened:
        created = await opened.agent.new_session(cwd=str(Path.cwd()), mcp_servers=[])
        session = created.session_id
        assert created.modes is not None
        assert [mode.id for mode in created.modes.available_modes] == [
            "ask",
            "edits",
            "plan",
            "auto",
        ]
        await opened.agent.set_session_mode(session_id=session, mode_id="edits")
        await opened.prompt(session, "write a.txt")
        changed = await opened.agent.set_config_option(
            session_id=session, config_id="mode", value="plan"
        )
        values = {option.id: option.current_value for option in changed.config_options}
        assert values["mode"] == "plan"
        await opened.prompt(session, "write b.txt")
        assert opened.editor.questions == []
        with pytest.raises(RequestError, match="Unknown mode 'turbo'"):
            await opened.agent.set_session_mode(session_id=session, mode_id="turbo")
    assert Path("a.txt").exists()
    assert not Path("b.txt").exists()


async def test_two_sessions_work_in_two_folders_at_the_same_time() -> None:
    one, two = Path("one").absolute(), Path("two").absolute()
    for folder in (one, two):
        folder.mkdir()
        (folder / "who.txt").write_text(f"{folder.name}\n")
    read = {"calls": [{"name": "read_file", "arguments": {"path": "who.txt"}}]}
    script("s.json", read, write("made.txt", "x\n"), "Done.")
    async with open_editor("-m", f"scripted/{Path('s.json').absolute()}") as opened:
        sessions = [await opened.new_session(folder) for folder in (one, two)]
        await asyncio.gather(*(opened.prompt(session, "who?") for session in sessions))
        for session, folder in zip(sessions, (one, two), strict=True):
            calls = opened.editor.calls(session).values()
            reading = next(call for call in calls if call["kind"] == "read")
            assert reading["locations"] == [{"path": str(folder / "who.txt")}]
            assert (folder / "made.txt").exists()
    assert not Path("made.txt").exists()


async def test_a_session_is_listed_loaded_and_continued_by_another_editor() -> None:
    todo = {"items": [{"text": "write a.txt", "status": "done"}, {"text": "rest"}]}
    listing = {"calls": [{"name": "todo", "arguments": todo}]}
    model = script(
        "s.json", listing, write("a.txt", "hello\n"), {"text": "Written.", "reasoning": "hm"}
    )
    async with open_editor("-m", model) as opened:
        session = await opened.new_session()
        await opened.prompt(session, "write a.txt")
        (plan,) = opened.editor.of_kind("plan")
        assert [(entry.content, entry.status) for entry in plan.entries] == [
            ("write a.txt", "completed"),
            ("rest", "pending"),
        ]
        assert opened.editor.of_kind("agent_thought_chunk")
        assert opened.editor.of_kind("usage_update")

    async with open_editor("-m", script("t.json", "Here again.")) as opened:
        listed = await opened.agent.list_sessions(cwd=str(Path.cwd()))
        assert [(info.session_id, info.title) for info in listed.sessions] == [
            (session, "write a.txt")
        ]
        assert (await opened.agent.list_sessions(cwd="/tmp")).sessions == []
        await opened.agent.load_session(cwd=str(Path.cwd()), session_id=session, mcp_servers=[])
        editor = opened.editor
        (query,) = editor.of_kind("user_message_chunk")
        assert query.content.text == "write a.txt"
        assert editor.text() == "Written."
        assert {call["kind"]: call["status"] for call in editor.calls().values()} == {
            "think": "completed",
            "edit": "completed",
        }
        assert await opened.prompt(session, "are you there?") == "end_turn"
        assert editor.text() == "Written.Here again."


async def test_a_session_goes_on_in_the_terminal_and_back_in_the_editor() -> None:
    async with open_editor("-m", script("s.json", "In the editor.")) as opened:
        session = await opened.new_session()
        await opened.prompt(session, "first")
    done = swecli("-c", "-p", "second", "-m", script("t.json", "In the terminal."), "--no-reflect")
    assert (done.code, done.out) == (0, "In the terminal.\n")
    async with open_editor("-m", script("u.json", "Back.")) as opened:
        await opened.agent.resume_session(cwd=str(Path.cwd()), session_id=session, mcp_servers=[])
        assert opened.editor.of_kind("user_message_chunk") == []
        await opened.prompt(session, "third")
    shown = swecli("sessions", "show", session)
    assert [
        text
        for text in ("first", "In the editor.", "second", "In the terminal.", "third", "Back.")
        if text not in shown.out
    ] == []


async def test_turns_of_the_terminal_are_loaded_before_the_next_one_of_the_editor() -> None:
    async with open_editor("-m", script("s.json", "One.", "Three.")) as opened:
        session = await opened.new_session()
        await opened.prompt(session, "first")
        done = swecli("-c", "-p", "second", "-m", script("t.json", "Two."), "--no-reflect")
        assert (done.code, "open in another swecli" in done.err) == (0, True)
        await opened.prompt(session, "third")
        assert "T2 is of another swecli: second → Two." in opened.editor.text()


async def test_an_editor_that_leaves_at_a_question_leaves_an_interrupted_turn_that_goes_on() -> (
    None
):
    model = script("s.json", write("a.txt", "hello\n"), "Never said.")
    async with open_editor("-m", model, answers=["never"]) as opened:
        session = await opened.new_session()
        turn = asyncio.create_task(opened.prompt(session, "write a.txt"))
        await opened.editor.asked.wait()
        # the end of the context closes stdin and awaits the end of the process
    assert await turn == "cancelled"
    assert not Path("a.txt").exists()
    stored = swecli("sql", "SELECT tool, status FROM calls", "--json")
    assert "cancelled" in stored.out
    again = swecli("-c", "-p", "and now?", "-m", script("t.json", "Here."), "--no-reflect")
    assert (again.code, again.out) == (0, "Here.\n")


async def test_slash_commands_run_without_the_model_and_are_offered_to_the_editor() -> None:
    async with open_editor("-m", script("s.json", "Hello.")) as opened:
        session = await opened.new_session()
        await opened.editor.wait_for(
            lambda: bool(opened.editor.of_kind("available_commands_update"))
        )
        (update,) = opened.editor.of_kind("available_commands_update")
        names = [command.name for command in update.available_commands]
        assert {"context", "permissions", "playbook", "stats"} <= set(names)
        assert await opened.prompt(session, "/permissions allow run(git status*)") == "end_turn"
        assert await opened.prompt(session, "/permissions") == "end_turn"
        assert "run(git status" in opened.editor.text()
        with pytest.raises(
            RequestError, match="Unknown command /permision.*Did you mean /permissions"
        ):
            await opened.prompt(session, "/permision")


async def test_what_the_editor_attaches_reaches_the_model() -> None:
    Path("src").mkdir()
    Path("src/my file.py").write_text("one\ntwo\nthree\n")
    picture = io.BytesIO()
    Image.new("RGB", (4, 4)).save(picture, "PNG")
    with StrictProvider([Reply("Seen.")]) as server:
        model = f"openai/{OPENAI_MODEL}"
        async with open_editor("-m", model, environ=server.environ()) as opened:
            session = await opened.new_session()
            link = Path("src/my file.py").absolute().as_uri()
            buffer = TextResourceContents(uri="untitled:Untitled-1", text="an unsaved buffer")
            await opened.agent.prompt(
                session_id=session,
                prompt=[
                    text_block("compare "),
                    resource_link_block("my file.py", f"{link}#L2:3"),
                    text_block("with "),
                    resource_block(buffer),
                    image_block(base64.b64encode(picture.getvalue()).decode(), "image/png"),
                ],
            )
        sent = str(server.bodies[0])
        assert "lines 2-3" in sent
        assert "two\\\\nthree" in sent or "two\\nthree" in sent
        assert "one\\n" not in sent
        assert "an unsaved buffer" in sent
        assert "[image 4x4]" in sent


async def test_what_cannot_be_sent_is_named_and_nothing_is_stored() -> None:
    async with open_editor("-m", script("s.json", "Hello.")) as opened:
        session = await opened.new_session()
        with pytest.raises(RequestError, match="image/tiff cannot be sent"):
            await opened.agent.prompt(
                session_id=session, prompt=[image_block("AAAA", "image/tiff")]
            )
        with pytest.raises(RequestError, match="There is no prompt"):
            await opened.prompt(session, "  ")
        listed = await opened.agent.list_sessions(cwd=str(Path.cwd()))
        assert listed.sessions == []


async def test_without_a_model_the_editor_is_told_to_log_in() -> None:
    async with open_editor() as opened:
        with pytest.raises(RequestError) as caught:
            await opened.new_session()
        assert caught.value.code == -32000
        assert "no key and no local server was found" in str(caught.value)
        with pytest.raises(RequestError):
            await opened.agent.authenticate(method_id="configuration")


async def test_servers_that_the_editor_offers_are_named_as_not_used() -> None:
    server = McpServerStdio(name="files", command="/bin/false", args=[], env=[])
    async with open_editor("-m", script("s.json", "Hello.")) as opened:
        await opened.agent.new_session(
            cwd=str(Path.cwd()), mcp_servers=[server], additional_directories=["/srv/other"]
        )
        await opened.editor.wait_for(lambda: "one folder" in opened.editor.text())
        assert "others are read when you allow it: /srv/other" in opened.editor.text()
        assert "MCP servers of the editor are not used (files)" in opened.editor.text()


async def test_a_closed_session_is_not_open_and_a_deleted_one_is_gone() -> None:
    async with open_editor("-m", script("s.json", "Hello.")) as opened:
        session = await opened.new_session()
        await opened.prompt(session, "hi")
        await opened.agent.close_session(session_id=session)
        with pytest.raises(RequestError, match="Load it first: no session is open as"):
            await opened.prompt(session, "hi again")
        await opened.agent.load_session(cwd=str(Path.cwd()), session_id=session, mcp_servers=[])
        await opened.agent._conn.send_request("session/delete", {"sessionId": session})
        assert (await opened.agent.list_sessions()).sessions == []
        with pytest.raises(RequestError):
            await opened.agent.load_session(cwd=str(Path.cwd()), session_id=session, mcp_servers=[])


async def test_a_folder_is_trusted_in_the_editor_and_its_commands_are_offered_then() -> None:
    Path(".agents/commands").mkdir(parents=True)
    Path(".agents/commands/hail.md").write_text("Say hello to $ARGUMENTS.")
    Path("AGENTS.md").write_text("Be brief.")
    async with open_editor("-m", script("s.json", "Hello.")) as opened:
        session = await opened.new_session()
        await opened.editor.wait_for(lambda: "Run /trust" in opened.editor.text())
        await opened.prompt(session, "/trust")
        tool_call, _ = opened.editor.questions[0]
        shown = [each for each in tool_call.content or () if each.type == "diff"]
        assert {each.new_text for each in shown} == {"Say hello to $ARGUMENTS.", "Be brief."}
        assert "is trusted" in opened.editor.text()
        commands = opened.editor.of_kind("available_commands_update")[-1].available_commands
        assert "hail" in [command.name for command in commands]
        assert await opened.prompt(session, "/hail you") == "end_turn"
        assert "Say hello to you." in swecli("sessions", "show", session).out


async def test_a_copy_is_made_and_the_editor_goes_on_in_its_own_session() -> None:
    async with open_editor("-m", script("s.json", "One.", "Two.")) as opened:
        session = await opened.new_session()
        await opened.prompt(session, "first")
        await opened.prompt(session, "/fork")
        await opened.prompt(session, "second")
        listed = (await opened.agent.list_sessions()).sessions
        assert len(listed) == 2
    assert "second" in swecli("sessions", "show", session).out


async def test_a_plan_is_accepted_in_the_editor_which_ends_plan_mode() -> None:
    plan = {"plan": "Write a.txt.", "steps": ["write a.txt", "look at it"]}
    presenting = {"calls": [{"name": "present_plan", "arguments": plan}]}
    model = script("s.json", presenting, write("a.txt", "1\n"), "Done.")
    async with open_editor("-m", model, "--mode", "plan", answers=["allow_always"]) as opened:
        session = await opened.new_session()
        await opened.prompt(session, "plan it")
        tool_call, options = opened.editor.questions[0]
        assert tool_call.kind == "switch_mode"
        assert "Write a.txt." in str(tool_call.content)
        assert [option.option_id for option in options] == ["edits", "ask", "no"]
        (update,) = opened.editor.of_kind("current_mode_update")
        assert update.current_mode_id == "edits"
        (steps,) = opened.editor.of_kind("plan")
        assert [entry.content for entry in steps.entries] == ["write a.txt", "look at it"]
    assert Path("a.txt").exists()


async def test_a_question_of_the_model_is_answered_by_a_choice() -> None:
    question = {"question": "Tabs or spaces?", "choices": ["tabs", "spaces"]}
    free = {"question": "Which name?", "default": "a.txt"}
    with StrictProvider(
        [
            Reply(calls=(Call("ask_user", question),)),
            Reply(calls=(Call("ask_user", free),)),
            Reply("Good."),
        ]
    ) as server:
        model = f"openai/{OPENAI_MODEL}"
        async with open_editor("-m", model, environ=server.environ()) as opened:
            session = await opened.new_session()
            await opened.prompt(session, "go")
            assert len(opened.editor.questions) == 1, "a text cannot be asked for"
        assert "The user answers: tabs" in str(server.bodies[1])
        assert "Go on with your default" in str(server.bodies[2])


async def test_a_turn_waits_for_one_of_the_terminal_in_the_same_session() -> None:
    async with open_editor("-m", script("s.json", "One.", "Three.")) as opened:
        session = await opened.new_session()
        await opened.prompt(session, "first")
        slow = script("t.json", {"text": "a slow answer of the terminal", "piece": 1, "delay": 0.1})
        terminal = start_process("-c", "-p", "second", "-m", slow, "--no-reflect")
        turn = None
        while turn is None:
            if "second" in swecli("sessions", "show", session).out:
                turn = asyncio.create_task(opened.prompt(session, "third"))
            await asyncio.sleep(0.05)
        await opened.editor.wait_for(lambda: "Waiting for its end" in opened.editor.text())
        assert await turn == "end_turn"
        assert wait_for_exit(terminal).code == 0
        assert opened.editor.text().endswith("Three.")


async def test_a_failed_turn_is_an_error_with_the_reason() -> None:
    async with open_editor("-m", script("s.json", {"error": "The service is gone."})) as opened:
        session = await opened.new_session()
        with pytest.raises(RequestError, match="The script is over|The service is gone"):
            await opened.prompt(session, "hi")


async def test_auto_without_a_sandbox_is_not_set_by_a_click() -> None:
    environ = {"SWECLI_SANDBOX": "off"}
    async with open_editor("-m", script("s.json", "Hello."), environ=environ) as opened:
        session = await opened.new_session()
        with pytest.raises(RequestError, match="There is no sandbox to hold what mode auto runs"):
            await opened.agent.set_session_mode(session_id=session, mode_id="auto")


async def test_a_call_of_a_task_is_asked_about_and_ends_with_its_turn() -> None:
    task = {"title": "write", "prompt": "Write a.txt.", "tools": ["write_file"]}
    model = script(
        "s.json",
        {"calls": [{"name": "task", "arguments": task}]},
        write("a.txt", "1\n"),
        "Written in the task.",
        "Done.",
    )
    async with open_editor("-m", model) as opened:
        session = await opened.new_session()
        await opened.prompt(session, "go")
        calls = {call["title"]: call["status"] for call in opened.editor.calls().values()}
        assert calls["Create a.txt (+1)"] == "completed"
        assert set(calls.values()) == {"completed"}
    assert Path("a.txt").exists()


async def test_a_model_that_repeats_itself_is_asked_about_without_reopening_its_call() -> None:
    Path("a.txt").write_text("1\n")
    again = {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]}
    model = script("s.json", *[again] * 9, "Never said.")
    async with open_editor("-m", model, answers=["reject_once"]) as opened:
        session = await opened.new_session()
        assert await opened.prompt(session, "go") == "max_turn_requests"
        (asked, _), *_ = opened.editor.questions
        assert "repeat" in (asked.title or "")
        calls = opened.editor.calls()
        reads = [call["status"] for name, call in calls.items() if name != asked.tool_call_id]
        assert set(reads) == {"completed"}
        assert "the model repeated the same calls" in opened.editor.text()
