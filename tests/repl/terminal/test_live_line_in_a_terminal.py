"""Test the input line in a real pseudo-terminal: typing during an answer, queued lines, questions, unusual window
sizes."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from pexpect.exceptions import ExceptionPexpect

from tests.support.shell import script
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
FOOTER = r"· (ask|5\+3)"
LONG = {"text": "word " * 200 + "the end.", "piece": 5, "delay": 0.02}
RUN = {
    "text": "I run it.",
    "calls": [{"name": "run_command", "arguments": {"command": "sh make.sh"}}],
}


@pytest.fixture(autouse=True)
def write_script() -> None:
    Path("make.sh").write_text("touch made\necho made it\n")


def start_terminal(*replies: Any, columns: int = 100, rows: int = 30, **environ: str) -> Terminal:
    environ = {
        "SWECLI_REFLECT_WITH_MODEL": "false",
        **environ,
    }  # The scripted replies are for turns only.
    terminal = Terminal(
        "-m", script("s.json", *replies), columns=columns, rows=rows, environ=environ
    )
    terminal.wait(FOOTER)
    return terminal


def wait_for_question(terminal: Terminal) -> None:
    """Wait until a question is on the screen and accepts answers."""
    terminal.wait("Run this")
    terminal.wait("Answer with a number")


def pump(terminal: Terminal, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        terminal.pump(0.02)


def test_text_typed_during_an_answer_is_shown_below_the_answer_and_above_the_footer() -> None:
    with start_terminal(LONG) as terminal:
        terminal.keys("go\r")
        terminal.wait("word word")
        terminal.keys("half a line")
        screen = terminal.wait("^> half a line$")
        assert "the end." not in screen
        assert screen.splitlines()[-1].startswith("scripted/s.json · ask")
        screen = terminal.wait("the end.[^~]*^> half a line$")
        assert screen.count("half a line") == 1


@pytest.mark.parametrize("line", ["why so slow", "y"])
def test_a_line_typed_during_a_turn_does_not_answer_a_question(line: str) -> None:
    with start_terminal({**RUN, "piece": 1, "delay": 0.05}, "Then not.", "Second.") as terminal:
        terminal.keys("go\r")
        terminal.wait("I run")
        for letter in f"{line}\r":
            terminal.keys(letter)
            pump(terminal, 0.08)
        wait_for_question(terminal)
        assert f"1 {line}" in terminal.wait("queued")
        assert not Path("made").exists()
        terminal.keys("3")
        terminal.wait("refused")
        terminal.wait(f"^> {line}$")
        terminal.wait("Second.")
        assert not Path("made").exists()


def test_a_question_can_be_answered_with_and_without_a_draft() -> None:
    with start_terminal(RUN, "Done.", RUN, "Done again.") as terminal:
        terminal.keys("go\r")
        wait_for_question(terminal)
        terminal.keys("1")
        terminal.wait("allowed: ")
        terminal.wait("Done.")
        assert Path("made").exists()
        Path("made").unlink()
        terminal.keys("again\r")
        wait_for_question(terminal)
        terminal.keys("a draft")
        terminal.wait("Typing a line: answer with ↑↓")
        terminal.keys("1\r")
        terminal.wait("queued")
        assert not Path("made").exists()
        terminal.keys("\x1b[B\r")
        terminal.wait("Done again.")
        assert Path("made").exists()


@pytest.mark.parametrize("typed", ["1", "5", "1. do it otherwise"])
def test_a_list_typed_right_after_escape_approves_nothing(typed: str) -> None:
    with start_terminal(RUN, "Otherwise.") as terminal:
        terminal.keys("go\r")
        wait_for_question(terminal)
        terminal.keys("\x1b")
        pump(terminal, 0.15)
        for letter in typed:
            terminal.keys(letter)
            pump(terminal, 0.15)
        terminal.wait("interrupted")
        terminal.wait(f"^> {typed}$")
        pump(terminal, 1.0)
        assert not Path("made").exists()


def test_the_queue_is_shown_can_be_edited_and_is_kept_after_an_interrupt() -> None:
    with start_terminal(LONG, "Answered.") as terminal:
        terminal.keys("go\r")
        terminal.wait("word word")
        terminal.keys("the first\r")
        terminal.wait("queued · ↑ edits · Ctrl\\+C removes\n  1 the first")
        terminal.keys("the second\r")
        terminal.wait("  2 the second")
        terminal.keys("\x1b[A")
        terminal.wait("^> the second$")
        terminal.keys("\x03")
        terminal.wait_until_gone("the second")
        terminal.keys("\x1b")
        terminal.wait("interrupted")
        pump(terminal, 1.0)
        assert "queue paused by the interrupt" in terminal.text
        terminal.keys("\r")
        terminal.wait("Answered.")


def test_lines_sent_quickly_are_answered_in_order_and_the_terminal_stays_raw() -> None:
    with start_terminal("One.", "Two.", "Three.") as terminal:
        for line in ("first", "second", "third"):
            terminal.keys(f"{line}\r")
            terminal.wait(f"> {line}|{line}$")
            terminal.wait("^>$")
        for _ in range(100):
            assert terminal.is_raw
            terminal.pump(0.02)
        screen = terminal.wait("Three.")
        for typed, answer in (("first", "One."), ("second", "Two."), ("third", "Three.")):
            assert screen.index(f"> {typed}") < screen.index(answer)


def test_resizing_during_an_answer_leaves_one_input_line_and_one_footer() -> None:
    with start_terminal(LONG, columns=100) as terminal:
        terminal.keys("go\r")
        terminal.wait("word word")
        terminal.keys("still typing")
        terminal.wait("still typing")
        for columns in (60, 90, 41, 70, 60):
            terminal.resize(columns, 24)
            pump(terminal, 0.03)
        terminal.wait("the end.")
        screen = terminal.wait(r"^> still typing$\n.*ask · ")
        assert max(map(len, screen.splitlines())) <= 60


def test_a_question_can_be_answered_in_twenty_columns_and_five_rows() -> None:
    with Terminal(
        "-m",
        script("s.json", RUN, "Done."),
        columns=20,
        rows=5,
        environ={"SWECLI_REFLECT_WITH_MODEL": "false"},
    ) as terminal:
        terminal.wait("ask")
        terminal.keys("go\r")
        terminal.wait("Run this")
        pump(terminal, 1.0)
        for _ in range(6):
            terminal.keys("\x1b[B")
            pump(terminal, 0.2)
            if "> 3 no" in terminal.text:
                break
        terminal.wait("> 3 no")
        terminal.keys("\r")
        terminal.wait("no cost")
        assert not Path("made").exists()


def test_a_paste_of_three_megabytes_during_an_answer_is_one_placeholder() -> None:
    with start_terminal(LONG, "Long.") as terminal:
        terminal.keys("go\r")
        terminal.wait("word word")
        data = b"\x1b[200~" + b"0123456789abcde\r" * 196_608 + b"\x1b[201~"
        while data:
            sent = os.write(terminal.process.fileno(), data[:4096])
            data = data[sent:]
            terminal.pump(0)
        terminal.wait(r"^> \[Pasted text #1 · 196,609 lines\]$")
        terminal.keys("\x03")
        terminal.wait("the end.")


def test_invalid_bytes_can_be_typed_and_the_text_is_stored() -> None:
    with start_terminal("Fine.") as terminal:
        os.write(terminal.process.fileno(), b"a\x00b\xff\xed\xa0\x80c\r")
        terminal.wait("no cost")
        pump(terminal, 1.0)
        terminal.keys("\x04")
        assert terminal.wait_for_exit() == 0
    with closing(sqlite3.connect(Path(os.environ["SWECLI_HOME"], "swecli.db"))) as database:
        (content,) = database.execute("select content from message where role = 'user'").fetchone()
    assert (content[:2], content[-1]) == ("ab", "c")
    content.encode()


def test_closing_the_terminal_approves_nothing() -> None:
    with start_terminal(RUN, "Never.") as terminal:
        terminal.keys("go\r")
        wait_for_question(terminal)
        pid = terminal.process.pid
        with suppress(ExceptionPexpect):  # slower than the timeout
            terminal.process.close(force=False)
        for _ in range(400):
            if (state := Path(f"/proc/{pid}/stat")).exists() and " Z " not in state.read_text():
                time.sleep(0.05)
        assert not state.exists() or " Z " in state.read_text(), "the process has ended"
    assert not Path("made").exists()


def test_a_question_can_be_answered_after_stopping_and_continuing_the_process() -> None:
    with start_terminal(RUN, "Done.") as terminal:
        terminal.keys("go\r")
        wait_for_question(terminal)
        terminal.keys("\x1a")
        pump(terminal, 1.0)
        os.kill(terminal.process.pid, signal.SIGCONT)
        pump(terminal, 0.3)
        assert terminal.is_raw
        terminal.keys("1")  # Too early: the question must be visible for a moment first.
        terminal.wait("^> 1$")
        terminal.keys("\x7f")
        terminal.wait("You can answer once you stop")
        wait_for_question(terminal)
        terminal.keys("1")
        terminal.wait("Done.")
        assert Path("made").exists()


def test_commands_that_need_no_agent_run_during_a_turn() -> None:
    with start_terminal(LONG) as terminal:
        terminal.keys("go\r")
        terminal.wait("word word")
        terminal.keys("/cost\r")
        screen = terminal.wait("total tokens")
        assert "the end." not in screen


def test_ctrl_t_sends_a_line_to_the_running_turn() -> None:
    wait = {
        "text": "Waiting.",
        "calls": [{"name": "list_files", "arguments": {}}],
        "piece": 2,
        "delay": 0.2,
    }
    with start_terminal(wait, "Steered.") as terminal:
        terminal.keys("go\r")
        terminal.wait("Wait")
        terminal.keys("rather this\x14")
        terminal.wait("^> rather this$")
        terminal.wait("Steered.")
        assert "queued" not in terminal.text
        terminal.wait(r"1 turn sent")


def test_the_to_do_list_is_printed_once_and_where_it_stands_is_said_until_the_turn_ends() -> None:
    items = [{"text": "look around", "status": "in_progress"}, {"text": "write it down"}]
    planned = {"calls": [{"name": "todo", "arguments": {"items": items}}]}
    with start_terminal(planned, {**LONG, "reasoning": ""}, columns=60, NO_COLOR="1") as terminal:
        terminal.keys("go\r")
        listed = r"^  to do · 0 of 2 done · look around\n"
        terminal.wait(listed + r". Writing · \d+ s · (?:↑\d+ ↓\d+ · )?Esc to interrupt\n+>")
        terminal.wait("the end.")
        terminal.wait_until_gone("to do · 0 of 2 done")
        assert terminal.text.count("look around") == 1


@pytest.mark.parametrize(
    ("command", "label"),
    [("/compact", "Summarising the conversation"), ("/reflect", "Reflecting on T3")],
)
def test_a_command_that_asks_a_model_shows_that_it_works_and_can_be_interrupted(
    command: str, label: str
) -> None:
    slow = {"text": "word " * 400, "piece": 1, "delay": 0.2}
    with start_terminal(
        "One.", "Two.", "Three.", slow, SWECLI_REFLECT_WITH_MODEL="true"
    ) as terminal:
        for word in ("One", "Two", "Three"):
            terminal.keys(f"say {word} " + "and more " * 90 + "\r")
            terminal.wait(f"^{word}\\.")
        terminal.keys(f"{command}\r")
        terminal.wait(f"{label} · [1-9] s · Esc to interrupt")
        terminal.keys("\x1b")
        terminal.wait_until_gone(label)


def test_the_footer_counts_the_cost_while_the_turn_runs() -> None:
    first = {"text": "Looking.", "calls": [{"name": "list_files", "arguments": {}}], "cost": 0.25}
    with start_terminal(first, {**LONG, "cost": 0.5}) as terminal:
        terminal.keys("go\r")
        terminal.wait("word word")
        screen = terminal.wait(r"context \d+% · \$0\.25$")
        assert "the end." not in screen


def test_a_terminal_that_knows_synchronized_output_gets_each_drawing_between_its_marks() -> None:
    with start_terminal(LONG, TERM_PROGRAM="WezTerm") as terminal:
        assert b"\x1b[?2026$p" in terminal.raw
        assert b"\x1b[?2026h" not in terminal.raw
        terminal.keys("\x1b[?2026;2$y")
        terminal.keys("go\r")
        terminal.wait("the end.")
        start, end = b"\x1b[?2026h", b"\x1b[?2026l"
        assert terminal.raw.count(start) == terminal.raw.count(end) > 5
        assert "2026" not in terminal.text
