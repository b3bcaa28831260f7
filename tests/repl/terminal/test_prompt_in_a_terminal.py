"""Test the whole program in a real pseudo-terminal."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
FOOTER = r"demo · ask · \d turns? sent"
PROMPT = r"^> ?$"


@pytest.fixture
def demo() -> Iterator[Terminal]:
    """The demo model, loaded, with an empty input line."""
    Path("notes.txt").write_text("alpha\nbeta\n")
    Path("many words.txt").write_text("x")
    with Terminal("-m", "demo") as terminal:
        terminal.wait(FOOTER)
        yield terminal


def wait_for_turn_end(terminal: Terminal) -> None:
    """Wait until a turn has ended and the input line is empty."""
    terminal.wait("no cost")
    for _ in range(20):
        terminal.pump(0.05)


def test_the_first_screen_names_the_model_and_the_help_command() -> None:
    with Terminal("-m", "demo", columns=140) as terminal:
        screen = terminal.wait(PROMPT)
        assert screen.startswith("swecli 0.2.0 · demo model (offline tour")
        assert "/help for commands · Shift+Tab to switch mode" in screen


def test_the_program_uses_neither_the_alternate_screen_nor_the_extended_keyboard_protocol(
    demo: Terminal,
) -> None:
    demo.keys("read notes.txt\r")
    demo.wait("beta")
    demo.keys("\x04")
    assert demo.wait_for_exit() == 0
    for code in (b"\x1b[?1049h", b"\x1b[?47h", b"\x1b[>1u", b"\x1b[=1u", b"\x1b[2J"):
        assert code not in demo.raw


def test_typed_letters_are_echoed_and_sent(demo: Terminal) -> None:
    demo.keys("read notes.txt")
    demo.wait("^> read notes.txt")
    demo.keys("\r")
    screen = demo.wait(r"\d in / ")
    assert "alpha" in screen
    demo.wait(r"1 turn sent")


def test_alt_enter_ctrl_j_and_a_backslash_make_new_lines_in_one_message(demo: Terminal) -> None:
    demo.keys("one\x1b\rtwo\nthree\\\rfour")
    assert "> one\n  two\n  three\n  four" in demo.wait("four")


def test_lines_that_come_at_once_are_one_message(demo: Terminal) -> None:
    demo.keys("read notes.txt\rand\r\tsay what it is\r")
    screen = demo.wait(r"\d in / ")
    assert "> read notes.txt\n  and" in screen
    demo.wait(r"1 turn sent")


def test_commands_that_come_at_once_with_a_message_run_one_by_one(demo: Terminal) -> None:
    demo.keys("/mode plan\rread notes.txt\rand say what it is\r/mode edits\r")
    screen = demo.wait(r"^mode edits ·")
    assert "> read notes.txt\n  and say what it is" in screen
    assert "> /mode edits" in screen
    demo.wait("1 turn sent")


def test_a_paste_whose_end_is_lost_is_shown_and_esc_ends_it(demo: Terminal) -> None:
    demo.keys("see \x1b[200~some text")
    demo.wait("^Receiving a paste: 9 characters · Esc ends it")
    time.sleep(1.1)
    demo.keys("\x1b")
    demo.wait("^> see some text$")
    demo.wait(FOOTER)


def test_shift_enter_begins_a_line_and_replies_of_the_terminal_are_not_typed(
    demo: Terminal,
) -> None:
    demo.keys(
        "a\x1b[13;2ub\x1b[27;2;13~c\x1b[I\x1b[O\x1b[?62;22c\x1b]10;rgb:0/0/0\x07\x1bP1$r\x1b\\d"
    )
    assert "> a\n  b\n  cd\n" in demo.wait("cd")


def test_reports_that_were_left_switched_on_are_switched_off(demo: Terminal) -> None:
    assert b"\x1b[?1000;1002;1003;1004" in demo.raw


def test_keys_of_a_protocol_that_was_left_switched_on_still_end_the_program(
    demo: Terminal,
) -> None:
    demo.keys("draft\x1b[99;5u")
    demo.wait("again to quit")
    demo.keys("\x1b[100;5u")
    assert demo.wait_for_exit() == 0


def test_a_program_behind_two_exclamation_marks_has_the_terminal(demo: Terminal) -> None:
    Path("asks").write_text(
        "#!/bin/sh\ntest -t 0 && test -t 1 && stty -echo -icanon && echo ready && dd bs=1 count=1"
    )
    Path("asks").chmod(0o755)
    demo.keys("!!./asks 2>/dev/null; echo; exit 3\r")
    demo.wait("^ready")
    demo.keys("q")
    demo.wait("^q$")
    demo.wait("^exit code 3$")
    demo.keys("!!sleep 60\r")
    demo.wait("sleep 60")
    for _ in range(10):
        demo.pump()
    demo.keys("\x03")
    demo.wait("^exit code 130$")
    demo.keys("!!sleep 60; echo over\r")
    for _ in range(20):
        demo.pump()
    demo.keys("\x1a")
    demo.wait("^exit code 143$")
    demo.keys("still here")
    demo.wait("^> still here$")


def test_ctrl_s_and_ctrl_q_do_nothing(demo: Terminal) -> None:
    demo.keys("ab\x13cd\x11ef")
    demo.wait("^> abcdef$")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("printf 'gr\\374n\\r\\nzwei\\r\\n' > $1", r"^> grün\n  zwei$"),
        ("rm $1", "The editor left no file. The draft stays"),
        ("exit 3", "The editor ended with exit code 3. The draft stays"),
        ("kill -KILL $$", r"The editor was ended \(SIGKILL\). The draft stays"),
        ("seq 100000 > $1", r"^> \[Pasted text #1 · 100,000 lines\]"),
    ],
)
def test_what_an_editor_leaves_is_taken_or_the_draft_stays(body: str, shown: str) -> None:
    editor = Path("my editor")
    editor.write_text(f"#!/bin/sh\n{body}\n")
    editor.chmod(0o755)
    with Terminal("-m", "demo", environ={"VISUAL": str(editor.absolute())}) as terminal:
        terminal.wait(FOOTER)
        terminal.keys("draft\x07")
        terminal.wait(shown)
        if "stays" in shown:
            terminal.wait("^> draft$")


def test_an_editor_that_is_missing_is_named() -> None:
    with Terminal("-m", "demo", environ={"VISUAL": "", "EDITOR": "nosuch -w"}) as terminal:
        terminal.wait(FOOTER)
        terminal.keys("draft\x07")
        terminal.wait("The editor 'nosuch' cannot be started")
        terminal.wait("^> draft$")


def test_a_menu_of_commands_opens_and_closes(demo: Terminal) -> None:
    demo.keys("/wi")
    demo.wait(r"/window +Show or change")
    demo.keys("\t\r")
    demo.wait("window 5\\+3: 0 turns sent")


def test_the_argument_of_a_command_is_completed(demo: Terminal) -> None:
    demo.keys("/mode p")
    demo.wait("plan +read only")
    demo.keys("\t\r")
    demo.wait("mode plan · read only")
    demo.wait("demo · plan · ")


def test_files_are_completed_after_an_at_sign(demo: Terminal) -> None:
    demo.keys("what is in @no")
    demo.wait("^ +notes.txt")
    demo.keys("\t\r")
    demo.wait("> what is in @notes.txt $|> what is in @notes.txt$")


def test_ctrl_c_clears_the_line_and_then_quits(demo: Terminal) -> None:
    demo.keys("unwanted")
    demo.wait("> unwanted")
    demo.keys("\x03")
    demo.wait("Press Ctrl\\+C again to quit")
    demo.wait_until_gone("unwanted")
    demo.keys("\x03")
    assert demo.wait_for_exit() == 0


def test_a_hint_disappears_after_a_while(demo: Terminal) -> None:
    demo.keys("\x03")
    demo.wait("again to quit")
    demo.wait_until_gone("again to quit")
    demo.wait(FOOTER)


def test_an_unknown_command_gets_suggestions(demo: Terminal) -> None:
    demo.keys("/contxt\r")
    demo.wait("Unknown command /contxt. · Did you mean /context")


def test_a_long_paste_is_shown_as_a_placeholder(demo: Terminal) -> None:
    demo.keys("see \x1b[200~" + "\r".join("abc" for _ in range(30)) + "\x1b[201~")
    demo.wait(r"> see \[Pasted text #1 · 30 lines\]")


def test_enter_sends_a_line_with_a_completed_file_at_once(demo: Terminal) -> None:
    demo.keys("read @note")
    demo.wait("notes.txt")
    demo.keys("\t")
    demo.wait("^> read @notes.txt")
    demo.keys("\r")
    demo.wait(r"\d in / ")


def test_shift_tab_cycles_through_the_modes(demo: Terminal) -> None:
    for mode in ("edits", "plan", "ask", "edits"):
        demo.keys("\x1b[Z")
        demo.wait(f"demo · {mode} ·")


def test_without_a_sandbox_auto_is_confirmed_once_and_enter_alone_changes_nothing() -> None:
    with Terminal("-m", "demo", environ={"SWECLI_SANDBOX": "off"}) as terminal:
        terminal.wait(FOOTER)
        for answer in ("\r3", "\x1b"):
            terminal.keys("/mode auto\r")
            terminal.wait("Run every command as you, without a question")
            terminal.wait("Esc for no")
            terminal.keys(answer)
            terminal.wait("mode ask · nothing was changed")
            terminal.wait(PROMPT)
            terminal.keys("\x0c")  # clears the screen
        terminal.keys("/yolo\r")
        terminal.wait("Esc for no")
        terminal.keys("1")
        terminal.wait("demo · auto ·")
        terminal.keys("\x1b[Z")
        terminal.wait("demo · ask ·")
        terminal.keys("/mode auto\r")
        terminal.wait("demo · auto ·")


def test_auto_named_on_the_command_line_is_not_asked_about_but_said_to_have_no_sandbox() -> None:
    with Terminal(
        "-m", "demo", "--mode", "auto", environ={"SWECLI_SANDBOX": "off"}, columns=120
    ) as terminal:
        terminal.wait("demo · auto ·")
        terminal.wait(
            r"! mode auto without a sandbox: commands run as you, without a question \(the setting"
        )


def test_esc_interrupts_a_shell_command_and_its_processes(demo: Terminal) -> None:
    demo.keys("!echo 7 of 9 done; touch begun; sleep 60\r")
    while not Path("begun").exists():
        demo.pump()
    demo.keys("\x1b")
    demo.wait(r"^7 of 9 done\n.*interrupted after \d+ s · will be sent with your next message")
    demo.wait("^> ?$")
    demo.keys("read notes.txt\r")
    demo.wait("beta")
    left = subprocess.run(
        ["pgrep", "-f", "sleep 60"], capture_output=True, text=True, check=False
    ).stdout.split()
    assert [pid for pid in left if is_descendant(int(pid), demo.process.pid)] == []


def is_descendant(pid: int, parent: int) -> bool:
    """Return True if the process descends from `parent`."""
    while pid > 1:
        if pid == parent:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            return False
    return False


def test_an_edit_is_made_after_approval(demo: Terminal) -> None:
    demo.keys('change "alpha" to "gamma" in notes.txt\r')
    demo.wait("Make this change")
    demo.wait("Answer with a number")
    demo.keys("1")
    demo.wait("allowed: ")
    wait_for_turn_end(demo)
    assert Path("notes.txt").read_text() == "gamma\nbeta\n"


def test_the_history_is_shared_between_sessions() -> None:
    with Terminal("-m", "demo") as first:
        first.wait(FOOTER)
        first.keys("/cost\r")
        first.wait("0 requests[^~]*^>")  # Ctrl-D at a prompt, not while the command still prints.
        first.keys("\x04")
        first.wait_for_exit()
    with Terminal("-m", "demo") as second:
        second.wait(PROMPT)
        second.keys("\x1b[A")
        second.wait("> /cost")
    history = Path(os.environ["SWECLI_HOME"], "history")
    assert history.stat().st_mode & 0o777 == 0o600


def test_learning_is_reported_above_the_line_being_typed(demo: Terminal) -> None:
    demo.keys("remember that the tests run with make check\r")
    demo.wait("^>$")
    demo.keys("half a sen")
    screen = demo.wait(r"✎ T1: \+ [^~]*^> half a sen$")
    assert screen.count("half a sen") == 1
    demo.keys("tence")
    demo.wait("^> half a sentence$")


def test_continue_resumes_the_last_session(demo: Terminal) -> None:
    demo.keys("read notes.txt\r")
    wait_for_turn_end(demo)
    demo.keys("\x04")
    demo.wait_for_exit()
    with Terminal("-m", "demo", "-c") as again:
        again.wait("> read notes.txt")
        again.wait(r"1 turn sent")


def test_with_no_color_set_the_output_has_no_colours() -> None:
    with Terminal("-m", "demo", environ={"NO_COLOR": "1"}) as plain:
        plain.wait(FOOTER)
        plain.keys("/status\r")
        plain.wait("learning   on[^~]*^> ?$")
        plain.keys("\x04")
        plain.wait_for_exit()
        assert not re.search(rb"\x1b\[[0-9;]*(?:3[0-8]|4[0-8]|9[0-7])(?:;|m)", plain.raw)


def test_a_dumb_terminal_gets_plain_lines() -> None:
    with Terminal("-m", "demo", environ={"TERM": "dumb"}) as dumb:
        dumb.wait("^>")
        dumb.keys("/window\r")
        dumb.wait("turns sent")
        dumb.keys("\x04")
        assert dumb.wait_for_exit() == 0
        assert b"\x1b" not in dumb.raw


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_the_footer_is_not_wider_than_the_screen(columns: int) -> None:
    with Terminal("-m", "demo", columns=columns, rows=40) as terminal:
        terminal.wait("demo · ask")
        terminal.keys("/help\r")
        terminal.wait("its[^~]*demo · ask")
        footer = terminal.text.splitlines()[-1]
        assert footer.startswith("demo · ask · ")
        assert len(footer) <= columns


def test_sigterm_restores_the_terminal(demo: Terminal) -> None:
    demo.process.kill(15)
    assert demo.wait_for_exit() == 143
    assert b"\x1b[?2004l" in demo.raw[-400:]


def test_the_line_can_be_edited_in_the_users_editor() -> None:
    script = Path("editor.sh")
    script.write_text("#!/bin/sh\nprintf 'from the editor' >> \"$1\"\n")
    script.chmod(0o755)
    with Terminal(
        "-m", "demo", environ={"EDITOR": str(script.absolute()), "VISUAL": ""}
    ) as terminal:
        terminal.wait(FOOTER)
        terminal.keys("begun ")
        terminal.wait("> begun")
        terminal.keys("\x07")
        terminal.wait("^> begun from the editor")


def test_ctrl_o_expands_the_last_output(demo: Terminal) -> None:
    Path("long.txt").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    demo.keys("list files\r")
    demo.wait("no cost")
    demo.keys("\x0f")
    demo.wait("notes.txt[^~]*long.txt[^~]*> ?$")
    assert re.search(r"no cost\n\n● List", demo.text), "one empty line is above"
    assert re.search(r"\S\n\n> ?\n", demo.text), "and one below"


def test_ctrl_r_searches_the_history(demo: Terminal) -> None:
    demo.keys("/window\r")
    demo.wait(r"0 turns sent \(")
    demo.keys("/cost\r")
    demo.wait("total tokens")
    demo.wait(FOOTER)
    demo.keys("\x12win")
    demo.wait("^> /window")


def test_resume_without_a_name_offers_the_sessions_to_pick_from(demo: Terminal) -> None:
    demo.keys("read notes.txt\r")
    wait_for_turn_end(demo)
    demo.keys("\x04")
    demo.wait_for_exit()
    with Terminal("-m", "demo", "-r") as again:
        again.wait("Resume which session")
        again.wait("read notes.txt · 1 turn")
        again.keys("notes\r")
        again.wait(r"1 turn sent")
