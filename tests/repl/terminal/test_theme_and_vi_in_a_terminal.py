"""Test the terminal's replies to queries, and vi keys, in a real pseudo-terminal."""

from __future__ import annotations

import pytest

from tests.support.terminal import Terminal

pytestmark = pytest.mark.slow
FOOTER = r"demo · ask · .*\d turns? sent"


def test_a_light_background_is_detected_and_the_reply_of_the_terminal_is_not_typed() -> None:
    with Terminal("-m", "demo", environ={"TERM_PROGRAM": "WezTerm"}) as terminal:
        terminal.wait(FOOTER)
        assert terminal.raw.index(b"swecli") < terminal.raw.index(b"\x1b]11;?\x07")
        terminal.keys("ab")
        terminal.keys("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
        terminal.keys("c")
        terminal.wait("^> abc$")
        terminal.keys("\x03/theme\r")
        terminal.wait(r"theme auto \(light\)")
        assert b"\x1b[1;34m>" in terminal.raw
        terminal.keys("\x04")
        assert terminal.wait_for_exit() == 0


def test_an_unknown_terminal_gets_no_query() -> None:
    with Terminal("-m", "demo") as terminal:
        terminal.wait(FOOTER)
        assert b"\x1b]" not in terminal.raw


def test_vi_keys_edit_the_line_and_the_footer_names_the_mode() -> None:
    with Terminal("-m", "demo", environ={"SWECLI_EDITING_MODE": "vi"}) as terminal:
        terminal.wait(r"vi insert · \d+ turns? sent")
        terminal.keys("xx/status")
        terminal.wait("^> xx/status$")
        terminal.keys("\x1b")
        terminal.wait(r"vi navigation · \d+ turns? sent")
        terminal.keys("02x")
        terminal.wait("^> /status$")
        terminal.keys("\r")
        terminal.wait("sandbox +")
        terminal.wait(r"vi insert · \d+ turns? sent")
        terminal.keys("\x1b")
        terminal.wait(r"vi navigation")
        terminal.keys("\x04")
        assert terminal.wait_for_exit() == 0
