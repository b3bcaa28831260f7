"""Test which lines that come at once are commands beside the message."""

from __future__ import annotations

import pytest

from swecli.repl.input.bursts import Burst


def is_command(line: str) -> bool:
    return line.split(" ")[0] in ("/status", "/cost", "/model", "exit")


def split(text: str, begun: str = "") -> tuple[str, str, str]:
    burst = Burst.split(text, "\r", is_command, begun)
    assert burst.before + burst.message + burst.after == text
    return burst.before, burst.message, burst.after


@pytest.mark.parametrize(
    ("text", "before", "message", "after"),
    [
        ("/status\r/cost\r", "/status\r/cost\r", "", ""),
        ("/model x\rfix it\rall of it\r", "/model x\r", "fix it\rall of it\r", ""),
        ("fix it\r/cost\rexit\r", "", "fix it\r", "/cost\rexit\r"),
        ("/cost\rfix it\r/cost\r", "/cost\r", "fix it\r", "/cost\r"),
        ("see\r/cost\rhere\r", "", "see\r/cost\rhere\r", ""),
        ("/users\r/posts\r", "", "/users\r/posts\r", ""),
        ("", "", "", ""),
    ],
)
def test_commands_before_and_after_the_message_are_lines_of_their_own(
    text: str, before: str, message: str, after: str
) -> None:
    assert split(text) == (before, message, after)


def test_a_last_line_without_enter_is_still_being_typed() -> None:
    assert split("fix it\r/cost") == ("", "fix it\r/cost", "")
    assert split("/status\r/cost") == ("/status\r", "/cost", "")


def test_a_backslash_keeps_a_command_in_its_message() -> None:
    assert split("/model x\\\ry\r") == ("", "/model x\\\ry\r", "")
    assert split("run\\\r/cost\r") == ("", "run\\\r/cost\r", "")


def test_what_was_typed_of_the_first_line_belongs_to_it() -> None:
    assert split("tus\r/cost\r", begun="/sta") == ("tus\r/cost\r", "", "")
    assert split("/status\r/cost\r", begun="say ") == ("", "/status\r", "/cost\r")
