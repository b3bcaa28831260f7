"""Test a first message in terminals of many types, which `TERM` names: it is answered, and the terminal is left as it
was."""

from __future__ import annotations

import re
import sys
import termios

import pytest

from tests.support.question_kinds import ENVIRON
from tests.support.shell import HELLO
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
UNSET = None
WITH_CURSOR = (
    *("xterm", "xterm-256color", "screen", "screen-256color", "tmux-256color", "linux", "vt100"),
    *("vt220", "ansi", "rxvt-unicode-256color", "alacritty", "foot", "xterm-kitty"),
    *("st-256color", "konsole", "putty", "cygwin", "eterm-color", "a-new-one"),
)
WITHOUT_CURSOR = ("dumb", "unknown", "", UNSET)
# control sequences of ECMA-48, of which a terminal passes over those that it does not know
CONTROL = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
NAMED_BY_TERM = ("foot", "xterm-kitty")  # known to take more: titles, marks and links
SWITCHES = {
    b"?25": b"h",
    b"?7": b"h",
    b"?2004": b"l",
}  # cursor, broken lines, pastes: the last state


def exchange(term: str | None) -> bytes:
    """Send a message and leave; return what was written."""
    unset = ("env", "-u", "TERM") if term is UNSET else ()
    environ = {**ENVIRON, "TERM": term or ""}
    command = (*unset, sys.executable, "-m", "swecli")
    with Terminal("-m", HELLO, environ=environ, command=command) as terminal:
        before = termios.tcgetattr(terminal.process.fileno())
        terminal.wait("^>")
        terminal.keys("hello\r")
        terminal.wait("no cost")
        terminal.keys("/exit\r")
        assert terminal.wait_for_exit() == 0
        assert termios.tcgetattr(terminal.process.fileno()) == before
        return terminal.raw


@pytest.mark.parametrize("term", WITH_CURSOR)
def test_a_terminal_is_left_as_it_was_and_gets_only_what_its_type_knows(term: str) -> None:
    raw = exchange(term)
    for name, state in SWITCHES.items():
        assert re.findall(rb"\x1b\[" + re.escape(name) + rb"([hl])", raw)[-1] == state
    if term not in NAMED_BY_TERM:
        assert b"\x1b" not in CONTROL.sub(b"", raw)


@pytest.mark.parametrize("term", WITHOUT_CURSOR)
def test_a_terminal_that_cannot_move_its_cursor_gets_text_alone(term: str | None) -> None:
    assert b"\x1b" not in exchange(term)
