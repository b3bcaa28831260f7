"""Test whole runs of the REPL, from typed keys to printed text and requests."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from prompt_toolkit.input import PipeInput

from swecli.app import Runtime, build_runtime
from swecli.config.settings import Start
from swecli.models.errors import DamagedDatabase
from swecli.models.message import Ask, ModelRequest, Role
from swecli.repl import startup
from swecli.repl.commands.registry import CommandTable
from swecli.repl.repl import REPL
from tests.support.runtime import calls, make_start
from tests.support.screenless import CTRL_C, CTRL_D, ESC, SHIFT_TAB, UP, play
from tests.support.scripted import Reply, ScriptedModel


async def test_a_line_is_sent_and_its_answer_printed() -> None:
    played = await play("hello\rexit\r", ["Good day."])
    assert played.code == 0
    assert "Good day." in played.text
    assert played.model.requests[0].messages[-1]["content"].startswith("hello")


@pytest.mark.slow
async def test_lines_typed_ahead_are_sent_in_order() -> None:
    played = await play("one\rtwo\rthree\rexit\r", ["1st", "2nd", "3rd"])
    asked = [request.messages[-1]["content"].split("\n")[0] for request in played.model.requests]
    assert asked == ["one", "two", "three"]
    assert played.text.index("1st") < played.text.index("2nd") < played.text.index("3rd")


@pytest.mark.parametrize(
    "keys", ["exit\r", ":q\r", "quit\r", "/exit\r", "/q\r", CTRL_D, CTRL_C + CTRL_C]
)
async def test_words_commands_and_keys_that_quit(keys: str) -> None:
    played = await play(keys)
    assert (played.code, played.model.requests) == (0, [])


async def test_ctrl_c_quits_only_when_pressed_twice_without_typing_between() -> None:
    played = await play(f"{CTRL_C}x\x7f{CTRL_C}hello\rexit\r", ["Still here."])
    assert "Still here." in played.text


async def test_an_unknown_command_gets_suggestions_and_is_not_sent() -> None:
    played = await play("/statsu now\r/nosuch\rexit\r")
    assert "Unknown command /statsu" in played.text
    assert "/status" in played.text
    assert "Unknown command /nosuch" in played.text
    assert played.model.requests == []


async def test_a_long_error_is_wrapped_between_words() -> None:
    played = await play(f"/{'x' * 50}\rexit\r")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", played.text)
    [error] = [line for line in plain.splitlines() if "✗ Unknown command" in line]
    assert len(error) <= 80
    assert any(line.strip().endswith("the list.") for line in plain.splitlines()), (
        "no word of the hint is cut"
    )


async def test_a_line_that_begins_with_a_path_is_not_a_command() -> None:
    played = await play("/usr/bin is full\rexit\r", ["So it is."])
    assert played.model.requests[0].messages[-1]["content"].startswith("/usr/bin is full")


async def test_a_backslash_before_enter_and_ctrl_j_make_new_lines() -> None:
    played = await play("one\\\rtwo\nthree\rexit\r", ["ok"])
    assert played.model.requests[0].messages[-1]["content"].startswith("one\ntwo\nthree")


async def test_ctrl_c_clears_the_draft() -> None:
    played = await play(f"never sent{CTRL_C}sent\rexit\r", ["ok"])
    assert played.model.requests[0].messages[-1]["content"].startswith("sent")


async def test_a_long_paste_is_sent_whole() -> None:
    pasted = "\r".join(f"line {n}" for n in range(40))
    played = await play(f"see \x1b[200~{pasted}\x1b[201~\rexit\r", ["ok"])
    assert "line 0\nline 1\n" in played.model.requests[0].messages[-1]["content"]
    assert "line 39" in played.model.requests[0].messages[-1]["content"]


async def test_the_first_line_names_the_model() -> None:
    played = await play("exit\r")
    first = played.text.splitlines()[0]
    assert "swecli" in first
    assert "scripted/test (for this test)" in first


@pytest.mark.parametrize("key", [CTRL_C, ESC])
@pytest.mark.slow
async def test_an_interrupted_turn_leaves_a_valid_history(key: str) -> None:
    keyboard: list[PipeInput] = []

    def slowly(request: ModelRequest) -> Reply:
        keyboard[0].send_text(key)
        asyncio.get_running_loop().call_later(1.0, keyboard[0].send_text, "again\rexit\r")
        return Reply("This would take very long.", piece=1, delay=0.2)

    played = await play("go\r", [slowly, "Done."], hooks=lambda pipe, repl: keyboard.append(pipe))
    assert "interrupted" in played.text
    assert "Done." in played.text
    roles = [message["role"] for message in played.model.requests[1].messages]
    assert roles[:2] == ["system", "user"]
    assert roles[-1] == "user"
    assert roles.count("user") == 2


@pytest.mark.parametrize("key", [CTRL_C, ESC])
async def test_a_turn_interrupted_before_any_output_gives_its_line_back(key: str) -> None:
    keyboard: list[PipeInput] = []
    repls: list[REPL] = []
    drafts: list[str] = []

    def hooks(pipe: PipeInput, repl: REPL) -> None:
        keyboard.append(pipe)
        repls.append(repl)

    def hang(request: ModelRequest) -> Reply:
        loop = asyncio.get_running_loop()
        keyboard[0].send_text(key)
        loop.call_later(1.5, lambda: drafts.append(repls[0].prompt.buffer.text))  # type: ignore[union-attr]
        loop.call_later(1.6, keyboard[0].send_text, "\r")
        return Reply("never seen", delay=60)

    def leave(request: ModelRequest) -> Reply:
        keyboard[0].send_text("exit\r")
        return Reply("Done.")

    played = await play("fix the tests\r", [hang, leave], hooks=hooks)
    assert drafts == ["fix the tests"]
    assert played.model.requests[1].messages[-1]["content"].startswith("fix the tests")


async def test_queued_lines_are_held_after_an_interrupt_until_enter() -> None:
    keyboard: list[PipeInput] = []
    seen: list[tuple[tuple[str, ...], bool]] = []

    def slowly(request: ModelRequest) -> Reply:
        loop = asyncio.get_running_loop()
        keyboard[0].send_text(f"and then\r{ESC}")
        loop.call_later(1.0, lambda: seen.append((repls[0].queue.lines, repls[0].queue.held)))
        loop.call_later(1.2, keyboard[0].send_text, "\r")
        return Reply("This would take very long.", piece=1, delay=0.2)

    repls: list[REPL] = []

    def hooks(pipe: PipeInput, repl: REPL) -> None:
        keyboard.append(pipe)
        repls.append(repl)

    def leave(request: ModelRequest) -> Reply:
        keyboard[0].send_text("exit\r")
        return Reply("Done.")

    played = await play("go\r", [slowly, leave], hooks=hooks)
    assert seen == [(("and then",), True)]
    assert played.model.requests[1].messages[-1]["content"].startswith("and then")


@pytest.mark.slow
async def test_up_takes_a_queued_line_back_for_editing() -> None:
    keyboard: list[PipeInput] = []

    def type_more(request: ModelRequest) -> Reply:
        keyboard[0].send_text(f"sekond\r{UP}\x7f\x7f\x7f\x7f\x7fcond\rexit\r")
        return Reply("First.", piece=1, delay=0.05)

    played = await play("go\r", [type_more, "2nd"], hooks=lambda pipe, repl: keyboard.append(pipe))
    assert played.model.requests[1].messages[-1]["content"].startswith("scond")


async def test_ctrl_c_on_an_empty_line_first_clears_the_queue() -> None:
    keyboard: list[PipeInput] = []

    def type_more(request: ModelRequest) -> Reply:
        keyboard[0].send_text(f"never\r{CTRL_C}")
        asyncio.get_running_loop().call_later(0.3, keyboard[0].send_text, "exit\r")
        return Reply("First, and whole.", piece=1, delay=0.05)

    played = await play("go\r", [type_more], hooks=lambda pipe, repl: keyboard.append(pipe))
    assert "First, and whole." in played.text
    assert len(played.model.requests) == 1


@pytest.mark.slow
async def test_a_command_that_needs_no_agent_runs_during_a_turn() -> None:
    keyboard: list[PipeInput] = []

    def ask_for_more(request: ModelRequest) -> Reply:
        keyboard[0].send_text("/cost\r/window 2\rexit\r")
        return Reply("At the end.", piece=1, delay=0.1)

    played = await play("go\r", [ask_for_more], hooks=lambda pipe, repl: keyboard.append(pipe))
    assert played.text.index("total tokens") < played.text.index("At the end.")
    assert str(played.runtimes[0].sessions.current_session.window) == "2"  # type: ignore[union-attr]


@pytest.mark.parametrize("keys", ["rather count to four\x14", "/steer rather count to four\r"])
@pytest.mark.slow
async def test_a_steering_line_is_in_the_next_request_of_the_running_turn(keys: str) -> None:
    keyboard: list[PipeInput] = []

    def first(request: ModelRequest) -> Reply:
        keyboard[0].send_text(keys)
        return replace(calls(("list_files", {})), text="Looking around.", piece=1, delay=0.05)

    played = await play(
        "go\rexit\r",
        [first, "One, two, three, four."],
        hooks=lambda pipe, repl: keyboard.append(pipe),
    )
    sent = played.model.requests[1].messages
    assert [message["role"] for message in sent[-3:]] == ["assistant", "tool", "user"]
    assert sent[-1]["content"] == "rather count to four"
    assert "rather count to four\n  └ to the running turn" in played.text
    session = played.runtimes[0].sessions.current_session
    assert session is not None
    assert session.interactions == 1, "a steering line belongs to the running turn"


@pytest.mark.slow
async def test_a_steering_line_during_the_last_answer_continues_the_turn() -> None:
    keyboard: list[PipeInput] = []

    def last(request: ModelRequest) -> Reply:
        keyboard[0].send_text("one more thing\x14")
        return Reply("That is all.", piece=1, delay=0.05)

    played = await play(
        "go\rexit\r", [last, "And this."], hooks=lambda pipe, repl: keyboard.append(pipe)
    )
    assert played.model.requests[1].messages[-1]["content"] == "one more thing"
    assert "And this." in played.text


async def test_a_line_typed_during_a_turn_is_sent_after_it() -> None:
    keyboard: list[PipeInput] = []

    def type_more(request: ModelRequest) -> Reply:
        keyboard[0].send_text("and then\rexit\r")
        return Reply("First.", piece=1, delay=0.01)

    played = await play(
        "go\r", [type_more, "Second."], hooks=lambda pipe, repl: keyboard.append(pipe)
    )
    assert played.model.requests[1].messages[-1]["content"].startswith("and then")
    assert "Second." in played.text


@pytest.mark.slow
async def test_keys_typed_before_a_question_do_not_answer_it() -> None:
    keyboard: list[PipeInput] = []

    def type_ahead(request: ModelRequest) -> Reply:
        loop = asyncio.get_running_loop()
        loop.call_soon(keyboard[0].send_text, "1 is a number\r")
        loop.call_later(2.0, keyboard[0].send_text, "3")  # read and then answered
        return calls(("run_command", {"command": "touch made"}))

    def leave(request: ModelRequest) -> Reply:
        keyboard[0].send_text("exit\r")
        return Reply("Right.")

    played = await play(
        "go\r", [type_ahead, "I see.", leave], hooks=lambda pipe, repl: keyboard.append(pipe)
    )
    assert "refused" in played.text
    assert not Path("made").exists()
    turns = [one for one in played.model.requests if one.purpose == "turn"]
    assert turns[-1].messages[-1]["content"].startswith("1 is a number")


@pytest.mark.slow
async def test_learned_strategies_are_reported() -> None:
    played = await play("remember that the tests run with make check\r/reflect\rexit\r", ["Noted."])
    assert "learned" in played.text
    assert any(
        "make check" in b.content
        for b in played.runtimes[0].sessions.current_session.playbook.live_bullets()
    )


@pytest.mark.slow
async def test_the_next_message_contains_the_output_of_shared_shell_lines_only() -> None:
    played = await play("!echo to be seen\r!!echo just mine\rso?\rexit\r", ["I saw it."])
    assert "to be seen" in played.text
    assert "just mine" in played.text
    sent = played.model.requests[0].messages[-1]["content"]
    assert "to be seen" in sent
    assert "just mine" not in sent


async def test_a_mode_chosen_while_loading_is_kept() -> None:
    played = await play(f"{SHIFT_TAB}{SHIFT_TAB}/mode\rexit\r")
    assert played.runtimes[0].agent.permissions.mode == "plan"


@pytest.mark.slow
async def test_a_prompt_given_at_the_start_is_the_first_message() -> None:
    start = replace(make_start(), prompt="look around")
    played = await play("exit\r", ["Nothing here."], start=start)
    assert played.model.requests[0].messages[-1]["content"].startswith("look around")
    assert "> look around" in played.text


async def test_a_database_that_cannot_be_used_ends_the_run_with_one_line() -> None:
    def broken(start: Start, ask: Ask) -> Runtime:
        raise DamagedDatabase("swecli.db is not a database.", "Move it away.")

    played = await play("", build=broken)
    assert played.code == 1
    assert "swecli.db is not a database. · Move it away." in played.text


async def test_a_failed_start_is_reported_once_even_if_a_line_was_sent() -> None:
    def broken(start: Start, ask: Ask) -> Runtime:
        raise DamagedDatabase("swecli.db is not a database.")

    played = await play("hello\r", build=broken)
    assert played.code == 1
    assert played.text.count("swecli.db is not a database.") == 1


async def test_an_unexpected_error_while_starting_is_one_line() -> None:
    def broken(start: Start, ask: Ask) -> Runtime:
        raise RuntimeError("boom")

    played = await play("hello\r", build=broken)
    assert played.code == 1
    assert "RuntimeError: boom" in played.text
    assert "Traceback" not in played.text


async def test_nothing_is_loaded_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    discover = startup._discover

    def slow(start: Start) -> CommandTable:
        time.sleep(0.3)
        return discover(start)

    monkeypatch.setattr(startup, "_discover", slow)
    played = await play(CTRL_D)
    await asyncio.sleep(0.5)
    assert played.runtimes == []


@pytest.mark.slow
async def test_after_a_failed_start_the_draft_is_in_the_history() -> None:
    keyboard: list[PipeInput] = []

    def broken(start: Start, ask: Ask) -> Runtime:
        keyboard[0].send_text("half a thought")
        time.sleep(0.3)
        raise DamagedDatabase("no")

    played = await play("", build=broken, hooks=lambda pipe, repl: keyboard.append(pipe))
    assert "+half a thought\n" in played.repl.start.paths.history.read_text()


async def test_a_line_sent_while_loading_can_be_taken_back() -> None:
    keyboard: list[PipeInput] = []

    def slow(start: Start, ask: Ask) -> Runtime:
        time.sleep(0.3)
        keyboard[0].send_text(CTRL_C)
        time.sleep(0.3)
        keyboard[0].send_text(" at last\rexit\r")
        return build_runtime(start, ask, model=model)

    model = ScriptedModel(["There."])
    await play("hello\r", build=slow, hooks=lambda pipe, repl: keyboard.append(pipe))
    assert model.requests[0].messages[-1]["content"].startswith("hello at last")


@pytest.mark.slow
async def test_sigterm_ends_the_run_with_code_143() -> None:
    def end(request: ModelRequest) -> Reply:
        os.kill(os.getpid(), signal.SIGTERM)
        return Reply("Too late.", piece=1, delay=0.05)

    played = await play("go\r", [end])
    assert played.code == 143


@pytest.mark.slow
async def test_a_resumed_session_shows_its_last_exchange() -> None:
    await play("remember the tune\rexit\r", ["La la la."])
    played = await play("/status\rexit\r", start=replace(make_start(), resume=""))
    assert "remember the tune" in played.text
    assert "La la la." in played.text
    assert "1 turn" in played.text


async def test_turns_without_a_reflection_are_learned_from_at_the_next_start() -> None:
    runtime = build_runtime(make_start(), None, model=ScriptedModel([]))  # type: ignore[arg-type]
    runtime.sessions.begin_interaction("remember that commits are signed")
    runtime.sessions.finish_interaction("done")
    runtime.close()
    # /redo waits for the reflection
    played = await play("/redo\r/playbook\r/status\rexit\r", start=replace(make_start(), resume=""))
    assert "commits are signed" in played.text
    assert "nothing to reflect on" in played.text


async def test_a_query_is_stored_once(tmp_path) -> None:  # type: ignore[no-untyped-def]
    played = await play("one\rexit\r", ["1st"])
    session = played.runtimes[0].sessions.current_session
    assert session is not None
    assert [m.role for m in session.messages] == [Role.USER, Role.ASSISTANT]


@pytest.mark.parametrize("moment", ["loading", "warming up"])
@pytest.mark.slow
async def test_a_sent_line_is_stored_if_the_program_ends_before_its_turn(moment: str) -> None:
    def slow(start: Start, ask: Ask) -> Runtime:
        if moment == "loading":
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.3)
        runtime = build_runtime(start, ask, model=model)
        if moment == "warming up":
            os.kill(os.getpid(), signal.SIGTERM)
        return runtime

    model = ScriptedModel(["Too late."])
    played = await play("not to be lost\r", build=slow)
    assert played.code == 143
    runtime = build_runtime(replace(make_start(), resume=""), None, model=ScriptedModel([]))  # type: ignore[arg-type]
    session = runtime.sessions.current_session
    assert session is not None
    assert [message.content for message in session.messages] == ["not to be lost"]
    runtime.close()
