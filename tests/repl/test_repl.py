"""Test whole runs of the REPL, from its first lines and typed keys to printed text, requests and titles."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.input import PipeInput

from swecli.app import Runtime, build_runtime
from swecli.config.settings import Start
from swecli.models.approval import Ask
from swecli.models.errors import BadInput, DamagedDatabase, ProviderError, SwecliError
from swecli.models.message import ModelRequest, Role
from swecli.models.model_choice import ModelChoice
from swecli.repl import startup
from swecli.repl.commands.registry import CommandTable
from swecli.repl.key_map import KeyMap
from swecli.repl.repl import REPL, _banner, _describe_model, _format_error, _wrap_parts
from swecli.text import short_path
from tests.support.runtime import calls, make_start
from tests.support.screenless import CTRL_C, CTRL_D, ESC, SHIFT_TAB, UP, ReplRun, play
from tests.support.scripted import Reply, ScriptedModel


def last_text(request: ModelRequest) -> str:
    """Return the text of the last message that a request sends."""
    return request.messages[-1]["content"] or ""


async def test_a_line_is_sent_and_its_answer_printed() -> None:
    played = await play("hello\rexit\r", ["Good day."])
    assert played.code == 0
    assert "Good day." in played.text
    assert last_text(played.model.requests[0]).startswith("hello")


@pytest.mark.slow
async def test_lines_typed_ahead_are_sent_in_order() -> None:
    played = await play("one\rtwo\rthree\rexit\r", ["1st", "2nd", "3rd"])
    asked = [last_text(request).split("\n")[0] for request in played.model.requests]
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


async def test_words_behind_a_command_that_takes_none_are_not_lost_in_silence() -> None:
    played = await play("\x1b[200~/status\r/cost\x1b[201~\r/plan fix it\rexit\r")
    assert "/status takes no arguments, not '/cost'" in played.text
    assert "/plan takes no arguments, not 'fix it'" in played.text
    assert "database" not in played.text, "nothing was run"


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
    assert last_text(played.model.requests[0]).startswith("/usr/bin is full")


async def test_a_backslash_before_enter_and_ctrl_j_make_new_lines() -> None:
    played = await play("one\\\rtwo\nthree\rexit\r", ["ok"])
    assert last_text(played.model.requests[0]).startswith("one\ntwo\nthree")


async def test_ctrl_c_clears_the_draft() -> None:
    played = await play(f"never sent{CTRL_C}sent\rexit\r", ["ok"])
    assert last_text(played.model.requests[0]).startswith("sent")


async def test_a_long_paste_is_sent_whole() -> None:
    pasted = "\r".join(f"line {n}" for n in range(40))
    played = await play(f"see \x1b[200~{pasted}\x1b[201~\rexit\r", ["ok"])
    assert "line 0\nline 1\n" in last_text(played.model.requests[0])
    assert "line 39" in last_text(played.model.requests[0])


async def test_a_message_longer_than_any_request_is_not_sent_and_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drafts: list[str] = []

    def leave_at_the_draft(pipe: PipeInput, repl: REPL) -> None:
        def take(text: str, offered: bool = False) -> None:
            drafts.append(text)
            repl.quit()

        monkeypatch.setattr(repl.prompt, "set_draft", take)
        repl.submit(repl.prompt.history.pastes.add_text("x" * 500_001))

    played = await play("", [], hooks=leave_at_the_draft)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", played.text)
    assert "Not sent: your message has 500,001 characters, and a request may have" in plain
    assert drafts == ["[Pasted text #1 · 500,001 characters]"]
    assert played.model.requests == []


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
    assert last_text(played.model.requests[1]).startswith("fix the tests")


async def test_queued_lines_are_held_after_an_interrupt_until_enter() -> None:
    keyboard: list[PipeInput] = []
    seen: list[tuple[tuple[str, ...], bool]] = []

    def slowly(request: ModelRequest) -> Reply:
        loop = asyncio.get_running_loop()
        keyboard[0].send_text(f"and then\r{ESC}")
        loop.call_later(1.0, lambda: seen.append((repls[0].queue.lines, repls[0].queue.is_held)))
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
    assert last_text(played.model.requests[1]).startswith("and then")


@pytest.mark.slow
async def test_up_takes_a_queued_line_back_for_editing() -> None:
    keyboard: list[PipeInput] = []

    def type_more(request: ModelRequest) -> Reply:
        keyboard[0].send_text(f"sekond\r{UP}\x7f\x7f\x7f\x7f\x7fcond\rexit\r")
        return Reply("First.", piece=1, delay=0.05)

    played = await play("go\r", [type_more, "2nd"], hooks=lambda pipe, repl: keyboard.append(pipe))
    assert last_text(played.model.requests[1]).startswith("scond")


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
    assert last_text(played.model.requests[1]) == "one more thing"
    assert "And this." in played.text


async def test_a_line_typed_during_a_turn_is_sent_after_it() -> None:
    keyboard: list[PipeInput] = []

    def type_more(request: ModelRequest) -> Reply:
        keyboard[0].send_text("and then\rexit\r")
        return Reply("First.", piece=1, delay=0.01)

    played = await play(
        "go\r", [type_more, "Second."], hooks=lambda pipe, repl: keyboard.append(pipe)
    )
    assert last_text(played.model.requests[1]).startswith("and then")
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
    assert last_text(turns[-1]).startswith("1 is a number")


@pytest.mark.slow
async def test_ctrl_d_asks_what_is_open_before_it_leaves_and_enter_leaves_it_open() -> None:
    Path("other.md").write_text("<!-- swecli playbook 1 -->\n- [P-1] answer in rhymes\n")
    titles: list[str] = []

    async def leave(pipe: PipeInput, repl: REPL) -> None:
        while repl.working or "Done." not in repl_text(repl):
            await asyncio.sleep(0.05)
        pipe.send_text(CTRL_D)
        while repl.prompt.question is None:  # type: ignore[union-attr]
            await asyncio.sleep(0.05)
        question = repl.prompt.question  # type: ignore[union-attr]
        titles.append(question.title)
        while not question.is_open:
            await asyncio.sleep(0.05)
        pipe.send_text("\r")

    leaving: list[asyncio.Task[None]] = []

    def start_leaving(pipe: PipeInput, repl: REPL) -> None:
        leaving.append(asyncio.get_running_loop().create_task(leave(pipe, repl)))

    played = await play("/playbook add --from other.md\rgo\r", ["Done."], hooks=start_leaving)
    assert titles == ["Use P-1 in prompts? (it comes from outside of this playbook)"]
    assert "P-1 answer in rhymes" in played.text
    assert "continues this session" in played.text
    assert leaving[0].done()


def repl_text(repl: REPL) -> str:
    """Return the last answer of the session, "" if there is none yet."""
    if not hasattr(repl, "session_manager") or repl.session_manager.current_session is None:
        return ""
    messages = repl.session_manager.session.messages
    return messages[-1].content if messages else ""


@pytest.mark.slow
async def test_learned_strategies_are_reported() -> None:
    played = await play("remember that the tests run with make check\r/reflect\rexit\r", ["Noted."])
    assert "learned" in played.text
    bullets = played.runtimes[0].session.playbook.live_bullets()
    assert any("make check" in bullet.content for bullet in bullets)


@pytest.mark.slow
async def test_the_next_message_contains_the_output_of_shared_shell_lines_only() -> None:
    played = await play("!echo to be seen\r!!echo just mine\rso?\rexit\r", ["I saw it."])
    assert "to be seen" in played.text
    assert "just mine" in played.text
    sent = last_text(played.model.requests[0])
    assert "to be seen" in sent
    assert "just mine" not in sent


async def test_a_mode_chosen_while_loading_is_kept() -> None:
    played = await play(f"{SHIFT_TAB}{SHIFT_TAB}/mode\rexit\r")
    assert played.runtimes[0].agent.permissions.mode == "plan"


@pytest.mark.slow
async def test_a_prompt_given_at_the_start_is_the_first_message() -> None:
    start = replace(make_start(), prompt="look around")
    played = await play("exit\r", ["Nothing here."], start=start)
    assert last_text(played.model.requests[0]).startswith("look around")
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
    assert last_text(model.requests[0]).startswith("hello at last")


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
    assert "1 turn to reflect on" in played.text, "once the user has reacted to it"


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


def test_the_banner_names_the_demo_model_and_why_it_is_used() -> None:
    start = replace(
        make_start(Path.home()),
        choice=ModelChoice("demo", "no key found"),
        notices=("something odd",),
    )
    lines = _banner(start, KeyMap(), color=False, width=100).splitlines()
    assert lines[0] == "swecli 0.2.0 · demo model (offline tour; no key found) · ~"
    assert lines[1] == "/help for commands · Shift+Tab to switch mode"
    assert lines[2] == "! something odd"


def test_a_long_description_of_the_model_is_wrapped_between_words() -> None:
    why = "the answers are recorded ones, everything else is real"
    start = replace(make_start(Path.home()), choice=ModelChoice("demo", why))
    lines = _banner(start, KeyMap(), color=False, width=60).splitlines()
    assert all(len(line) <= 60 for line in lines)
    assert " ".join(lines[1:3]).startswith(f"demo model (offline tour; {why})")


def test_a_model_is_named_with_the_reason_for_its_choice() -> None:
    assert (
        _describe_model("openai/gpt", "OPENAI_API_KEY is set")
        == "openai/gpt (OPENAI_API_KEY is set)"
    )
    assert _describe_model("openai/gpt", "") == "openai/gpt"


def test_escape_sequences_in_a_folder_name_are_not_printed() -> None:
    start = make_start(Path("/tmp/evil\x1b[31m"))
    assert "\x1b" not in _banner(start, KeyMap(), color=False)
    assert "\x1b[31m" not in _banner(start, KeyMap(), color=True)


@given(st.lists(st.text("ab ", min_size=1, max_size=30), min_size=1), st.integers(30, 100))
def test_the_banner_wraps_only_between_its_parts(parts: list[str], width: int) -> None:
    lines = _wrap_parts(parts, width)
    assert " · ".join(lines) == " · ".join(parts)
    assert all(len(line) <= width for line in lines)


def test_the_home_folder_is_shortened_to_a_tilde() -> None:
    assert short_path(Path.home()) == "~"
    assert short_path(Path.home() / "a" / "b") == "~/a/b"
    assert short_path(Path("/opt")) == "/opt"


def test_a_failure_is_one_line_with_its_hint() -> None:
    assert (
        _format_error(BadInput("It broke\nin two.", "Mend it."), color=False)
        == "✗ It broke in two. · Mend it.\n"
    )
    assert _format_error(SwecliError("It broke."), color=False) == "✗ It broke.\n"


async def run_repl(small: ScriptedModel, *lines: str) -> ReplRun:
    """Send the lines to a REPL with a small model, and quit once no work is left."""

    turns = sum(not line.startswith("/") for line in lines)
    main = ScriptedModel(["ok"] * turns)

    def build(start: Start, ask: Ask) -> Runtime:
        runtime = build_runtime(start, ask, model=main)
        runtime.agent.condense_model = small
        return runtime

    def leave_at_the_end(pipe: Any, repl: REPL) -> None:
        async def quit() -> None:
            await repl.start_loading()
            while repl.working or repl.queue or len(main.requests) < turns:
                await asyncio.sleep(0.01)
            await repl._background.drain()
            repl.quit()

        tasks.append(asyncio.ensure_future(quit()))

    tasks: list[asyncio.Task[None]] = []
    return await play(
        "\r".join(lines) + "\r", start=make_start(), build=build, hooks=leave_at_the_end
    )


def title_of(done: ReplRun) -> str:
    session = done.runtimes[0].sessions.current_session
    assert session is not None
    return session.title


async def test_the_small_model_names_a_session_after_its_first_turn_and_only_once() -> None:
    small = ScriptedModel(['"Repairing the parser."\n', "Another"])
    done = await run_repl(small, "please repair the parser", "and the lexer")
    assert title_of(done) == "Repairing the parser"
    [request] = small.requests
    assert (request.purpose, request.tools) == ("title", [])
    assert "please repair the parser" in str(request.messages[0]["content"])


@pytest.mark.parametrize("reply", ["", "a long answer " * 20, ProviderError("It is down.")])
async def test_an_unusable_title_leaves_the_session_unnamed_and_prints_nothing(reply: Any) -> None:
    done = await run_repl(ScriptedModel([reply]), "hello")
    assert title_of(done) == ""
    assert "It is down" not in done.text


async def test_a_name_given_by_the_user_is_kept() -> None:
    small = ScriptedModel(["Something else"])
    done = await run_repl(small, "/rename mine", "hello")
    assert (title_of(done), small.requests) == ("mine", [])


async def test_the_resume_command_is_printed_at_the_end_unless_the_session_is_empty() -> None:
    done = await play("hello\rexit\r", ["ok"])
    session = done.runtimes[0].sessions.current_session
    assert session is not None
    assert re.search(r"\S+ -c continues this session\n$", done.text)
    assert "to continue" not in (await play("exit\r")).text
