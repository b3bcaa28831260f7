"""Test the mode for screen readers in a real pseudo-terminal."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.support.processes import processes_running
from tests.support.shell import script
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
ANSWER = """# Title

- one
- two

> quoted

---

| name | size |
|------|------|
| a.py | 12   |
| b.py | 7    |
"""
EDIT = {
    "name": "edit_file",
    "arguments": {
        "path": "numbers.txt",
        "edits": [{"old_text": "row 3\n", "new_text": "row three\n"}],
    },
}
RUN = {"name": "run_command", "arguments": {"command": "seq 40"}}
READ = {"name": "read_file", "arguments": {"path": "numbers.txt"}}


def start(*replies: object, flags: tuple[str, ...] = ("--plain",), **environ: str) -> Terminal:
    return Terminal(
        "-m", script("s.json", *replies), *flags, rows=60, environ={"SWECLI_LEARN": "0", **environ}
    )


def test_nothing_is_redrawn_and_no_sign_is_printed() -> None:
    Path("numbers.txt").write_text("".join(f"row {n}\n" for n in range(9)))
    calls = {"text": "", "calls": [READ, RUN]}
    with start(ANSWER, calls, {"text": "", "calls": [EDIT]}, "done") as terminal:
        terminal.wait("^> ?$")
        terminal.keys("show me\r")
        screen = terminal.wait("no cost")
        assert "\n- one\n- two\n\nquote: quoted\n\n---\n\nname: a.py\nsize: 12\n" in screen
        terminal.keys("edit it\r")
        terminal.wait("^3 no$")
        for _ in range(20):
            terminal.pump()
        terminal.keys("1\r")
        screen = terminal.wait("^allowed: Edit numbers.txt")
        assert "\nRun seq 40\n  … 35 lines above (/expand to expand)\n  36\n" in screen
        terminal.wait(r"^done$")
        terminal.keys("/nosuch\r")
        terminal.wait("^error: Unknown command /nosuch")
        terminal.keys("\x04")
        assert terminal.wait_for_exit() == 0
        printed = terminal.raw.decode()
    # but for the marks of a paste, which draw nothing
    printed = printed.replace("\x1b[?2004h", "").replace("\x1b[?2004l", "")
    assert "\x1b" not in printed
    assert "\x08" not in printed
    assert not re.search("[\u2500-\u25ff\u2700-\u27bf•]", printed)


def test_ctrl_c_interrupts_and_the_prompt_returns() -> None:
    sleep = {"name": "run_command", "arguments": {"command": "sleep 31.0625"}}
    with start(
        {"text": "", "calls": [sleep]}, "next", flags=("--mode", "auto"), SWECLI_PLAIN="1"
    ) as it:
        it.keys("wait\r")
        it.wait_for(lambda: bool(processes_running("sleep 31.0625")), "no sleep")
        it.keys("\x03")
        it.wait("interrupted")
        it.keys("again\r")
        it.wait("^next$")


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.04, 0.06, 0.1])
def test_ctrl_c_right_behind_a_line_does_not_quit(seconds: float) -> None:
    with start("answer") as terminal:
        terminal.wait("^> ?$")
        terminal.process.delaybeforesend = None
        terminal.keys("hello\r")
        time.sleep(seconds)
        terminal.keys("\x03")
        # whether it was read, begun or answered by then is the machine's affair
        terminal.wait("^to send again: hello$|interrupted|Ctrl.C again to quit")
        terminal.keys("/window\r")
        terminal.wait("turns? sent")


def test_ctrl_c_gives_back_a_message_whose_last_line_is_to_come() -> None:
    with start("answer") as terminal:
        terminal.wait("^> ?$")
        terminal.keys("never this \\\r")
        terminal.wait("^… ?$")
        terminal.keys("\x03")
        terminal.wait("^to send again: never this$")
        terminal.keys("only this\r")
        terminal.wait("^answer$")
        terminal.keys("/export json sent.json\r")
        terminal.wait("exported 1 turn")
    assert '"only this"' in Path("sent.json").read_text()


def test_ctrl_c_twice_in_a_row_quits() -> None:
    with start("answer") as terminal:
        terminal.wait("^> ?$")
        terminal.keys("\x03")
        terminal.wait("^Press Ctrl.C again to quit")
        terminal.keys("hello\r")
        terminal.wait("^answer$")
        terminal.wait("1 turn|no cost")
        terminal.keys("\x03")
        terminal.wait("(?s)again to quit.*again to quit")
        terminal.keys("\x03")
        assert terminal.wait_for_exit() == 0


@pytest.mark.parametrize(
    "pasted",
    [
        "one\rtwo\rthree\r",  # as a terminal without brackets gives it
        "one\rtwo\rthree",
        "\x1b[200~one\rtwo\rthree\x1b[201~\r",
        "one\\\rtwo\\\rthree\r",
    ],
)
@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_several_lines_are_one_message(pasted: str, term: str) -> None:
    with start("First.", "Second.", TERM=term) as terminal:
        terminal.wait("^> ?$")
        terminal.keys(pasted)
        for _ in range(10):
            terminal.pump()
        if not pasted.endswith("\r"):
            assert "First." not in terminal.text  # the last line waits for Enter
            terminal.keys("\r")
        terminal.wait(r"^First\.$")
        terminal.keys("/export json sent.json\r")
        terminal.wait("exported 1 turn")
        assert '"one\\ntwo\\nthree"' in Path("sent.json").read_text()
        assert (b"\x1b[?2004h" in terminal.raw) == (term == "xterm")


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_paste_that_comes_in_pieces_and_has_a_long_line_is_one_message(is_marked: bool) -> None:
    start_mark, end_mark = ("\x1b[200~", "\x1b[201~") if is_marked else ("", "")
    pieces = [f"{start_mark}one\rtwo\r", "x" * 5000, "\rthree", f"\rfour{end_mark}\r"]
    with start("First.", "Second.") as terminal:
        terminal.wait("^> ?$")
        for piece in pieces:
            terminal.keys(piece)
            if is_marked:  # without marks, what comes late is a message of its own
                terminal.pump(0.01)
        terminal.wait(r"^First\.$")
        terminal.keys("/export json sent.json\r")
        terminal.wait("exported 1 turn")
        assert f'"one\\ntwo\\n{"x" * 5000}\\nthree\\nfour"' in Path("sent.json").read_text()


def test_commands_that_come_at_once_run_one_by_one() -> None:
    with start("First.") as terminal:
        terminal.wait("^> ?$")
        terminal.keys("/mode plan\rhello\rthere\r/mode edits\r")
        screen = terminal.wait("mode edits ·")
        assert screen.index("mode plan ·") < screen.index("First.") < screen.index("mode edits ·")


def test_a_line_that_the_terminal_cuts_is_not_sent() -> None:
    with start("First.") as terminal:
        terminal.wait("^> ?$")
        terminal.keys("x" * 5000 + "\r")
        terminal.wait("Nothing was sent: the terminal cuts lines at 4,095 characters")
        terminal.keys("hello\r")
        terminal.wait(r"^First\.$")
        terminal.keys("/export json sent.json\r")
        terminal.wait("exported 1 turn")


def test_a_paste_whose_end_the_terminal_cuts_is_not_sent_and_the_next_line_is() -> None:
    with start("First.") as terminal:
        terminal.wait("^> ?$")
        terminal.keys("\x1b[200~" + "x" * 5000 + "\x1b[201~\r")
        terminal.wait("Nothing was sent: the end of the paste was lost")
        terminal.keys("hello\r")
        terminal.wait(r"^First\.$")
