"""Test goals in processes of their own: without a screen, in a terminal, killed, interrupted and on a full disk."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from swecli.config.paths import Paths
from tests.support.command_context import ScriptedContext
from tests.support.full_disk import type_on_a_full_disk
from tests.support.processes import none_is_left, processes_running
from tests.support.runtime import make_runtime
from tests.support.shell import script, start_process, swecli, wait_for_exit
from tests.support.strict_provider import Call, Reply, StrictProvider
from tests.support.strict_provider.script import Script
from tests.support.strict_provider.server import ANTHROPIC_MODEL, OPENAI_MODEL
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow

FLAGS = ("--mode", "edits", "--no-reflect")


@pytest.fixture(autouse=True)
def no_reflection() -> None:
    config = Paths.find(os.environ).config_file
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("learn = false\n")


def run_of(command: str) -> dict[str, Any]:
    return {
        "calls": [{"name": "run_command", "arguments": {"command": command, "access": "write"}}]
    }


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def count_turns() -> int:
    """Return how many turns of goals have ended."""
    path = Paths.find(os.environ).database
    if not path.exists():
        return 0
    question = (
        "SELECT count(*) FROM message AS m JOIN interaction AS i"
        " ON i.session_id = m.session_id AND i.number = m.interaction"
        " WHERE m.goal != '' AND i.status = 'done'"
    )
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        try:
            (count,) = connection.execute(question).fetchone()
        except sqlite3.OperationalError:  # the database is still being created
            return 0
        return int(count)


class TestWithoutAScreen:
    def test_a_goal_that_is_met_ends_with_0_and_one_result(self) -> None:
        model = script("s.json", "I cannot.", run_of("touch done"), "Now it is there.")
        done = swecli(
            "-p",
            "make it",
            "--goal",
            "test -f done",
            "-m",
            model,
            *FLAGS,
            "--output-format",
            "json",
        )
        assert done.code == 0
        result = done.json
        assert (result["subtype"], result["is_error"]) == ("success", False)
        assert result["result"] == "Now it is there."
        assert result["num_turns"] == 3
        assert result["goal"]["outcome"] == "met"
        assert result["goal"]["turns"] == 2
        assert "turn 1 of 20 · not met: exit code 1 · no file changed · $0.00 so far" in done.err
        assert "goal met · 2 turns · $0.00" in done.err

    def test_a_goal_at_its_limit_ends_with_53_and_says_which(self) -> None:
        model = script("s.json", "I cannot.", "I still cannot.")
        done = swecli(
            "-p", "--goal", "test -f done", "--goal-turns", "2", "-m", model, *FLAGS,
            "--output-format", "stream-json",
        )  # fmt: skip
        assert done.code == 53
        events = done.lines
        assert events[-1]["subtype"] == "goal_turns"
        assert events[-1]["is_error"]
        checked = [event for event in events if event["type"] == "goal_checked"]
        assert [event["turn"] for event in checked] == [0, 1, 2]
        [ended] = [event for event in events if event["type"] == "goal_ended"]
        assert (ended["outcome"], ended["turns"]) == ("turns", 2)
        assert "goal not met: its limit of turns is reached · 2 turns · $0.00" in done.err

    def test_the_answer_is_the_last_one(self) -> None:
        model = script("s.json", run_of("touch done"), "Now it is there.")
        done = swecli("-p", "--goal", "test -f done", "-m", model, *FLAGS)
        assert (done.code, done.out) == (0, "Now it is there.\n")

    def test_a_goal_that_is_met_already_sends_nothing(self) -> None:
        done = swecli("-p", "--goal", "true", "-m", script("s.json"), *FLAGS)
        assert (done.code, done.out) == (0, "")
        assert "goal met already: the model was not asked" in done.err

    @pytest.mark.parametrize(
        ("arguments", "code", "problem"),
        [
            (("-p", "--goal", "all tests pass"), 2, "there is no program 'all'"),
            (("-p", "--goal", ""), 2, "--goal has no value"),
            (("-p", "--goal", "  "), 2, "The goal is empty"),
            (("--goal", "true", "fix it"), 2, "--goal needs -p"),
            (("-p", "fix it", "--goal-turns", "3"), 2, "--goal-turns needs --goal"),
            (("-p", "--goal", "true", "--goal-turns", "no"), 42, "--goal-turns: 'no' is not"),
            (("-p", "--goal", "true", "--json-schema", "s.json"), 2, "cannot be used together"),
            (("-p", "--goal", "true", "--input-format", "stream-json"), 2, "takes one prompt"),
        ],
    )
    def test_bad_input_is_named(self, arguments: tuple[str, ...], code: int, problem: str) -> None:
        done = swecli(*arguments, "-m", script("s.json"))
        assert (done.code, problem in done.complaint) == (code, True), done.err

    def test_a_question_nobody_can_answer_ends_it(self) -> None:
        Path("ask.toml").write_text('learn = false\nask = ["run(rm*)"]\n')
        done = swecli(
            "-p", "--goal", "rm -rf x; false", "-m", script("s.json"), "--config", "ask.toml"
        )
        assert done.code == 42
        assert "goal not met: its command did not run: nobody can be asked in this run" in done.err

    def test_a_failing_service_ends_it_with_its_code(self) -> None:
        done = swecli("-p", "--goal", "false", "-m", script("s.json"), *FLAGS)
        assert done.code == 1
        assert "goal not met: its last turn failed · 1 turn" in done.err
        assert done.complaint == "swecli: The script is over."

    def test_sigint_ends_command_and_goal(self) -> None:
        running = start_process(
            "-p", "--goal", "touch begun; sleep 5011", "-m", script("s.json"), *FLAGS
        )
        wait_until(Path("begun").exists)
        running.send_signal(signal.SIGINT)
        done = wait_for_exit(running)
        assert done.code == 130
        assert "goal stopped · 0 turns · $0.00" in done.err
        assert none_is_left("sleep 5011")


@pytest.mark.parametrize("model", [f"openai/{OPENAI_MODEL}", f"anthropic/{ANTHROPIC_MODEL}"])
def test_over_a_wire_a_goal_is_met_and_its_price_is_that_of_its_turns(model: str) -> None:
    replies: Script = [
        Reply("I cannot."),
        Reply(calls=(Call("run_command", {"command": "touch done", "access": "write"}),)),
        Reply("Now it is there."),
    ]
    with StrictProvider(replies) as server:
        done = swecli(
            "-p", "make it", "--goal", "echo it is missing; test -f done", "-m", model, *FLAGS,
            "--output-format", "json", environ=server.environ(),
        )  # fmt: skip
        assert done.code == 0, done.err
        assert server.refusals == []
        first, second = str(server.bodies[0]), str(server.bodies[1])
    assert "make it" in first
    assert "it is missing" in first
    assert "The goal is not met yet" in second
    result = done.json
    assert result["goal"]["cost"] == pytest.approx(result["total_cost_usd"])
    assert result["goal"]["cost"] > 0


class TestUndoAfterADeath:
    def test_a_goal_of_twelve_turns_is_undone_after_a_kill(self) -> None:
        Path("app.py").write_text("0\n")
        replies: list[Any] = []
        for number in range(1, 13):
            replies += [run_of(f"echo {number} >> app.py"), "Not yet."]
        slow = {"text": "thinks for long", "piece": 1, "delay": 5}
        running = start_process(
            "-p", "fix it", "--goal", "echo tried >> tries; test -f done",
            "-m", script("s.json", *replies, slow), *FLAGS,
        )  # fmt: skip
        wait_until(lambda: count_turns() == 12)
        running.kill()
        running.communicate()
        assert Path("app.py").read_text().splitlines()[-1] == "12"
        context = ScriptedContext(make_runtime(resume="", mode="edits"))
        printed = asyncio.run(context.type("/undo goal"))
        assert 'Undone: "fix it" and ' in printed
        assert Path("app.py").read_text() == "0\n"
        assert not Path("tries").exists()
        assert context.runtime.session.interactions == 0

    def test_a_goal_that_was_killed_before_its_first_turn_is_undone(self) -> None:
        command = "touch begun; sleep 5013"
        running = start_process("-p", "--goal", command, "-m", script("s.json"), *FLAGS)
        wait_until(Path("begun").exists)
        running.kill()
        running.communicate()
        assert none_is_left("sleep 5013")
        context = ScriptedContext(make_runtime(resume="", mode="edits"))
        assert f'Undone: "/goal {command}".' in asyncio.run(context.type("/undo goal"))
        assert context.runtime.session.interactions == 0

    def test_on_a_full_disk_nothing_is_lost_and_a_later_undo_restores_the_rest(self) -> None:
        Path("long").write_bytes(b"before" * 1_000_000)
        Path("short").write_text("before")
        model = script(
            "s.json",
            run_of("printf turn > long"), "Half.",
            run_of("printf turn > short; touch done"), "Now.",
        )  # fmt: skip
        assert swecli("-p", "--goal", "test -f done", "-m", model, *FLAGS).code == 0
        printed = type_on_a_full_disk("/undo goal", "edits")
        assert "long is not restored: File too large" in printed
        assert Path("long").read_text() == "turn"
        assert Path("short").read_text() == "before"
        again = ScriptedContext(make_runtime(resume="", mode="edits"))
        asyncio.run(again.type("/redo"))
        assert Path("done").exists()
        asyncio.run(again.type("/undo goal"))
        assert Path("long").read_bytes() == b"before" * 1_000_000


class TestInATerminal:
    def open(self, *replies: Any) -> Terminal:
        model = script("s.json", *replies)
        return Terminal("-m", model, "--mode", "edits", columns=100, rows=40)

    def test_esc_stops_the_command_and_the_goal(self) -> None:
        with self.open() as terminal:
            terminal.wait("· edits")
            terminal.keys("/goal sleep 5012\r")
            wait_until(lambda: bool(processes_running("sleep 5012")))
            terminal.wait("Running sleep 5012")
            terminal.keys("\x1b")
            terminal.wait(r"goal stopped · 0 turns · \$0\.00")
            assert none_is_left("sleep 5012")
            terminal.keys("/status\r")
            terminal.wait("turns")

    def test_esc_stops_a_turn_of_the_goal(self) -> None:
        with self.open({"text": "thinking for a long time", "piece": 1, "delay": 0.5}) as terminal:
            terminal.wait("· edits")
            terminal.keys("/goal test -f done\r")
            terminal.wait("^th")
            terminal.keys("\x1b")
            screen = terminal.wait(r"goal stopped · 1 turn · ")
            assert "interrupted" in screen

    def test_a_second_goal_waits_for_the_end_of_the_first(self) -> None:
        with self.open("No.", run_of("touch one"), "One.", run_of("touch two"), "Two.") as terminal:
            terminal.wait("· edits")
            terminal.keys("/goal sleep 0.4; test -f one\r")
            terminal.wait("Running")
            terminal.keys("/goal test -f two\r")
            screen = terminal.wait("(?s)goal met · 2 turns.*goal met · 1 turn")
            assert screen.index("/goal sleep") < screen.index("goal met · 2 turns")
            assert Path("two").exists()

    def test_a_text_is_refused_in_one_line(self) -> None:
        with self.open() as terminal:
            terminal.wait("· edits")
            terminal.keys("/goal until the page looks right\r")
            terminal.wait("The goal is not a command that a shell can read")
