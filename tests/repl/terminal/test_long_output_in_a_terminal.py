"""Test in a real terminal that an output of any length leaves keys and memory free."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support.shell import script
from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
MOST_MEGABYTES = 200  # the program itself takes some 90
MOST_PRINTED = 50_000  # bytes; the output has two million


def start(*flags: str) -> Terminal:
    return Terminal("-m", script("s.json", "done"), *flags, environ={"SWECLI_LEARN": "0"})


def peak_megabytes(terminal: Terminal) -> int:
    status = Path(f"/proc/{terminal.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) // 1024


def test_of_a_long_shell_output_the_end_is_printed_and_the_rest_on_request() -> None:
    with start() as terminal:
        terminal.wait("Shift.Tab")
        terminal.keys("!seq 1 300000\r")
        screen = terminal.wait("… 299,800 lines above .Ctrl.O to expand")
        assert "\n300000\n" in screen
        terminal.keys("next")
        terminal.wait("> next")
        assert len(terminal.raw) < MOST_PRINTED
        terminal.keys("\x15\x0f")
        terminal.wait("… 299,500 lines above ./expand all")
        assert len(terminal.raw) < MOST_PRINTED
        terminal.keys("/expand all\r")
        terminal.wait(r"^\d{3,5}$")
        terminal.keys("still here")
        terminal.wait("> still here")
        terminal.keys("\x1b")  # closes no menu, clears no line: it stops the print
        terminal.wait_until_gone(r"/expand · \d+ s")
        printed = terminal.raw
        terminal.keys("\x15!echo over\r")
        terminal.wait("^over$")
        assert b"299000" not in terminal.raw[len(printed) :], "the print was stopped"
        assert peak_megabytes(terminal) < MOST_MEGABYTES


def test_an_endless_shell_output_is_interrupted_at_once() -> None:
    with start() as terminal:
        terminal.wait("Shift.Tab")
        terminal.keys("!yes\r")
        terminal.wait(r"yes · [1-9] s")
        terminal.keys("\x03")
        screen = terminal.wait("interrupted after")
        assert re.search("… [0-9,]+ lines above", screen)
        assert len(terminal.raw) < MOST_PRINTED
        assert peak_megabytes(terminal) < MOST_MEGABYTES


def test_without_a_cursor_a_long_output_is_as_short() -> None:
    with start("--plain") as terminal:
        terminal.wait("^> ?$")
        terminal.keys("!seq 1 300000\r")
        terminal.wait("299,800 lines above ./expand to expand")
        terminal.keys("/expand all\r")
        terminal.wait(r"^\d{3,5}$")
        terminal.keys("\x03")
        terminal.keys("!echo over\r")
        terminal.wait("^over$")
        assert b"\n299000\r" not in terminal.raw, "the print was stopped"


def test_a_shell_line_has_the_aliases_of_the_users_shell() -> None:
    home = Path(os.environ["HOME"])
    home.mkdir(parents=True, exist_ok=True)
    (home / ".bashrc").write_text("echo welcome\nalias ll='echo listed'\n")
    with Terminal("-m", "demo", environ={"SHELL": "/bin/bash"}) as terminal:
        terminal.wait("^> ?$")
        terminal.keys("!ll it\r")
        screen = terminal.wait("^listed it$")
        assert "welcome" not in screen


def test_a_shell_that_cannot_be_used_is_named() -> None:
    with Terminal("-m", "demo", environ={"SHELL": "/bin/false"}) as terminal:
        terminal.wait("^> ?$")
        terminal.keys("!echo ran\r")
        terminal.wait(r"\$SHELL is /bin/false, which is no shell that is known here")
        assert "\nran\n" in terminal.text
